/* SPDX-License-Identifier: MIT */
/*
 * The layout nchwc: a vector holds VL channels of one place. Included by ukernel_body.h.
 *
 *     group 0:  place 0 | place 1 | ...          VL floats a place, channels 0 .. VL - 1
 *     group 1:  place 0 | place 1 | ...          channels VL .. 2 VL - 1
 *
 * A layer is a product whose rows are places and whose columns are channels. A tile is NCHWC_PLACES
 * places by up to NV groups. With fewer groups it has more places, because otherwise each sum would
 * have to wait for the step before. With HALVES a last group of at most VL / 2 channels is half a
 * vector. What lies behind it is then not written.
 */

#ifndef NCHWC_PLACES
#define NCHWC_PLACES(nv) ((nv) == 1 ? 2 * MR : MR)
#endif
enum { MOST_PLACES = NCHWC_PLACES(1) };

/* Steps of K in a group of an A in nchwc. */
#ifdef PAIRS
enum { GROUP_STEPS = VL / 2 };
#else
enum { GROUP_STEPS = VL };
#endif

#ifdef OWN_NCHWC_STEPS
#include OWN_NCHWC_STEPS
#define NCHWC_STEPS(half, ...) nchwc_steps(__VA_ARGS__)
#else

/* One k: acc += (places of A) * (channels of B), of the last group only the low half. */
INLINE void nchwc_half_step(const int places, const int nv, const float *a, const int apart,
                            const float *b, vec acc[MOST_PLACES][NV])
{
    const int last = nv - 1;
    vec row[NV];
    UNROLL
    for (int v = 0; v < last; ++v) row[v] = vload(b + v * VL);
    load_low(row[last], b + last * VL);
    UNROLL
    for (int i = 0; i < places; ++i) {
        const float *at = a + i * apart;
        const vec ai = last ? vset1(*at) : vzero();
        UNROLL
        for (int v = 0; v < last; ++v) vfma_to(acc[i][v], ai, row[v]);
        if (last) fma_low_to(acc[i][last], ai, row[last]);
        else fma_low_by(acc[i][last], at, row[last]);
    }
}

/* The same, or of all groups. */
INLINE void nchwc_step(const bool half, const int places, const int nv, const float *a,
                       const int apart, const float *b, vec acc[MOST_PLACES][NV])
{
    if (half) {
        nchwc_half_step(places, nv, a, apart, b, acc);
        return;
    }
#ifdef outer_product
    const float *column[MOST_PLACES], *row[NV];
    UNROLL
    for (int i = 0; i < places; ++i) column[i] = a + i * apart;
    UNROLL
    for (int v = 0; v < nv; ++v) row[v] = b + v * VL;
    outer_product(places, nv, column, row, acc[0], NV);
#else
    vec row[NV];
    UNROLL
    for (int v = 0; v < nv; ++v) row[v] = vload(b + v * VL);
    UNROLL
    for (int i = 0; i < places; ++i) {
        const vec ai = vset1(a[i * apart]);
        UNROLL
        for (int v = 0; v < nv; ++v) vfma_to(acc[i][v], ai, row[v]);
    }
#endif
}

/* All steps of a tile, from place i on. In nchwc the steps of a group have constant offsets. */
INLINE void nchwc_steps(const bool half, const gemm_nchwc *l, const int places, const int nv,
                        const gemm_nchwc_source source, int i, const float *b,
                        vec acc[MOST_PLACES][NV])
{
    const int K = l->K;
    const size_t ld = l->a_ld;
    int k = 0;
    if (source == GEMM_ROWS) {
        const float *a = l->a + i;
        for (; k < K; ++k, a += ld, b += nv * VL) nchwc_step(half, places, nv, a, 1, b, acc);
    } else {
        enum { STEPS = GROUP_STEPS };
        const float *a = l->a + (size_t)i * STEPS;
        for (; k + STEPS <= K; k += STEPS, a += ld, b += STEPS * nv * VL) {
            UNROLL
            for (int q = 0; q < STEPS; ++q)
                nchwc_step(half, places, nv, a + q, STEPS, b + q * nv * VL, acc);
        }
        for (; k < K; ++k, ++a, b += nv * VL) nchwc_step(half, places, nv, a, STEPS, b, acc);
    }
}

#define NCHWC_STEPS nchwc_steps
#endif

/* The sums of places i .. i + places - 1 of nv groups, the first of which is `group`, go to C. */
INLINE void nchwc_store(const activation f, const bool half, const gemm_nchwc *l, const int places,
                        const int nv, int i, int group, vec acc[MOST_PLACES][NV])
{
    const vec slope = vset1(l->slope);
    const int *at = l->at + i;
    UNROLL
    for (int v = 0; v < nv; ++v) {
        const int channel = (group + v) * VL, left = l->channels - channel;
        const vec shift = load_some(l->shift + channel, left);
        const vec scale = l->scale ? load_some(l->scale + channel, left) : vset1(1);
        float *const c = l->c + (size_t)(group + v) * l->c_ld;
        UNROLL
        for (int r = 0; r < places; ++r) {
            if (half && v == nv - 1)
                store_low(c + at[r], finish_low(f, scale, acc[r][v], shift, slope));
            else vstore(c + at[r], activate(f, vfma(scale, acc[r][v], shift), slope));
        }
    }
}

INLINE void nchwc_tile(const bool half, const gemm_nchwc *l, const int places, const int nv,
                       const gemm_nchwc_source source, int i, int group, const float *b)
{
    vec acc[MOST_PLACES][NV];
    clear(places, nv, acc);
    NCHWC_STEPS(half, l, places, nv, source, i, b, acc);
    if (l->slope == 1) nchwc_store(LINEAR, half, l, places, nv, i, group, acc);
    else BY_SLOPE(l->slope > 0, nchwc_store, half, l, places, nv, i, group, acc);
}

INLINE void nchwc_one_by_one(const bool half, const gemm_nchwc *l, const int nv,
                             const gemm_nchwc_source source, int from, int to, int group,
                             const float *b)
{
    for (; from < to; ++from) nchwc_tile(half, l, 1, nv, source, from, group, b);
}

/* Places from .. to - 1. The last tile ends with them, and so overlaps the one before it. But so
   few that CHAIN for each are fewer FMAs than a tile has go one by one: CHAIN take as long as one
   that waits for the one before. */
INLINE void nchwc_strip(const bool half, const gemm_nchwc *l, const int nv,
                        const gemm_nchwc_source source, int from, int to, int group,
                        const float *b)
{
    enum { CHAIN = 12 };
    const int places = NCHWC_PLACES(nv), few = (places * nv - 1) / CHAIN;
    if (to < places) {
        nchwc_one_by_one(half, l, nv, source, from, to, group, b);
        return;
    }
    for (; from < to - few; from += places)
        nchwc_tile(half, l, places, nv, source, lesser(from, to - places), group, b);
    if (few) nchwc_one_by_one(half, l, nv, source, from, to, group, b);
}

#define NCHWC_NAME(from, v, half) JOIN(gemm_packed_##from##_to_nchwc_##v##_##half##__, ISA)
#define NCHWC(from, source, v, half)                                                               \
    static NOINLINE TILE_TUNING void NCHWC_NAME(from, v, half)(                                    \
        const gemm_nchwc *l, int first, int end, int group, const float *b)                        \
    {                                                                                              \
        nchwc_strip(half, l, v, source, first, end, group, b);                                     \
    }
#define NCHWC_OF(half, v) NCHWC(rows, GEMM_ROWS, v, half) NCHWC(nchwc, GEMM_NCHWC, v, half)
#define FROM_ROWS(half, v) NCHWC_NAME(rows, v, half),
#define FROM_NCHWC(half, v) NCHWC_NAME(nchwc, v, half),
#define FROM(half)                                                                                 \
    {                                                                                              \
        [GEMM_ROWS] = {EACH_VECS(FROM_ROWS, half)}, [GEMM_NCHWC] = {EACH_VECS(FROM_NCHWC, half)}   \
    }

typedef void nchwc_fn(const gemm_nchwc *, int first, int end, int group, const float *b);
EACH_VECS(NCHWC_OF, 0)
#if HALVES
EACH_VECS(NCHWC_OF, 1)
static nchwc_fn *const nchwc_from[][2][NV] = {FROM(0), FROM(1)};
#else
static nchwc_fn *const nchwc_from[][2][NV] = {FROM(0)};
#endif

/* Places from .. to - 1 times all channels. The strips of b are `strip` steps of K long. */
INLINE void nchwc_places(const gemm_nchwc *l, int from, int to, int strip)
{
    const int groups = (l->channels + VL - 1) / VL;
    const float *b = l->b;
    for (int group = 0; group < groups; group += NV) {
        const int nv = lesser(NV, groups - group), left = l->channels - (group + nv - 1) * VL;
        nchwc_from[HALVES && left <= VL / 2][l->source][nv - 1](l, from, to, group, b);
        b += (size_t)strip * nv * VL;
    }
}

#ifndef PAIRS
/* Some places at a time, so that they are in L1 for all but the first strip. */
static void nchwc(const gemm_nchwc *l)
{
    enum { PLACES = 4 * MOST_PLACES };
    for (int from = 0; from < l->places; from += PLACES)
        nchwc_places(l, from, lesser(from + PLACES, l->places), l->K);
}
#endif
