/* SPDX-License-Identifier: MIT */
/* What fp16 has numbers for. A call with other operands is computed in single precision, because an
   infinite product would spoil all that follows. */
#ifndef HALF_RANGE_H
#define HALF_RANGE_H

#include "packed/isa/pairs.h"

/* The largest finite magnitude of rows x columns floats, rows ld apart. INFINITY: there was no
   memory to look. */
float packed_half_largest(const float *x, int rows, int columns, size_t ld, int threads);

/* Whether operands of such magnitudes have finite halves, and finite sums. Infinite ones and NaN
   stay what they are, and so do products with them. */
bool packed_half_fits(const gemm_pairs *, float a, float b);

#endif
