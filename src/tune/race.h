/* SPDX-License-Identifier: MIT */
/*
 * Turns: how `auto` and `cl` compare candidates, and which one they take. Only this file decides by
 * measured times.
 *
 * In every round each candidate has one turn, so a change of the machine's speed hits all. The
 * shortest turn counts, because other programs only make a turn longer.
 */
#ifndef GEMM_RACE_H
#define GEMM_RACE_H

#include <stdbool.h>

enum { GEMM_RACE_ROUNDS = 15 };         /* the most */

typedef struct gemm_race_rules {
    double turn_ms;             /* shorter calls are timed several at once */
    int rounds;
    double enough_ms;           /* all turns together, after some rounds */
    double hopeless;            /* who takes so many times the best has no turn */
} gemm_race_rules;

/* The calls of a turn, where one takes so long. */
int gemm_race_calls(const gemm_race_rules *, double ms);

/*
 * ms[i]: of a call of candidate i before; below 0: it cannot run. It becomes the shortest time.
 * turn(of, i): ms of one call, or -1. Returns by which part the turns of the first candidate
 * differ: their median from the shortest.
 */
double gemm_race(const gemm_race_rules *, double (*turn)(void *of, int i), void *of, double *ms,
                 int count);

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
 * Whether a candidate that won so stays. It took turns with the usual one again, A B B A in a
 * round, because the shortest of many turns may be chance. parts[i] is its time in round i as a
 * part of the usual one's; below 0: a turn failed. In all rounds but one it must be faster by more
 * than a hundredth. Sorts them.
 */
bool gemm_confirm(double *parts, int count);

#endif
