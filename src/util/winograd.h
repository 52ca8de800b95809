/*
 * The matrices of Winograd's algorithm for 3x3 filters, for all rows that use it. m x m outputs
 * Y = AT [(G g GT) * (BT d B)] A; the points of m = 4 are 0, +-P, +-Q and infinity. With P = 5/8
 * and Q = 3/2 all constants of BT and AT are exact in single precision (docs/convolution.md).
 */
#ifndef GEMM_UTIL_WINOGRAD_H
#define GEMM_UTIL_WINOGRAD_H

/* The points of m = 4, and the factors of G for them. */
#define GEMM_WINOGRAD_P .625f
#define GEMM_WINOGRAD_Q 1.5f
#define GEMM_WINOGRAD_G(p, q) (1 / (2 * (p) * (p) * ((p) * (p) - (q) * (q))))

extern const float gemm_winograd_bt2[], gemm_winograd_g2[], gemm_winograd_at2[];
extern const float gemm_winograd_bt4[], gemm_winograd_g4[], gemm_winograd_at4[];

/* Initializers of a gemm_transform. */
#define GEMM_WINOGRAD_2 {2, gemm_winograd_bt2, gemm_winograd_g2, gemm_winograd_at2}
#define GEMM_WINOGRAD_4 {4, gemm_winograd_bt4, gemm_winograd_g4, gemm_winograd_at4}

#endif
