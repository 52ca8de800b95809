/*
 * cl_zero: out[x] = 0. Global {count}; any work-group.
 *
 * It is a kernel because Oclgrind takes memory of clEnqueueFillBuffer for uninitialised.
 */
__kernel void cl_zero(__global float *out)
{
    out[get_global_id(0)] = 0.0f;
}
