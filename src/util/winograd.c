/* SPDX-License-Identifier: MIT */
/* Winograd's algorithm, the same for all rows: see winograd.h. */
#include "util/winograd.h"

#include "util/ints.h"

/* ---- the matrices, by rows ---- */

#define P GEMM_WINOGRAD_P
#define Q GEMM_WINOGRAD_Q
#define GP GEMM_WINOGRAD_G(P, Q)
#define GQ GEMM_WINOGRAD_G(Q, P)

static const float bt2[] = {1, 0, -1, 0,   0, 1, 1, 0,   0, -1, 1, 0,   0, 1, 0, -1};
static const float g2[] = {1, 0, 0,   .5f, .5f, .5f,   .5f, -.5f, .5f,   0, 0, 1};
static const float at2[] = {1, 1, 1, 0,   0, 1, -1, -1};

static const float bt4[] = {
    P * P * Q * Q, 0, -(P * P + Q * Q), 0, 1, 0,
    0, -P * Q * Q, -Q * Q, P, 1, 0,
    0, P * Q * Q, -Q * Q, -P, 1, 0,
    0, -Q * P * P, -P * P, Q, 1, 0,
    0, Q * P * P, -P * P, -Q, 1, 0,
    0, P * P * Q * Q, 0, -(P * P + Q * Q), 0, 1,
};

static const float g4[] = {
    1 / (P * P * Q * Q), 0, 0,
    GP, P * GP, P * P * GP,
    GP, -P * GP, P * P * GP,
    GQ, Q * GQ, Q * Q * GQ,
    GQ, -Q * GQ, Q * Q * GQ,
    0, 0, 1,
};

static const float at4[] = {
    1, 1, 1, 1, 1, 0,
    0, P, -P, Q, -Q, 0,
    0, P * P, P * P, Q * Q, Q * Q, 0,
    0, P * P * P, -P * P * P, Q * Q * Q, -Q * Q * Q, 1,
};

const gemm_transform *gemm_winograd_transform(int m)
{
    static const gemm_transform two = {2, bt2, g2, at2}, four = {4, bt4, g4, at4};
    return m == 2 ? &two : &four;
}

/* ---- when it is faster ---- */

/* Products with some filters, or with U, that are read. In multiplications of a vector. */
static double products(const gemm_winograd_layer *l, const gemm_winograd_cost *c, double places,
                       double floats)
{
    const double pairs = (double)l->channels * l->filters;
    const double multiply = places * pairs / l->vector;
    const double read = floats * pairs * sizeof(float) / c->bytes;
    return !c->fetched ? multiply + read : multiply < read ? read : multiply;
}

/* m = 0 is the direct way. The others read U, which is longer than the filters, and add the
   transforms of each element of V and M. */
static double cost_of(const gemm_winograd_layer *l, const gemm_winograd_cost *c, int m)
{
    if (m == 0) return products(l, c, 9. * l->out_h * l->out_w, 9);
    const double channels = l->channels, filters = l->filters;
    const double points = (m + 2) * (m + 2), across = ceil_div(l->out_w, m);
    const double tiles = across * ceil_div(l->out_h, m), element = c->element[m == 4];
    return products(l, c, points * tiles, points / l->together[m == 4]) +
           points * tiles * (channels + filters) / l->vector * element +
           (l->images ? points * channels * filters * c->prepare / l->images : 0);
}

double gemm_winograd_ratio(const gemm_winograd_layer *l, const gemm_winograd_cost *c, int m)
{
    return cost_of(l, c, m) / cost_of(l, c, 0);
}

int gemm_winograd_fastest(const gemm_winograd_layer *l, const gemm_winograd_cost *c)
{
    enum { FEW = 8 };           /* channels or filters: the transforms cost more than they save */
    if (l->channels < FEW || l->filters < FEW) return 0;
    const double direct = cost_of(l, c, 0), two = cost_of(l, c, 2), four = cost_of(l, c, 4);
    if (direct <= two && direct <= four) return 0;
    return two <= four ? 2 : 4;
}
