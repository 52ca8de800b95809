/* SPDX-License-Identifier: MIT */
/*
 * All decisions about a job, made once before it begins: block sizes, what is packed, and the
 * rectangles of C that the threads compute.
 */
#ifndef PACKED_PLAN_H
#define PACKED_PLAN_H

#include "packed/gemm/job.h"
#include "util/caches.h"

/* Floats in a page of 4 KiB. */
enum { PAGE = 1024 };

/* A strip of B with fewer steps of K is finished before memory delivers the next but one. */
enum { FEW_STEPS = 64 };

/* ---- LOOP 5: the rectangles of C that the threads compute (cut.c) ---- */

/*
 * C in steps of m_step rows and n_step columns. The first `doubles` rectangles are two steps of a
 * grid that has one row or one column, and all others are one step.
 */
typedef struct packed_grid {
    int M, columns;
    int m_step, n_step;
    int across;                 /* steps from left to right */
    int doubles;
    int chunks;                 /* the number of rectangles */
} packed_grid;

/* One thread's part of C: rows i0 .. i1 and columns j0 .. j1. */
typedef struct packed_rectangle {
    int i0, i1, j0, j1;
    bool upwards;               /* its panels are computed from the last to the first */
} packed_rectangle;

/* The grid for the first columns of C. The thread with the last of them also computes the `tail`
   columns behind them. */
packed_grid packed_cut(int M, int columns, int tail, int K, const gemm_ukernel *, int threads);

/* Rectangle number `chunk`, 0 .. chunks-1. No other has more rows than number 0. */
packed_rectangle packed_get_rectangle(const packed_grid *, int chunk);

/* ---- the plan ---- */

typedef struct packed_plan {
    const packed_job *job;
    const gemm_ukernel *u;

    /* These decide in which order the products of an element of C are added. They depend on the
       job alone, so the result does not depend on the number of threads. */
    int kc;                     /* the step of loop 3: all of K in parts of this size */
    int tail;                   /* so many tail columns of C are multiplied along K, see plan.c */

    /* These decide the speed alone, and depend on the rectangles too. */
    packed_grid grid;           /* loop 5: the rectangles, without the tail columns */
    bool packs_a;
    bool sweeps;                /* loop 1 is in the micro-kernel, see gemm_sweep */
    int mc;                     /* the step of loop 4, a multiple of mr */
    int nr;                     /* the step of loop 2: u->nr, or u->wide */
    int run;                    /* so many strips side by side are fetched as one, row by row */
    bool passes_l3;             /* B is fetched past L3, which has more use for C */
} packed_plan;

packed_plan packed_make_plan(const packed_job *, const gemm_ukernel *, int threads);

/* For one thread and a part of the job that `whole` was made for: some rows and some columns. Each
   element has the bits that it has in the whole. The part begins at a multiple of mr rows and of
   tail_unit columns. Its columns are the last ones, or a multiple of tail_unit. */
packed_plan packed_make_part(const packed_job *part, const packed_plan *whole);

/* How many of `threads` threads, at least 1, a call of this size should use. */
int packed_threads(int M, int N, int K, int threads);

/* Whether a sum over K has one block in every plan of reproducible kernels. Then a way that adds
   all products in order of K gives the bits of a packed gemm. Other kernels do not promise that. */
bool packed_adds_alike(int K, const gemm_ukernel *);

/* The largest kc of any plan. */
int packed_longest_kc(const gemm_ukernel *);

#endif
