/* SPDX-License-Identifier: MIT */
/*
 * Strips of B: where each one is, how it gets near, and which one comes next.
 *
 * While the panels of A run over one strip, the micro-kernel also copies the next strip to the
 * other of two buffers. It does a row every few steps, and fetches the strip after that to L2. From
 * a large B it fetches a group of strips, row by row. Spread like this, the copy hides behind the
 * FMAs, and memory has time to deliver. Without a copy, rows of B that are far apart fall into one
 * set of L1, and each panel would miss them again.
 */
#ifndef PACKED_STRIP_H
#define PACKED_STRIP_H

#include "packed/gemm/plan.h"

/* The parts of a thread's scratch memory. */
typedef struct packed_scratch {
    float *strip;               /* the strip in use, kc x nr */
    float *next_strip;          /* the next strip, which is copied meanwhile */
    float *tail;                /* the tail columns of B, each kc long */
    float *a;                   /* a packed block of A, mc x kc */
} packed_scratch;

/* A strip of B, kc x nc, and the block of A that it is multiplied by. nc = 0: there is none. */
typedef struct packed_strip {
    int ic, mc, pc, kc, jr, nc;
} packed_strip;

/* One thread at work in its rectangle. */
typedef struct packed_walk {
    const packed_plan *plan;
    packed_rectangle r;
    packed_scratch scratch;
    int tail;                   /* so many tail columns lie behind the rectangle */
    packed_strip next, fetched; /* the strip after the one in use, and the one to be fetched */
    bool copied;                /* scratch.strip already holds the strip in use */
} packed_walk;

/* How the micro-kernel reads a strip: row p begins at b + p * row. */
typedef struct packed_b_strip {
    const float *b;
    size_t row;
} packed_b_strip;

packed_walk packed_begin(const packed_plan *, packed_rectangle, void *scratch);

/* The strip that begins there. */
packed_strip packed_strip_at(const packed_walk *, int ic, int pc, int jr);

/* Whether the tail columns of the rectangle are right behind the strip. */
bool packed_has_tail(const packed_walk *, const packed_strip *);

/* From one tail column in scratch.tail to the next. */
size_t packed_tail_ld(const packed_walk *, const packed_strip *);

/* Makes the strip readable, and the tail columns if they are behind it. */
packed_b_strip packed_bring(const packed_walk *, const packed_strip *);

/* What the tiles of this strip do for the strips after it. moves.copy is not NULL if they copy the
   next one to scratch.next_strip. */
gemm_moves packed_plan_moves(const packed_walk *, const packed_strip *);

/* Goes on to the next strip. copied: it is now in scratch.next_strip. */
void packed_turn(packed_walk *, bool copied);

#endif
