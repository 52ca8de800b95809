/* SPDX-License-Identifier: MIT */
/*
 * Turns: how `auto` and `cl` compare candidates for an op, and which one they take. A candidate is
 * a variant, for `cl` with a form of it. Only this file decides by measured times.
 *
 *   1. Each candidate runs once. Its result must be that of the first one, which is the usual
 *      choice. A layer without weights has no result to compare: its output may be its input.
 *   2. It has a turn. Then those that are not hopeless race. In every round each has one turn, so a
 *      change of the machine's speed hits all. The shortest turn counts, because other programs
 *      only make a turn longer.
 *   3. gemm_decide takes one. A form has to win once more against the usual one: gemm_confirm.
 */
#ifndef GEMM_TURNS_H
#define GEMM_TURNS_H

#include "tune/table.h"

enum { GEMM_CANDIDATES = 8 };            /* the most that race */

typedef struct gemm_candidate {
    gemm_choice choice;
    gemm_cl_probe probe;        /* of a form */
    gemm_kept kept;             /* of a convolution, as in the plan of a layer */
    float *unpooled;            /* the output of a convolution before its pool, or NULL */
    int calls;                  /* in a turn */
    double ms;                  /* the shortest turn, for one call; below 0: it cannot run */
} gemm_candidate;

/* Whoever makes one sets the first members. */
typedef struct gemm_contest {
    const gemm_op *op;
    const gemm_context *from;   /* of the call that is measured */
    gemm_chooser by;            /* `cl`: forms, whose operands stay on the device. Else each call
                                   begins and ends with all of them in memory of the CPU */
    gemm_choice usual;          /* the first candidate */
    bool (*enter)(struct gemm_contest *);   /* tries out all candidates, and makes a list of those
                                   that race. False: nothing is decided */
    void *(*alloc)(size_t);     /* memory that the device shares: gemm_cl_alloc */
    bool (*wait)(void);         /* of forms: until the device has done all. False: it failed */
    bool (*repeat)(struct gemm_contest *, gemm_candidate *, double *ms);    /* of forms: the calls
                                   of a turn of a multiply */
    bool cold;                  /* of forms: before a call of the last turns no cache has an
                                   operand, as in a pass over a network. On a CPU */
    int count;                  /* of candidates */
    gemm_candidate list[GEMM_CANDIDATES];
    /* of turns.c */
    gemm_context context;
    gemm_note note;
    size_t elements;            /* of C, or of the output */
    float *before, *wanted;     /* C before a call; what the usual choice gives */
    float *shift;               /* of the convolution that spoils */
    gemm_candidate spoiler;
} gemm_contest;

/* The entry of the shape. A shape that has none is measured: the winner gets into the table and its
   file, and a line says so. That takes time for tuning (util/budget.h). If that is over, the usual
   row is left there; of forms NULL is returned. NULL also where nothing was decided. C is then as
   before, and an output is undefined. */
const gemm_tuned *gemm_measure(gemm_contest *, const gemm_shape *);

/* Makes the candidate of the choice, runs it, and gives it a turn where its result is right. `best`
   is the time of the fastest one so far, or below 0. gemm_candidate_end follows. */
void gemm_try_out(gemm_contest *, gemm_candidate *, const gemm_choice *, double best);

/* Frees what it kept. */
void gemm_candidate_end(gemm_candidate *);

/* Adds the entry of the usual choice, because the time for tuning is over. NULL when there is no
   room. */
const gemm_tuned *gemm_leave(gemm_chooser, const gemm_shape *, const gemm_choice *usual);

/* Gives all operands to the CPU, but for those of a multiply, which the driver gave. NULL, or why
   what the device had is lost. */
const char *gemm_op_to_cpu(const gemm_op *);

/*
 * Returns the index of the candidate that shall run. ms holds the time of each; below 0: it did not
 * run. The first one is the usual choice. It keeps its place unless another one is faster by more
 * than a hundredth, because a smaller difference may be chance, and by more than `spread`: by which
 * part its own turns differ.
 *
 *   a shape      packed, then the other rows; of `cl` the usual form, then others
 *   a network    the mix of the fastest row of each shape, then each row alone
 *
 * Both are needed. A row that leaves results on the device is cheap only if the same row runs the
 * next layer. So the fastest rows of all shapes may add up to a slower network.
 */
int gemm_decide(const double *ms, int count, double spread);

/*
 * Whether a candidate that won so stays. It took turns with the usual one again, because the
 * shortest of many turns may be chance. parts[i] is its time in round i as a part of the usual
 * one's; below 0: a turn failed. In all rounds but one it must be faster by more than a hundredth.
 * Sorts them.
 */
bool gemm_confirm(double *parts, int count);

#endif
