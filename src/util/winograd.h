/* SPDX-License-Identifier: MIT */
/*
 * Winograd's algorithm for 3x3 filters of stride 1, as far as it is the same in all rows that use
 * it: the matrices, and when it is faster than the direct way.
 *
 * The points of m = 4 are 0, +-P, +-Q and infinity. With P = 5/8 and Q = 3/2 all constants of BT
 * and AT are exact in single precision (docs/packed-ways.md).
 */
#ifndef GEMM_UTIL_WINOGRAD_H
#define GEMM_UTIL_WINOGRAD_H

#include <stdbool.h>

/*
 * m x m outputs Y from n x n inputs d, n = m + 2, and a filter g: Y = AT [(G g GT) * (BT d B)] A,
 * where * is element by element. GEMM_CHECK derives the error bound from it.
 */
typedef struct gemm_transform {
    int m;
    const float *BT;            /* n x n */
    const float *G;             /* n x 3 */
    const float *AT;            /* m x n */
} gemm_transform;

/* The points of m = 4, and the factors of G for them. */
#define GEMM_WINOGRAD_P .625f
#define GEMM_WINOGRAD_Q 1.5f
#define GEMM_WINOGRAD_G(p, q) (1 / (2 * (p) * (p) * ((p) * (p) - (q) * (q))))

/* The matrices of m = 2 or 4. */
const gemm_transform *gemm_winograd_transform(int m);

/* What decides how long an image takes. */
typedef struct gemm_winograd_layer {
    int channels, filters, out_h, out_w;
    int vector;                 /* floats that are multiplied at a time */
    int together[2];            /* images that share a reading of U, with m = 2 and with m = 4 */
    int images;                 /* U has to be made, and serves so many images. 0: it is kept */
} gemm_winograd_layer;

/* What was measured of a row's kernels, in multiplications of a vector. */
typedef struct gemm_winograd_cost {
    double element[2];          /* to transform an element of V or M, with m = 2 and with m = 4 */
    double bytes;               /* so many bytes of filters or U come in the time of one */
    bool fetched;               /* they come while others are multiplied, not before */
    double prepare;             /* to make an element of U in a cache */
} gemm_winograd_cost;

/* The m that computes the layer fastest, 2 or 4. 0: a product without transforms does. */
int gemm_winograd_fastest(const gemm_winograd_layer *, const gemm_winograd_cost *);

/* The time with m over that of the product without transforms. */
double gemm_winograd_ratio(const gemm_winograd_layer *, const gemm_winograd_cost *, int m);

#endif
