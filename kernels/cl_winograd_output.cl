/* SPDX-License-Identifier: MIT */
/*
 * cl_winograd_output: the outputs of Winograd's algorithm where another kernel made M for GPUs
 * (cl_winograd.h). An item has a tile of a filter.
 *
 *   sums [image][point][filter][tile]      `ldv` tiles, of which the first `tiles` count
 *
 * h, w: of C, which has the maxima with `pool`. Global {tiles, filters, images}, where tiles may be
 * rounded up.
 */
#define CONV
#include "cl_conv.h"
#include "cl_vector.h"
#include "cl_winograd.h"
#include "cl_winograd_finish.h"

__kernel void cl_winograd_output(PARAMETERS(CL_WINOGRAD_OUTPUT_ARGUMENTS))
{
    const int tile = get_global_id(0), filter = get_global_id(1), z = get_global_id(2);
    if (tile >= tiles) {
        return;
    }
    const ulong point = (ulong)M * ldv;
    const int side = pool ? TILE / 2 : TILE;
    const int y = tile / across * side, x = tile % across * side;
    const float scale = norm[filter], shift = norm[M + filter];
    float m[POINTS], out[TILE * TILE];
    sums += z * POINTS * point + (ulong)filter * ldv + tile;
    C += c0 + ((ulong)z * M + filter) * h * w;
    #pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        m[p] = sums[p * point];
    }
    finish_tile(m, scale, shift, slope, pool, out);
    #pragma unroll
    for (int row = 0; row < TILE; ++row) {
        #pragma unroll
        for (int column = 0; column < TILE; ++column) {
            if (row < side && column < side && y + row < h && x + column < w) {
                C[(y + row) * w + x + column] = out[row * TILE + column];
            }
        }
    }
}
