/* SPDX-License-Identifier: MIT */
/*
 * cl_pack: copies a matrix into one that is padded with zeros. Swapped strides transpose it.
 *
 *   out[r * cols_out + c] = in[r][c], or 0 outside; r < rows_out = the global size of y
 *
 * Global {cols_out rounded up to the group, rows_out}; any work-group. Step 2 of the paper: pad to
 * 32, transpose B. With HALF the copy is in 16 bits.
 */
#include "cl_helper_arguments.h"

#ifdef HALF
#define OUT half
#define STORE(x, i, out) vstore_half_rte(x, i, out)
#else
#define OUT float
#define STORE(x, i, out) ((out)[i] = (x))
#endif

__kernel void cl_pack(PARAMETERS(CL_PACK_ARGUMENTS))
{
    const int c = get_global_id(0), r = get_global_id(1);
    if (c >= cols_out) {
        return;
    }
    const ulong at = i0 + (ulong)r * rs + (ulong)c * cs;
    STORE(r < rows && c < cols ? in[at] : 0.0f, (ulong)r * cols_out + c, out);
}
