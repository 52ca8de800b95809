/* SPDX-License-Identifier: MIT */
/*
 * cl_winograd_input: V = BT d B for COLS tiles of one channel (cl_winograd.h). Tiles are numbered
 * by rows, `across` in a row. What lies outside of the image is zero, and so are tiles past the
 * last one. Global {ldv / COLS, channels, images}. With vectors of one float ldv may be rounded up,
 * and what lies past the last tile is not written.
 */
#include "cl_vector.h"
#include "cl_winograd.h"

/* A GPU keeps the pixels in registers, and compares for each. A CPU does so in a loop, and only at
   an edge. */
#if VECTOR == 1
#define UNROLL_ONE _Pragma("unroll")
#else
#define UNROLL_ONE
#endif

/* The pixels of the tile at (y, x) of a channel, into lane i of d. */
void load_tile(__global const float *channel, int y, int x, int h, int w, int i,
               float (*d)[VECTOR])
{
#if VECTOR > 1
    if (y >= 0 && y + EDGE <= h && x >= 0 && x + EDGE <= w) {
        #pragma unroll
        for (int row = 0; row < EDGE; ++row) {
            #pragma unroll
            for (int column = 0; column < EDGE; ++column) {
                d[row * EDGE + column][i] = channel[(y + row) * w + x + column];
            }
        }
        return;
    }
#endif
    UNROLL_ONE
    for (int row = 0; row < EDGE; ++row) {
        UNROLL_ONE
        for (int column = 0; column < EDGE; ++column) {
            const bool inside = y + row >= 0 && y + row < h && x + column >= 0 && x + column < w;
            d[row * EDGE + column][i] = inside ? channel[(y + row) * w + x + column] : 0.0f;
        }
    }
}

/* VECTOR tiles from `first` on. */
void transform(__global const float *channel, int first, int h, int w, int pad, int across,
               int tiles, __global float *V, ulong v_point)
{
    float lanes[POINTS][VECTOR];
    wide d[POINTS], v[POINTS];
    int y = first / across, x = first % across;
    for (int i = 0; i < VECTOR; ++i) {
        /* a tile below the image is zero */
        load_tile(channel, first + i < tiles ? y * TILE - pad : h, x * TILE - pad, h, w, i, lanes);
        if (++x == across) {
            x = 0;
            ++y;
        }
    }
    #pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        d[p] = VLOAD(lanes[p]);
    }
    #pragma unroll
    for (int column = 0; column < EDGE; ++column) {
        input_pass(d + column, EDGE, v + column, EDGE);
    }
    #pragma unroll
    for (int row = 0; row < EDGE; ++row) {
        input_pass(v + row * EDGE, 1, d + row * EDGE, 1);
    }
    #pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        VSTORE(d[p], V + p * v_point);
    }
}

__kernel ONE_ITEM
void cl_winograd_input(PARAMETERS(CL_WINOGRAD_INPUT_ARGUMENTS))
{
    const int channel = get_global_id(1);
    const ulong z = get_global_id(2), v_point = (ulong)channels * ldv;
    const int first = get_global_id(0) * COLS, last = min(tiles, first + COLS);
    image += i0 + (z * channels + channel) * h * w;
    V += z * POINTS * v_point + (ulong)channel * ldv;
    for (int t = first; t < last; t += VECTOR) {
        transform(image, t, h, w, pad, across, tiles, V + t, v_point);
    }
}
