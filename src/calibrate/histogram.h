/* SPDX-License-Identifier: MIT */
/*
 * A histogram of |x|, and where to clip x for 8 bits.
 *
 * It needs one pass. The range of the bins is a power of two above the largest value. A larger
 * value doubles the range and merges neighbours, so earlier values need not come again.
 *
 * Both ways to clip are those of H. Wu et al., "Integer quantization for deep learning inference"
 * (2020, arXiv 2004.09602), chapter 3.
 */
#ifndef GEMM_HISTOGRAM_H
#define GEMM_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step of 8 bits has at least 2 bins: the smallest clip is GEMM_CLIP_LEAST bins. So values up to
   32 times as large as the best clip leave it exact. */
enum { GEMM_BINS = 8192, GEMM_CLIP_LEAST = 256 };

/* The largest whole number of 8 bits. The clips below count with the same in both directions. */
enum { GEMM_INT8_MOST = 127 };

/* {0} is the empty one. */
typedef struct gemm_histogram {
    uint64_t bins[GEMM_BINS];   /* [i * range / GEMM_BINS, (i + 1) * range / GEMM_BINS) */
    double range;               /* a power of two; 0: nothing was added */
    float most;                 /* the largest |x| */
    float least;                /* the least x, at most 0 */
    uint64_t count;
} gemm_histogram;

/* Adds n values. Returns false, and adds none of them, where one is not finite. */
bool gemm_histogram_add(gemm_histogram *, const float *x, size_t n);

/* The value that `part` of all |x| do not exceed, to the width of a bin. `part` is from 0 to 1. */
double gemm_histogram_percentile(const gemm_histogram *, double part);

/* The clip for which the mean of (x - x in 8 bits)^2 is least. */
double gemm_histogram_least_error(const gemm_histogram *);

#endif
