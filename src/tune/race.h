/* SPDX-License-Identifier: MIT */
/*
 * Turns: how `auto` and `cl` compare candidates.
 *
 * In every round each candidate has one turn, so a change of the machine's speed hits all. The
 * shortest turn counts, because other programs only make a turn longer.
 */
#ifndef GEMM_RACE_H
#define GEMM_RACE_H

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

#endif
