/* SPDX-License-Identifier: MIT */
/*
 * A job of the packed gemm: C += alpha * A * B with two parts that the caller may replace. One is
 * where B comes from, the other is what happens to a finished tile of C. A multiply and a
 * convolution are both such jobs.
 */
#ifndef PACKED_JOB_H
#define PACKED_JOB_H

#include "packed/isa/ukernel.h"

#include <stdbool.h>
#include <stddef.h>

/* Where B (K x N) comes from. One of `rows`, `columns`, `strips` and `pack` is set. */
typedef struct packed_b {
    const float *rows;          /* element (p, j) is rows[p * ld + j] */
    const float *columns;       /* element (p, j) is columns[j * ld + p] */
    const float *strips;        /* packed before: strips of ld columns, K x ld each, one behind the
                                   other; ld is a multiple of vl, at most nr, and divides N or
                                   leaves a multiple of vl, which lies in a whole strip */
    const float *after;         /* strips: NULL, or the first strip of the job that the thread runs
                                   next, of as many columns and rows. It is fetched to L2 */
    size_t ld;
    /*
     * Writes B[p0 .. p0+kc, j0 .. j0+nc] to a strip of u->nr columns: element (p0 + p, j0 + j) goes
     * to strip[p * u->nr + j]. Columns nc .. u->nr of the strip become 0. Several threads call it
     * at once.
     */
    void (*pack)(const struct packed_b *, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                 float *strip);
    const void *source;         /* for pack */
} packed_b;

/* What happens to a tile of the product AB. */
typedef struct packed_epilogue {
    float alpha;
    bool overwrite;             /* C = alpha AB, and C is never read; else C += alpha AB */
    /*
     * If shift is not NULL, row i of the complete C becomes f(scale[i] * C + shift[i]) before it is
     * written. scale NULL stands for 1. f(x) is x > 0 ? x : slope * x.
     */
    const float *scale, *shift;
    float slope;
    /*
     * NULL, or a matrix like C, with rows as far apart. Then shift is not NULL, slope is 1 and
     * `overwrite` is true. C becomes g(C + shortcut), with shortcut_slope in g as slope in f.
     */
    const float *shortcut;
    float shortcut_slope;
    /*
     * NULL, or called once for each part of C when the part is complete and still in L1 or L2: a
     * tile or some of them. It has rows i0 .. i0+rows and columns j0 .. j0+cols, and c is its first
     * element. Several threads call it at once.
     */
    void (*finish)(const struct packed_epilogue *, int i0, int rows, int j0, int cols, float *c,
                   size_t ldc);
    const void *data;           /* for finish */
} packed_epilogue;

/* A thread at work on a job uses so much of its scratch, from the beginning. */
enum { PACKED_SCRATCH_BYTES = 640 * 1024 };

typedef struct packed_job {
    int M, N, K;                /* at least 1 */
    const float *A;             /* element (i, p) is A[i * a_row + p * a_step] */
    size_t a_row, a_step;       /* one of them is 1 */
    size_t a_panel;             /* 0, or A was packed before: mr rows begin at A + n * a_panel */
    packed_b B;
    float *C;
    size_t ldc;
    packed_epilogue epilogue;
} packed_job;

#endif
