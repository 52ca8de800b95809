/*
 * AVX-512: 8 x 48.
 *
 * 24 accumulators + 3 of B + 1 of A = 28 of 32 zmm; 11 loads for 24 FMAs. Widths of 1 to 3 vectors
 * suit Darknet's N = 169 = 3 * 48 + 25: 3 + 3 + 3 + 2 vectors.
 * KC = 384: a panel of A is 8 * 384 * 4 = 12 KiB, in L1; a strip of B is 48 * 384 * 4 = 72 KiB and
 * streams from L2, 192 bytes in the 12 cycles of a step; C is read and written every 384 steps.
 * MC = 256: the block of A is 256 * 384 * 4 = 384 KiB, which with the strip and the next one fits
 * in the 1 MiB of L2 that such processors have at least.
 */
#if defined(__x86_64__)
#include "gemm_transpose8_avx.h"

#include <stdbool.h>

#define ISA avx512
#define VL 16
#define NV 3
#define MR 8
#define MC 256
#define KC 384
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define EACH_VECS(X, r) X(r, 1) X(r, 2) X(r, 3)

typedef __m512 vec;
#define FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define vzero() _mm512_setzero_ps()
#define vset1(x) _mm512_set1_ps(x)
#define vload(p) _mm512_loadu_ps(p)
#define vstore(p, v) _mm512_storeu_ps(p, v)
#define vload_part(p, n) _mm512_maskz_loadu_ps(FIRST(n), p)
#define vstore_part(p, n, v) _mm512_mask_storeu_ps(p, FIRST(n), v)
#define vfma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vsum(v) _mm512_reduce_add_ps(v)

static bool isa_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
}

#include "gemm_ukernel_body.h"
#endif
