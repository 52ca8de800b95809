/* SPDX-License-Identifier: MIT */
/*
 * How a multiply is cut in two parts: see cut.h.
 */
#include "hybrid/cut.h"

#include "util/ints.h"

#include <math.h>

/* The operand that is not cut is copied as a whole, so the larger one is cut. */
static bool cuts_columns(const gemm_call *g)
{
    return g->N >= g->M;
}

gemm_call gemm_part_of(const gemm_shared *s, gemm_part p)
{
    const gemm_call *g = s->call;
    const size_t from = (size_t)p.from;
    gemm_call own = *g;
    if (cuts_columns(g)) {
        own.N = p.to - p.from;
        own.B += g->TB ? from * (size_t)g->ldb : from;
        own.C += from;
    } else {
        own.M = p.to - p.from;
        own.A += g->TA ? from : from * (size_t)g->lda;
        own.C += from * (size_t)g->ldc;
    }
    return own;
}

gemm_shared gemm_share_call(const gemm_call *g)
{
    return (gemm_shared){g, cuts_columns(g) ? g->N : g->M};
}

int gemm_cut_unit(int count)
{
    int unit = 64;
    while (unit > 1 && count / unit < 8) unit /= 2;
    return unit;
}

int gemm_cut_at(int count, double share)
{
    const int unit = gemm_cut_unit(count);
    if (share <= 0 || count < 2) return 0;
    if (share >= 1) return count;
    const int units = (int)lround(share * count / unit);
    return min_int(max_int(units, 1), (count - 1) / unit) * unit;
}
