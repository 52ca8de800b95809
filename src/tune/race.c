/* SPDX-License-Identifier: MIT */
/* Candidates in turns: see race.h. */
#include "tune/race.h"

#include "util/clock.h"

#include <stdlib.h>

enum { LEAST_ROUNDS = 3 };

int gemm_race_calls(const gemm_race_rules *r, double ms)
{
    return ms < r->turn_ms ? (int)(r->turn_ms / (ms + 1e-3)) + 1 : 1;
}

static double best_of(const double *ms, int count)
{
    double best = -1;
    for (int i = 0; i < count; ++i)
        if (ms[i] >= 0 && (best < 0 || ms[i] < best)) best = ms[i];
    return best;
}

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double gemm_race(const gemm_race_rules *r, double (*turn)(void *of, int i), void *of, double *ms,
                 int count)
{
    double first[GEMM_RACE_ROUNDS];
    int turns = 0;
    const double start = gemm_now_ms();
    for (int round = 0; round < r->rounds;) {
        const double best = best_of(ms, count);
        for (int i = 0; i < count; ++i) {
            const int n = (i + round) % count;      /* nobody always follows the same one */
            if (ms[n] < 0 || ms[n] > r->hopeless * best) continue;
            const double now = turn(of, n);
            if (!n) first[turns++] = now;
            if (now < ms[n]) ms[n] = now;
        }
        if (++round >= LEAST_ROUNDS && gemm_now_ms() - start > r->enough_ms) break;
    }
    qsort(first, (size_t)turns, sizeof *first, compare_numbers);
    return turns && first[0] > 0 ? first[turns / 2] / first[0] - 1 : 0;
}
