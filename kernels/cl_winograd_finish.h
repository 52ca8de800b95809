/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a tile of Winograd's algorithm, from its POINTS sums (cl_winograd.h): AT M A,
 * scale, shift and activation, and with POOL the maxima of 2x2. They are SIDE x SIDE vectors.
 * Behind cl_conv.h and cl_vector.h.
 */
#ifdef POOL
#define SIDE (TILE / 2)
#else
#define SIDE TILE
#endif

CONV_FINISH(conv_finish_wide, wide)

void finish_tile(const wide *m, wide scale, wide shift, float slope, wide *y)
{
    wide between[TILE * EDGE], out[TILE * TILE];
    #pragma unroll
    for (int column = 0; column < EDGE; ++column) {
        output_pass(m + column, EDGE, between + column, EDGE);
    }
    #pragma unroll
    for (int row = 0; row < TILE; ++row) {
        output_pass(between + row * EDGE, 1, out + row * TILE, 1);
    }
    #pragma unroll
    for (int i = 0; i < TILE * TILE; ++i) {
        out[i] = conv_finish_wide_slope(scale * out[i] + shift, slope);
    }
    #pragma unroll
    for (int i = 0; i < SIDE * SIDE; ++i) {
#ifdef POOL
        const wide *o = out + i / SIDE * 2 * TILE + i % SIDE * 2;
        wide most = -FLT_MAX;
        most = o[0] > most ? o[0] : most;
        most = o[1] > most ? o[1] : most;
        most = o[TILE] > most ? o[TILE] : most;
        y[i] = o[TILE + 1] > most ? o[TILE + 1] : most;
#else
        y[i] = out[i];
#endif
    }
}
