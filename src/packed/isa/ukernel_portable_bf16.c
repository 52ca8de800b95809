/* SPDX-License-Identifier: MIT */
/*
 * Pairs on any processor: the tile of ukernel_generic.c. A half becomes a float by a shift or a
 * mask, and its product with another half is exact.
 */
#include "packed/isa/pairs.h"

#define ISA portable_bf16
#define PAIRS gemm_ukernel_generic
#define OWN_BLOCKS
#define vfma_to(c, a, b) ((c) = add_pairs(c, a, b))

typedef float four __attribute__((vector_size(16)));
typedef uint32_t four_pairs __attribute__((vector_size(16)));

/* The upper halves first, as AVX512_BF16 does. */
INLINE four add_pairs(four c, four a, four b)
{
    const four_pairs x = (four_pairs)a, y = (four_pairs)b;
    c += (four)(x & 0xffff0000u) * (four)(y & 0xffff0000u);
    return c + (four)(x << 16) * (four)(y << 16);
}

#include "packed/isa/ukernel_round.h"

static bool pair_supported(void) { return true; }

#include "packed/isa/ukernel_generic.c"
