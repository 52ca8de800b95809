/* SPDX-License-Identifier: MIT */
/*
 * Any processor, by the vector extensions of gcc and clang: 4 x 8, vectors of four floats.
 *
 * - The tile: 8 accumulators + 2 of B + 1 of A + 1 for a product = 12 of the 16 registers of SSE2.
 *   No processor of interest has fewer.
 * - The pooled tile: 2 filters by 4 vectors = 8 accumulators + 2 of A + 1 of pixels + 1 product.
 * - KC = 256: a panel of A is 4 KiB and a strip of B 8 KiB. They fit any L1.
 * - MC = 128: the block of A is 128 KiB.
 */
#include "packed/isa/ukernel.h"
#include "util/soft_fma.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifndef ISA
#define ISA generic
#endif
#ifdef FUSED
#define NV 1
#else
#define NV 2
#endif
#define MR 4
#define MC 128
#define KC 256
#define WIDE_ROWS 32
#define POOL_ROWS 2
#include "packed/isa/ukernel_four.h"

typedef float vec __attribute__((vector_size(VL * sizeof(float))));
typedef int vec_mask __attribute__((vector_size(VL * sizeof(int))));
#define vzero() ((vec){0})
#define vset1(x) ((vec){x, x, x, x})
#define vload(p) vload_part(p, VL)
#define vstore(p, v) vstore_part(p, VL, v)
#ifndef FUSED
#define vfma(a, b, c) ((a) * (b) + (c))
#endif
#define vsum(v) ((v)[0] + (v)[1] + (v)[2] + (v)[3])

#ifdef FUSED
#ifdef __FP_FAST_FMAF
#define fma_of __builtin_fmaf
#else
#define fma_of gemm_soft_fma
#endif
static __attribute__((noinline)) vec vfma(vec a, vec b, vec c)
{
    vec sum;
    for (int i = 0; i < VL; ++i) sum[i] = fma_of(a[i], b[i], c[i]);
    return sum;
}
#endif

/* With n = VL, a constant, memcpy becomes one unaligned load or store. */
INLINE vec vload_part(const float *p, int n)
{
    vec v = {0};
    memcpy(&v, p, n * sizeof *p);
    return v;
}

INLINE void vstore_part(float *p, int n, vec v)
{
    memcpy(p, &v, n * sizeof *p);
}

INLINE vec vsums(const vec *v, const int n)
{
    vec sums = {0};
    for (int j = 0; j < n; ++j) sums[j] = vsum(v[j]);
    return sums;
}

static inline vec vevens(vec a, vec b) { return (vec){a[0], a[2], b[0], b[2]}; }
static inline vec vodds(vec a, vec b) { return (vec){a[1], a[3], b[1], b[3]}; }

INLINE vec vif_positive(vec x, vec y)
{
    const vec_mask positive = x > vzero();
    return (vec)((positive & (vec_mask)x) | (~positive & (vec_mask)y));
}

INLINE vec vmax(vec x, vec m)
{
    const vec_mask larger = x > m;
    return (vec)((larger & (vec_mask)x) | (~larger & (vec_mask)m));
}

static inline void transpose_block(const float *src, size_t ld, float *dst, int width)
{
    for (int p = 0; p < BLOCK; ++p) {
        for (int i = 0; i < BLOCK; ++i) dst[p * width + i] = src[i * ld + p];
    }
}

static bool isa_supported(void)
{
    return true;
}

#include "packed/isa/ukernel_body.h"
