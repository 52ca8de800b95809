/* SPDX-License-Identifier: MIT */
/* Candidates in turns: see race.h. */
#include "tune/race.h"

#include "util/clock.h"

#include <stdlib.h>

enum { LEAST_ROUNDS = 3 };
static const double LEAST_GAIN = .01;

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

int gemm_decide(const double *ms, int count, double spread)
{
    const double margin = spread > LEAST_GAIN ? spread : LEAST_GAIN;
    int best = 0;
    for (int i = 1; i < count; ++i)
        if (ms[i] >= 0 && (ms[best] < 0 || ms[i] < ms[best])) best = i;
    const bool usual_is_close = ms[0] >= 0 && ms[best] >= ms[0] * (1 - margin);
    return usual_is_close ? 0 : best;
}

bool gemm_confirm(double *parts, int count)
{
    qsort(parts, (size_t)count, sizeof *parts, compare_numbers);
    return parts[0] >= 0 && parts[count - 2] < 1 - LEAST_GAIN;
}
