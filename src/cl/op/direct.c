/* SPDX-License-Identifier: MIT */
/* The weights of cl_direct: see direct.h. */
#include "cl/op/direct.h"

#include "util/ints.h"
#include "util/winograd.h"

#include <limits.h>
#include <stdlib.h>

static int tiles_of(const gemm_cl_row *row, const conv_call *c)
{
    return ceil_div(c->n / c->groups, row->rows);
}

/* What a filter has for a channel: taps, or points of U. */
static size_t points_of(const gemm_cl_row *row, const conv_call *c)
{
    const size_t side = (size_t)(row->winograd ? row->winograd + 2 : c->size);
    return side * side;
}

/* The floats of a channel of a tile. */
static size_t line_of(const gemm_cl_row *row, const conv_call *c)
{
    return points_of(row, c) * (size_t)row->rows;
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

/* U = G g GT of a filter's channel, `rows` apart: 16 points. */
static void transform(const float *g, float *to, size_t rows)
{
    const float *G = gemm_winograd_transform(2)->G;
    for (int point = 0; point < 16; ++point) {
        const float *left = G + point / 4 * 3, *right = G + point % 4 * 3;
        double sum = 0;
        for (int tap = 0; tap < 9; ++tap)
            sum += (double)left[tap / 3] * (double)g[tap] * (double)right[tap % 3];
        to[(size_t)point * rows] = (float)sum;
    }
}

float *gemm_cl_pack_weights(const gemm_cl_row *row, const conv_call *c, const gemm_cl_packed *to)
{
    const size_t M = (size_t)(c->n / c->groups), channels = (size_t)(c->c / c->groups);
    const size_t rows = (size_t)row->rows, tiles = (size_t)tiles_of(row, c);
    const size_t line = line_of(row, c), taps = (size_t)c->size * (size_t)c->size;
    const size_t down = (size_t)to->down;
    float *packed = calloc(to->width * to->height, sizeof *packed);
    for (size_t i = 0; packed && i < (size_t)c->n * channels; ++i) {
        const size_t filter = i / channels, tile = filter / M * tiles + filter % M / rows;
        const float *from = c->weights + i * taps;
        float *at = packed + (tile % down * channels + i % channels) * to->width +
                    tile / down * line + filter % M % rows;
        if (row->winograd) transform(from, at, rows);
        else for (size_t tap = 0; tap < taps; ++tap) at[tap * rows] = from[tap];
    }
    return packed;
}
