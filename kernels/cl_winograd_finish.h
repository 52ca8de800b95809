/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a tile of Winograd's algorithm, from its POINTS sums (cl_winograd.h): AT M A,
 * scale, shift and activation. They are TILE x TILE vectors. With `pool` those of the first
 * TILE / 2 rows and columns are then the maxima of 2x2. Behind cl_conv.h and cl_vector.h.
 */
CONV_FINISH(conv_finish_wide, wide)

void finish_tile(const wide *m, wide scale, wide shift, float slope, int pool, wide *out)
{
    wide between[TILE * EDGE];
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
    if (!pool) {
        return;
    }
    #pragma unroll
    for (int i = 0; i < TILE * TILE / 4; ++i) {
        const int row = i / (TILE / 2), column = i % (TILE / 2);
        const wide *o = out + row * 2 * TILE + column * 2;
        wide most = -FLT_MAX;
        most = o[0] > most ? o[0] : most;
        most = o[1] > most ? o[1] : most;
        most = o[TILE] > most ? o[TILE] : most;
        out[row * TILE + column] = o[TILE + 1] > most ? o[TILE + 1] : most;
    }
}
