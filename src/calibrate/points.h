/* SPDX-License-Identifier: MIT */
/*
 * Some output points of a convolution, with all that it needs to compute them again in 8 bits: so
 * the signal to noise of the layer's output can be measured when all pictures are gone.
 *
 *   columns   a point's inputs, one below the other, as im2col lays them out: K floats
 *   outputs   what the layer makes of them in single precision: M floats
 *   weights   M x K, in 8 bits with a scale for each filter
 *
 * The points are a random sample of all points of all pictures (algorithm R of J. Vitter, "Random
 * sampling with a reservoir", 1985). The numbers are the same in every run.
 */
#ifndef GEMM_POINTS_H
#define GEMM_POINTS_H

#include "gemm_variant.h"

#include <stdint.h>

typedef struct gemm_points gemm_points;

/* For a layer with one group and at most GEMM_INT8_MOST_K taps (int8/scales.h). The pointers of the
   call may be gone later. NULL without memory. */
gemm_points *gemm_points_make(const conv_call *);
void gemm_points_free(gemm_points *);

/* Takes some points of a picture. All calls must be of one layer. */
void gemm_points_add(gemm_points *, const conv_call *);

/*
 * The signal to noise of the output in dB, 10 lg (sum of y^2 / sum of (y - y of 8 bits)^2), where a
 * step of the input in 8 bits stands for `step`, and its byte of 0 is `zero`. y is behind batch
 * norm and activation, as far as the call applies them. From -GEMM_SNR_MOST, which also stands for
 * numbers that are not finite and for memory that is missing, to GEMM_SNR_MOST.
 */
double gemm_points_snr(const gemm_points *, float step, int zero);

enum { GEMM_SNR_MOST = 150 };

#endif
