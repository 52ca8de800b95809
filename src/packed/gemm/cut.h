/* SPDX-License-Identifier: MIT */
/* LOOP 5: the rectangles of C that the threads compute. */
#ifndef PACKED_CUT_H
#define PACKED_CUT_H

#include "packed/gemm/job.h"

/*
 * C in steps of m_step rows and n_step columns. All steps across but the first begin `shift`
 * columns early. The first `doubles` rectangles are two steps of a grid that has one row or one
 * column, and all others are one step.
 */
typedef struct packed_grid {
    int M, columns;
    int m_step, n_step;
    int across;                 /* steps from left to right */
    int shift;
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

#endif
