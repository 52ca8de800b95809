/* SPDX-License-Identifier: MIT */
/* The weights of cl_direct: see direct.h. */
#include "cl/op/direct.h"

#include "util/ints.h"

#include <limits.h>
#include <stdlib.h>

static int tiles_of(const gemm_cl_row *row, const conv_call *c)
{
    return ceil_div(c->n / c->groups, row->rows);
}

/* The floats of a channel of a tile. */
static size_t line_of(const gemm_cl_row *row, const conv_call *c)
{
    return (size_t)c->size * (size_t)c->size * (size_t)row->rows;
}

gemm_cl_packed gemm_cl_pack_layout(const gemm_cl_row *row, const conv_call *c, size_t highest)
{
    const size_t channels = (size_t)(c->c / c->groups);
    const size_t all = (size_t)c->groups * (size_t)tiles_of(row, c);
    const size_t fits = row->texture ? highest / channels : all, down = fits < all ? fits : all;
    if (!down || down > INT_MAX) return (gemm_cl_packed){0};
    const size_t columns = (all + down - 1) / down;
    return (gemm_cl_packed){(int)down, columns * line_of(row, c), down * channels};
}

float *gemm_cl_pack_weights(const gemm_cl_row *row, const conv_call *c, const gemm_cl_packed *to)
{
    const size_t K = (size_t)gemm_conv_taps(c), M = (size_t)(c->n / c->groups);
    const size_t rows = (size_t)row->rows, tiles = (size_t)tiles_of(row, c);
    const size_t line = line_of(row, c), taps = line / rows, down = (size_t)to->down;
    float *packed = calloc(to->width * to->height, sizeof *packed);
    for (size_t filter = 0; packed && filter < (size_t)c->n; ++filter) {
        const size_t tile = filter / M * tiles + filter % M / rows;
        const float *from = c->weights + filter * K;
        float *at = packed + tile % down * (K / taps) * to->width + tile / down * line +
                    filter % M % rows;
        for (size_t k = 0; k < K; ++k) at[k / taps * to->width + k % taps * rows] = from[k];
    }
    return packed;
}
