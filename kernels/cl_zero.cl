/*
 * cl_zero: out[x] = 0. Global {count}; any work-group.
 *
 * A kernel, and not clEnqueueFillBuffer, because Oclgrind takes filled memory for uninitialised.
 */
__kernel void cl_zero(__global float *out)
{
    out[get_global_id(0)] = 0.0f;
}
