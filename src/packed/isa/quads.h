/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices of whole numbers of 8 bits, with sums in 32 bits.
 *
 * A quad is four of them that follow each other along K, one byte each, the first one in the lowest
 * byte. An M x N x K product is an M x N x K / 4 product of quads. Where K is no multiple of 4, A
 * has zeroes:
 *
 *     a panel of A    quads of mr rows, then the next four of K    | a[0] a[1] ... | a[0] ...
 *     B               quads of columns, from b + at[0] on, then those of the next four, from
 *                     b + at[1] on
 *
 * Sums are exact as long as K is at most 2^16, so all micro-kernels give the same whole numbers.
 * The float that follows, sum * scale + shift, rounds after each operation: it is never fused. So
 * its bits are the same too.
 *
 * B stands for b - zero, and zero is one number for all of B. So sums start at -zero times the sum
 * of the row of A.
 *
 * x86's dot product has a factor without a sign. Bytes of B are then b + 128 (`offset`), and sums
 * start at -(128 + zero) times that sum. They wrap on their way and end right.
 */
#ifndef GEMM_QUADS_H
#define GEMM_QUADS_H

#include "int8/layer.h"
#include "packed/isa/ukernel.h"

#include <string.h>

typedef uint32_t gemm_quad;

enum {
    GEMM_QUADS_MOST_MR = 8, GEMM_QUADS_MOST_VL = 16,
    GEMM_QUADS_SLACK = 16,      /* quads that may be read behind the last column */
    GEMM_QUADS_AHEAD = 8        /* B may come from L2: 8 steps are longer than its latency */
};

/*
 * A tile of the product, and what becomes of it. Pooled, its columns are in pairs: column j of the
 * output is the maximum of columns 2 j and 2 j + 1, each from `at` and from `below`. A float rises
 * with its sum, or falls if the scale is below 0. So the extreme of the four sums gives it.
 */
typedef struct gemm_quads_tile {
    int quads;                  /* of K */
    const gemm_quad *a, *b;     /* a panel; column j of quad p of B is at b[at[p] + j] */
    const size_t *at, *below;   /* quads + GEMM_QUADS_AHEAD. below: NULL without a pool */
    int rows, cols;             /* 1 to mr, 1 to nr: others are computed and not written. Pooled:
                                   2 to vl, a multiple of 2 */
    const int32_t *start;       /* mr: the first value of the sums of a row */
    const float *scale, *shift; /* mr */
    float slope;                /* y > 0 ? y : slope * y for y = sum * scale + shift */
    float *c;                   /* rows are ldc apart */
    size_t ldc;
    int32_t *sums;              /* NULL, or the sums are written here and not to c */
} gemm_quads_tile;

/*
 * A 1x1 layer in nchwc (isa/ukernel.h): a vector of B has the quads of vl channels of the output,
 * and a place has a quad of A for each four channels of the input. Now A has the offset.
 *
 *     b    channels 0 .. vl - 1: | quad 0 | quad 1 | ...    channels vl ..: | quad 0 | ...
 */
typedef struct gemm_quads_nchwc {
    int places, channels, quads;    /* quads of K */
    const gemm_quad *a;         /* quad p of place i: a[p * a_ld + i]. Reads up to GEMM_QUADS_SLACK
                                   behind the last place */
    size_t a_ld;
    const gemm_quad *b;         /* whole vectors: what is behind the last channel does not matter */
    const int32_t *start;       /* a number a channel, in whole vectors; so are the next two */
    const float *scale, *shift;
    float slope;                /* as in gemm_quads_tile */
    float *c;                   /* channel j of place i: c[j / group * c_ld + at[i] + j % group].
                                   Whole vectors are written */
    int group;                  /* a multiple of vl */
    size_t c_ld;
    const int *at;
} gemm_quads_nchwc;

/* The micro-kernels of an instruction set for quads. */
typedef struct gemm_quads {
    const char *name;
    const gemm_ukernel *base;   /* GEMM_ISA names it */
    int mr, nr, vl;
    bool offset;                /* bytes of the image are b + 128 */
    void (*tile)(const gemm_quads_tile *);
    void (*nchwc)(const gemm_quads_nchwc *);
    /* quads[j] has the bytes of gemm_int8_byte for 1 to 4 rows of x that are `ld` apart. Other
       bytes are any. */
    void (*quantize)(int n, int rows, const float *x, size_t ld, float inverse, int zero,
                     gemm_quad *quads);
    /* The same from nchwc: quads[p * ld + i] has channels 4 p .. 4 p + 3 of place i. base_vl:
       floats of a place of x, at most GEMM_QUADS_MOST_VL. */
    void (*quantize_nchwc)(int places, int base_vl, const float *x, float inverse, int zero,
                           gemm_quad *quads, size_t ld);
    bool (*supported)(void);    /* by the processor and the system it runs on */
} gemm_quads;

/* All of this binary, fastest first; the last one runs on every processor. NULL at the end. */
extern const gemm_quads *const gemm_quads_all[];

/* The fastest that this processor runs and that needs no more than the micro-kernels u. */
const gemm_quads *gemm_quads_find(const gemm_ukernel *u);

/* A quad of `zero`, as B has it. */
INLINE gemm_quad gemm_quads_zero(const gemm_quads *q, int zero)
{
    return ((gemm_quad)zero & 255) * 0x01010101 ^ (q->offset ? 0x80808080 : 0);
}

/* What the sums of a row of A start at, where that row's bytes have the sum `bytes`. */
INLINE int32_t gemm_quads_start(const gemm_quads *q, int zero, int32_t bytes)
{
    return -(q->offset ? 128 + zero : zero) * bytes;
}

#endif
