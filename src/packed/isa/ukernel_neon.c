/* SPDX-License-Identifier: MIT */
/*
 * NEON of aarch64: 8 x 12.
 *
 * - The tile: 24 accumulators + 3 of B + 3 floats of A = 30 of 32 registers; 11 loads for 24 FMAs.
 * - The pooled tile: 6 filters by 4 vectors = 24 accumulators + 4 of pixels + 3 floats of A = 31.
 * - Depthwise: 8 sums + up to 7 of weights + 8 of pixels, of this tap and of the next.
 * - KC = 256: a panel of A is 8 * 256 * 4 = 8 KiB and a strip of B 12 * 256 * 4 = 12 KiB. Together
 *   they fit an L1 of 32 KiB.
 * - MC = 128: the block of A is 128 * 256 * 4 = 128 KiB. It fits an L2 of 256 KiB.
 */
#if defined(__aarch64__)
#include "packed/isa/ukernel.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifndef ISA
#define ISA neon
#endif
#define VL 4
#define NV 3
#define MR 8
#define MC 128
#define KC 256
#define TURN 0
#define BAND_TURN 1
#define SHORT_K 64
#define A_FROM_L3 false
#define TILES_WIDE 4
#define WIDE_ROWS 64
#define TAIL_UNIT 4
#define TAIL_MOST 3
#define ALONG_K_COLS 3
#define EACH_ALONG_K(X) X(1) X(2) X(3)
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define EACH_VECS(X, r) X(r, 1) X(r, 2) X(r, 3)
#define POOL_ROWS 6
#define EACH_POOL_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define TILE_TUNING

typedef float32x4_t vec;
typedef float vec_u __attribute__((vector_size(16), aligned(4), may_alias));
#define vzero() vdupq_n_f32(0.0f)
#define vset1(x) vdupq_n_f32(x)
#define vload(p) vld1q_f32(p)
#define vstore(p, v) vst1q_f32(p, v)
#define vfma(a, b, c) vfmaq_f32(c, a, b)
#define vif_positive(x, y) vbslq_f32(vcgtzq_f32(x), x, y)
/* vmaxq_f32 is no such maximum, because a NaN on either side makes it NaN. */
#define vmax(x, m) vbslq_f32(vcgtq_f32(x, m), x, m)
#define vmax_alike(x, m) vmaxq_f32(x, m)
#define vsum(v) vaddvq_f32(v)
#define vstore_low(p, v) vstore(p, v)
#define vstore_high(p, v) vstore(p, v)
#define vkeep(v) (void)(v)      /* an FMA reads registers only */

/*
 * acc[i * ld + v] += *a[i] * (the vector at b[v]), i < rows and v < nv, which are constants.
 *
 * fmla multiplies by an element of a register, so a float of A is loaded and not spread. The
 * statements are volatile, so that the compiler keeps their order: it would load early, and so need
 * more than 32 registers. A processor that executes in order wants each load some FMAs before its
 * use. So floats of A are loaded `ahead` rows before theirs.
 */
#define load_vector(v, p) ((v) = *(const volatile vec_u *)(p))
#define load_float(x, p) ((x) = *(const volatile float *)(p))
#ifndef multiply_add            /* by pairs, in ukernel_neon_bf16.c */
#define multiply_add(c, x, b)                                                                      \
    __asm__ volatile("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(c) : "w"(b), "w"(x))
#endif
#define outer_product outer_product
INLINE void outer_product(const int rows, const int nv, const float *const *a,
                          const float *const *b, vec *acc, const int ld)
{
    enum { MOST_ROWS = 16, MOST_VECS = 4 };
    const int most = nv == 1 ? 4 : 3, ahead = rows < most ? rows : most;
    float x[MOST_ROWS];
    vec row[MOST_VECS];
    load_vector(row[0], b[0]);
    load_float(x[0], a[0]);
    _Pragma("GCC unroll 16")
    for (int v = 1; v < nv; ++v) load_vector(row[v], b[v]);
    _Pragma("GCC unroll 16")
    for (int i = 1; i < ahead; ++i) load_float(x[i], a[i]);
    _Pragma("GCC unroll 16")
    for (int i = 0; i < rows; ++i) {
        _Pragma("GCC unroll 16")
        for (int v = 0; v < nv; ++v) multiply_add(acc[i * ld + v], x[i], row[v]);
        if (i + ahead < rows) load_float(x[i + ahead], a[i + ahead]);
    }
}

/* Depthwise tiles, see ukernel_depthwise.h. */
#define DEPTHWISE_IN_ORDER
#define step_pointer(p, floats)                                                                    \
    do {                                                                                           \
        (p) += (floats);                                                                           \
        __asm__ volatile("" : "+r"(p));                                                            \
    } while (0)
#define multiply_vectors(c, a, b)                                                                  \
    __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(c) : "w"(a), "w"(b))
#define multiply_lane(c, w, lane, x)                                                               \
    __asm__ volatile("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(c) : "w"(x), "w"(w))

/* n floats in as few registers; the last one has the last four. */
INLINE void keep_weights(const float *w, const int n, vec *kept)
{
    _Pragma("GCC unroll 16")
    for (int j = 0; j * VL < n; ++j) kept[j] = vload(w + (j * VL + VL <= n ? j * VL : n - VL));
}

/* sum += (weight q of n) * x */
#define multiply_weight(sum, kept, q, n, x)                                                        \
    do {                                                                                           \
        const vec w = (kept)[(q) / VL];                                                            \
        switch ((q) / VL * VL + VL <= (n) ? (q) % VL : (q) - ((n) - VL)) {                         \
        case 0: multiply_lane(sum, w, 0, x); break;                                                \
        case 1: multiply_lane(sum, w, 1, x); break;                                                \
        case 2: multiply_lane(sum, w, 2, x); break;                                                \
        default: multiply_lane(sum, w, 3, x);                                                      \
        }                                                                                          \
    } while (0)

static inline vec vload_part(const float *p, int n)
{
    float buffer[VL] = {0};
    memcpy(buffer, p, n * sizeof *p);
    return vld1q_f32(buffer);
}

static inline void vstore_part(float *p, int n, vec v)
{
    float buffer[VL];
    vst1q_f32(buffer, v);
    memcpy(p, buffer, n * sizeof *p);
}

INLINE vec vload_valid(const float *p, unsigned bits)
{
    if (bits == (1 << VL) - 1) return vload(p);
    float buffer[VL] = {0};
    for (int i = 0; i < VL; ++i) {
        if (bits >> i & 1) buffer[i] = p[i];
    }
    return vload(buffer);
}

static inline vec vsums(const vec *v, const int n)
{
    const vec zero = vzero();
    return vpaddq_f32(vpaddq_f32(v[0], n > 1 ? v[1] : zero), vpaddq_f32(n > 2 ? v[2] : zero, zero));
}

#define vevens(a, b) vuzp1q_f32(a, b)
#define vodds(a, b) vuzp2q_f32(a, b)

enum { BLOCK = 4, TALL = BLOCK };
#define transpose_tall transpose_block

static inline void transpose_block(const float *src, size_t ld, float *dst, int width)
{
    const float32x4x2_t a = vtrnq_f32(vload(src), vload(src + ld));
    const float32x4x2_t b = vtrnq_f32(vload(src + 2 * ld), vload(src + 3 * ld));
    vstore(dst, vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0])));
    vstore(dst + width, vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1])));
    vstore(dst + 2 * width, vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0])));
    vstore(dst + 3 * width, vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1])));
}

static bool isa_supported(void)
{
    return true;                /* part of aarch64 */
}

#include "packed/isa/ukernel_body.h"
#endif
