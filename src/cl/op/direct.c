/* SPDX-License-Identifier: MIT */
/* The weights of cl_direct: see direct.h. */
#include "cl/op/direct.h"

#include "util/ints.h"

#include <stdlib.h>

static size_t tiles_of(const gemm_cl_row *row, const conv_call *c)
{
    return (size_t)ceil_div(c->n / c->groups, row->rows);
}

size_t gemm_cl_packed_count(const gemm_cl_row *row, const conv_call *c)
{
    return (size_t)c->groups * tiles_of(row, c) * (size_t)row->rows * (size_t)gemm_conv_taps(c);
}

float *gemm_cl_pack_weights(const gemm_cl_row *row, const conv_call *c)
{
    const size_t K = (size_t)gemm_conv_taps(c), M = (size_t)(c->n / c->groups);
    const size_t rows = (size_t)row->rows, tiles = tiles_of(row, c);
    float *packed = calloc(gemm_cl_packed_count(row, c), sizeof *packed);
    for (size_t filter = 0; packed && filter < (size_t)c->n; ++filter) {
        const size_t group = filter / M, i = filter % M;
        const float *from = c->weights + filter * K;
        float *to = packed + (group * tiles + i / rows) * K * rows + i % rows;
        for (size_t k = 0; k < K; ++k) to[k * rows] = from[k];
    }
    return packed;
}
