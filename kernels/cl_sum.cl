/* SPDX-License-Identifier: MIT */
/*
 * cl_sum: adds the parts of a K that was cut: C[i][j] += the sum of the parts.
 *
 *   parts: `count` matrices M x N, one after the other
 *
 * Global {N, M}, rounded up to the group; any work-group. With CONV the parts are whole outputs, M
 * counts the rows of all images, and scale, shift and activation follow (cl_conv.h). With POOL an
 * element of C is the maximum of four, and N counts those of C. SHORTCUT: cl_conv.h.
 */
#include "cl_conv.h"
#include "cl_helper_arguments.h"

#if defined(CONV) && !defined(SHORTCUT)
#define ARGUMENTS CL_SUM_CONV_ARGUMENTS
#undef RESULT
#define RESULT(s, o, row) conv_finish(s, norm, (row) % filters, filters, slope)
#elif defined(CONV)
#define ARGUMENTS CL_SUM_MORE_ARGUMENTS
#undef RESULT
#define RESULT(s, o, row) FINISH_MORE(conv_finish, s, *MORE(o), (row) % filters, filters)
#else
#define ARGUMENTS CL_SUM_ARGUMENTS
#endif
#ifdef POOL
#define SUMS float4
#define LOAD(at) vload4(at, parts)
#undef RESULT
#define RESULT(s, o, row) conv_most(conv_finish4(s, norm, (row) % filters, filters, slope))
#else
#define SUMS float
#define LOAD(at) parts[at]
#endif

__kernel void cl_sum(PARAMETERS(ARGUMENTS))
{
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= M || j >= N) {
        return;
    }
    const ulong size = (ulong)M * N, at = (ulong)i * N + j;
    SUMS sum = 0.0f;
    for (int p = 0; p < count; ++p) {
        sum += LOAD(p * size + at);
    }
    __global float *c = C + c0 + (ulong)i * ldc + j;
    *c = RESULT(sum, c, i);
}
