/* SPDX-License-Identifier: MIT */
/*
 * Any processor, with a multiply-add that rounds once, as those of the other instruction sets do.
 * It gives their bits: docs/reproducible.md. A tile is 4 x 4, and nothing is unrolled, because
 * these kernels shall be small.
 */

/* Where step() is not inlined, gcc 14 does not see that a tile has at least one vector. */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define INLINE static inline
#define UNROLL
#define ISA generic_fused
#define FUSED

#include "packed/isa/ukernel_generic.c"
