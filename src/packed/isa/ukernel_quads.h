/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels for quads, written once. The file that includes this one defines:
 *
 *   ISA, BASE       the name, and the gemm_ukernel that GEMM_ISA names
 *   VL, NV, MR      lanes of a vector, vectors of a strip, rows of a panel
 *   OFFSET          whether bytes of B are b + 128
 *   vint, vint_set(x)   a vector of VL int32_t, as gcc and clang know them
 *   vint_max(x, y), vint_min(x, y), vint_swap(x)    lanes 2 j and 2 j + 1 change their places
 *   STEP(c, a, B, p, nv, turned)
 *                   adds the products of quad p of K to c[MR][nv]: a[0 .. MR - 1] by the vectors of
 *                   B at B(p, 0 .. nv - 1); turned: A has the offset, and not B.
 *                   Need not be defined where there are
 *   vint_load(p), dot(sum, b, a, turned)    sum + the products of the quads in b and a
 *   quads_supported()
 *   by_slope(y, slope)  y > 0 ? y : slope * y of vectors; only where there are instructions for it
 *
 * The registers of a tile: MR * NV sums, NV vectors of B, one of A.
 */
#include "packed/isa/quads.h"

#define NR (NV * VL)
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

#ifndef STEP
#define STEP(c, a, B, p, nv, turned)                                                               \
    {                                                                                              \
        vint column[NV];                                                                           \
        _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) column[v] = vint_load(B(p, v));       \
        _Pragma("GCC unroll 8") for (int i = 0; i < MR; ++i) {                                     \
            const vint row = vint_set((int32_t)a[i]);                                              \
            _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) c[i][v] =                         \
                dot(c[i][v], column[v], row, turned);                                              \
        }                                                                                          \
    }
#endif

typedef float floats __attribute__((vector_size(VL * sizeof(float))));

#ifndef by_slope
INLINE floats by_slope(floats y, floats slope)
{
    const vint above = y > 0;
    const floats below = y * slope;
    return (floats)(((vint)y & above) | ((vint)below & ~above));
}
#endif

INLINE floats same_floats(float x)
{
    return x - (floats){0};
}

/* Each operation rounds: see quads.h. */
INLINE floats finished(vint sums, floats scale, floats shift, floats slope)
{
    const floats y = __builtin_convertvector(sums, floats) * scale;
    const floats f = y + shift;
    return by_slope(f, slope);
}

/* Row i of a tile from its sums. */
INLINE floats finish(const gemm_quads_tile *t, int i, vint sums)
{
    return finished(sums, same_floats(t->scale[i]), same_floats(t->shift[i]),
                    same_floats(t->slope));
}

/* Writes VL columns of row i, from column j on; with n, the first n of them. */
INLINE void write_part(const gemm_quads_tile *t, int i, int j, vint sums, size_t n)
{
    if (t->sums) {
        memcpy(t->sums + (size_t)i * t->ldc + j, &sums, n * sizeof *t->sums);
    } else {
        const floats y = finish(t, i, sums);
        memcpy(t->c + (size_t)i * t->ldc + j, &y, n * sizeof *t->c);
    }
}

/* Row i, pooled. */
INLINE void write_pooled(const gemm_quads_tile *t, int i, vint above, vint below)
{
    const bool falls = t->scale[i] < 0;
    const vint x = falls ? vint_min(above, below) : vint_max(above, below), y = vint_swap(x);
    float maxima[VL], *const to = t->c + (size_t)i * t->ldc;
    const floats f = finish(t, i, falls ? vint_min(x, y) : vint_max(x, y));
    memcpy(maxima, &f, sizeof f);
    if (t->cols == VL)
        for (int j = 0; j < VL / 2; ++j) to[j] = maxima[2 * j];
    else
        for (int j = 0; j < t->cols / 2; ++j) to[j] = maxima[2 * j];
}

#define B_OF_TILE(p, v) (t->b + (pooled && (v) ? t->below : t->at)[p] + (pooled ? 0 : (v) * VL))

INLINE void compute(const gemm_quads_tile *t, const int nv, const bool pooled)
{
    vint c[MR][NV];
    const gemm_quad *a = t->a;
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
        for (int v = 0; v < nv; ++v) c[i][v] = vint_set(t->start[i]);
#ifdef ALL_STEPS
    ALL_STEPS(c, a, MR, B_OF_TILE, t->quads, nv);
#else
    for (int p = 0; p < t->quads; ++p, a += MR) {
#pragma GCC unroll 8
        for (int v = 0; v < nv; ++v) __builtin_prefetch(B_OF_TILE(p + GEMM_QUADS_AHEAD, v));
        STEP(c, a, B_OF_TILE, p, nv, false);
    }
#endif
    const size_t last = (size_t)(t->cols - (nv - 1) * VL);
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) {
        if (i == t->rows) return;
        if (pooled) {
            write_pooled(t, i, c[i][0], c[i][nv - 1]);
            continue;
        }
#pragma GCC unroll 8
        for (int v = 0; v < nv - 1; ++v) write_part(t, i, v * VL, c[i][v], VL);
        if (last == VL) write_part(t, i, (nv - 1) * VL, c[i][nv - 1], VL);
        else write_part(t, i, (nv - 1) * VL, c[i][nv - 1], last);
    }
}

/* Functions of their own, because gcc 12 keeps sums on the stack where they are one. */
#define NOINLINE static __attribute__((noinline))
NOINLINE void tile1(const gemm_quads_tile *t) { compute(t, 1, false); }
NOINLINE void tile2(const gemm_quads_tile *t) { compute(t, 2, false); }
NOINLINE void tile_pooled(const gemm_quads_tile *t) { compute(t, 2, true); }

static void tile(const gemm_quads_tile *t)
{
    if (t->below) tile_pooled(t);
    else if (t->cols <= VL) tile1(t);
    else if (NV == 2 || t->cols <= 2 * VL) tile2(t);
    else compute(t, NV, false);
}

/* ---- nchwc ---- */

INLINE vint load_ints(const int32_t *from)
{
    vint v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE floats load_floats(const float *from)
{
    floats v;
    memcpy(&v, from, sizeof v);
    return v;
}

#define B_OF_NCHWC(p, v) (b + (size_t)(p) * VL + (size_t)(v) * apart)

/* Up to MR places from place i on, by nv vectors of channels from channel j on. */
INLINE void compute_nchwc(const gemm_quads_nchwc *l, const int nv, int i, int j)
{
    vint c[MR][NV];
    const int rows = l->places - i < MR ? l->places - i : MR;
    const size_t apart = (size_t)l->quads * VL;
    const gemm_quad *a = l->a + i, *b = l->b + (size_t)j * (size_t)l->quads;
#pragma GCC unroll 8
    for (int v = 0; v < nv; ++v) {
        const vint start = load_ints(l->start + j + v * VL);
#pragma GCC unroll 8
        for (int r = 0; r < MR; ++r) c[r][v] = start;
    }
#ifdef ALL_STEPS
    ALL_STEPS(c, a, l->a_ld, B_OF_NCHWC, l->quads, nv);
#else
    for (int p = 0; p < l->quads; ++p, a += l->a_ld) STEP(c, a, B_OF_NCHWC, p, nv, true);
#endif
    const floats slope = same_floats(l->slope);
    const int *const at = l->at + i;
#pragma GCC unroll 8
    for (int v = 0; v < nv; ++v) {
        const int channel = j + v * VL;
        const floats scale = load_floats(l->scale + channel);
        const floats shift = load_floats(l->shift + channel);
        float *const to = l->c + (size_t)(channel / l->group) * l->c_ld + channel % l->group;
#pragma GCC unroll 8
        for (int r = 0; r < MR; ++r) {
            if (r == rows) break;
            const floats f = finished(c[r][v], scale, shift, slope);
            memcpy(to + at[r], &f, sizeof f);
        }
    }
}

static void nchwc(const gemm_quads_nchwc *l)
{
    const int groups = (l->channels + VL - 1) / VL;
    for (int i = 0; i < l->places; i += MR) {
        int g = 0;
        for (; g + NV <= groups; g += NV) compute_nchwc(l, NV, i, g * VL);
#if NV > 2
        if (g + 2 == groups) compute_nchwc(l, 2, i, g * VL);
#endif
        if (g + 1 == groups) compute_nchwc(l, 1, i, g * VL);
    }
}

/* ---- the image ---- */

/* `rows` is known, so the loop is one of vectors. */
INLINE void quantize_rows(int n, const int rows, const float *x, size_t ld, float inverse, int zero,
                          gemm_quad *restrict quads)
{
    for (int j = 0; j < n; ++j) {
        gemm_quad q = OFFSET ? 0x80808080 : 0;
#pragma GCC unroll 4
        for (int i = 0; i < rows; ++i) q ^= gemm_int8_byte(x[i * ld + j], inverse, zero) << 8 * i;
        quads[j] = q;
    }
}

static void quantize(int n, int rows, const float *x, size_t ld, float inverse, int zero,
                     gemm_quad *quads)
{
    if (rows == 4) quantize_rows(n, 4, x, ld, inverse, zero, quads);
    else if (rows == 3) quantize_rows(n, 3, x, ld, inverse, zero, quads);
    else if (rows == 2) quantize_rows(n, 2, x, ld, inverse, zero, quads);
    else quantize_rows(n, 1, x, ld, inverse, zero, quads);
}

enum { PLACES = 16 };           /* whose bytes lie together before they part to quads */

INLINE void quantize_places(int n, int base_vl, const float *x, float inverse, int zero,
                            gemm_quad *restrict quads, size_t ld)
{
    gemm_quad some[PLACES * GEMM_QUADS_MOST_VL / 4];
    uint8_t *const bytes = (uint8_t *)some;
    for (int j = 0; j < n * base_vl; ++j)
        bytes[j] = (uint8_t)(gemm_int8_byte(x[j], inverse, zero) ^ (OFFSET ? 0x80 : 0));
    for (int p = 0; p < base_vl / 4; ++p)
        for (int i = 0; i < n; ++i) quads[p * ld + i] = some[i * (base_vl / 4) + p];
}

/* Known numbers make loops of vectors. */
static void quantize_nchwc(int places, int base_vl, const float *x, float inverse, int zero,
                           gemm_quad *quads, size_t ld)
{
    int i = 0;
    for (; i + PLACES <= places; i += PLACES, x += PLACES * base_vl) {
        if (base_vl == 16) quantize_places(PLACES, 16, x, inverse, zero, quads + i, ld);
        else if (base_vl == 8) quantize_places(PLACES, 8, x, inverse, zero, quads + i, ld);
        else quantize_places(PLACES, base_vl, x, inverse, zero, quads + i, ld);
    }
    quantize_places(places - i, base_vl, x, inverse, zero, quads + i, ld);
}

extern const gemm_quads JOIN(gemm_quads_, ISA);
const gemm_quads JOIN(gemm_quads_, ISA) = {
    .name = TEXT(ISA), .base = &BASE, .mr = MR, .nr = NR, .vl = VL, .offset = OFFSET,
    .tile = tile, .nchwc = nchwc, .quantize = quantize,
    .quantize_nchwc = quantize_nchwc, .supported = quads_supported,
};
