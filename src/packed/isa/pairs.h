/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices with operands of 16 bits: bfloat16, or IEEE's half precision, fp16.
 *
 * Two halves that follow each other along K are a pair, 32 bits, the first one in the lower half:
 *
 *     A by rows       | a[i][0] a[i][1] | a[i][2] a[i][3] | ...      a pair is as large as a float
 *     B by rows       | b[0][j] b[1][j] | b[0][j+1] b[1][j+1] | ...  the next row: b[2], b[3]
 *
 * So an M x N x K product is an M x N x K/2 product of pairs. All loops of the packed gemm, and all
 * that packs strips from an image, move 32 bits and do not look at them. They are those of
 * `packed`. Only the micro-kernel's multiply-add differs: c += a[0] * b[0] + a[1] * b[1]. Where K
 * is odd, the last pair's upper half is 0.
 *
 * Rounding: to nearest, ties to even. NaN stays NaN. The processors' own instructions round so, and
 * they decide.
 *
 *   bfloat16    the upper half of a float. An operand below FLT_MIN becomes 0 with its sign. One
 *               that is 2^-9 of itself or less below 2^128 becomes infinite.
 *   fp16        11 binary digits, multiples of 2^-24. From 65520 on an operand becomes infinite.
 */
#ifndef GEMM_PAIRS_H
#define GEMM_PAIRS_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

#include <stdbool.h>
#include <stdint.h>

/* The floats of A and B are pairs: for arrays of float that hold them. */
typedef uint32_t __attribute__((may_alias)) gemm_pair;

enum { GEMM_PAIRS_MOST_K = 1024 };

typedef enum gemm_format {
    GEMM_BF16,
    GEMM_FP16
} gemm_format;

/*
 * The sums of a convolution whose input lies in blocks of channels, with channels last. A pixel of
 * a block is `pairs` pairs (packed/half/blocks.c). A strip is one or two vectors of filters. Up to
 * GEMM_BLOCKS_MORE places behind the last one are read, and sums are written there.
 */
enum { GEMM_BLOCKS_MORE = 16 };

typedef struct gemm_blocks {
    int places, vectors;
    int pairs, steps;           /* a step is a block under a tap */
    const int *at;              /* step s, place i and pair p: image[at[s] + i * apart + p] */
    const gemm_pair *image;
    size_t apart;
    const gemm_pair *weights;   /* steps x pairs x (vectors * vl) */
    const gemm_pair *next;      /* as many, which are read later: fetched. NULL: none */
    bool far;                   /* the weights are not near yet */
    float *sums;                /* place i and filter f: sums[2 * vl * i + f] */
} gemm_blocks;

/* A row of the output of a vector of filters: f(scale * sum + shift), f as in gemm_tile. */
typedef struct gemm_blocks_row {
    int places, channels;       /* channels: filters, 1 .. vl */
    const float *sums;          /* of the first place */
    const float *below;         /* of the row below: y has maxima as max_pairs; NULL: no pool */
    const float *scale, *shift; /* a float a channel; scale may be NULL */
    float slope;
    float *y;                   /* places x vl */
} gemm_blocks_row;

typedef struct gemm_blocks_kernels {
    /* n pixels of a row, of the channels from src on, which are `area` floats apart. Zeroes follow
       the last channel. pairs is 8 or 16. */
    void (*fill)(int n, int channels, int pairs, const float *src, size_t area, gemm_pair *to);
    void (*sums)(const gemm_blocks *);
    void (*finish)(const gemm_blocks_row *);
} gemm_blocks_kernels;

/* The micro-kernels of an instruction set for pairs. */
typedef struct gemm_pairs {
    const char *name;           /* ends with _ and the format, such as avx512_bf16 */
    gemm_format format;
    const gemm_ukernel *base;   /* moves 32 bits, and computes what is not in pairs */
    gemm_multiply_kernels multiply;     /* of pairs */
    /* 0: the multiply has the base's sizes. Else its own, as in gemm_ukernel, and A is in panels */
    int mr, kc, k_unit;
    bool only_in_l2;            /* L3 is too slow for A: see gemm_a_home */
    /* Arranges a panel of mr rows, of which there are `rows`: K steps of mr pairs, k_unit steps and
       then the next ones. Pair (i, p) is a[i * a_row + p * a_step]. NULL: the multiply reads A as
       the base does. */
    void (*panel)(int rows, int K, const gemm_pair *a, size_t a_row, size_t a_step, gemm_pair *to);
    float most_product;         /* with larger ones a sum of 16 bits might become infinite; 0: sums
                                   are floats */
    gemm_rounding sums;         /* how those of 16 bits round, beside the operands */
    double part;                /* of the time of a product in single precision, at large sizes */
    /* A product in nchwc whose A is in floats, and is rounded. Of the K rows of a strip of b only
       the first half is read, and they are pairs. K is at most GEMM_PAIRS_MOST_K, and an even
       number where A is in nchwc. NULL: products in nchwc stay in single precision. */
    void (*nchwc)(const gemm_nchwc *);
    gemm_product_cost nchwc_cost;
    const gemm_blocks_kernels *blocks;  /* NULL: none */
    /* pairs[j] has low[j] and high[j], j < n. high NULL stands for zeroes. */
    void (*rows)(int n, const float *low, const float *high, gemm_pair *pairs);
    /* pairs[p] has x[2 * p] and x[2 * p + 1], for n floats; of an odd n, the last pair has one */
    void (*along)(int n, const float *x, gemm_pair *pairs);
    bool (*supported)(void);    /* by the processor and the system it runs on */
} gemm_pairs;

/* All of this binary, in each format fastest first; its last one runs on every processor. NULL at
   the end. */
extern const gemm_pairs *const gemm_pairs_all[];
extern const gemm_pairs gemm_pairs_portable_fp16;

/* The fastest of a format that this processor runs and whose base is u, or the portable one. */
const gemm_pairs *gemm_pairs_find(gemm_format, const gemm_ukernel *u);

/* The base with the products of pairs. It lives as long as the program. */
const gemm_ukernel *gemm_pairs_ukernel(const gemm_pairs *);

#endif
