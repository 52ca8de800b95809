/* SPDX-License-Identifier: MIT */
/* Which candidate `auto` takes: see decide.h. */
#include "tune/decide.h"

static const double MARGIN = .01;

int gemm_decide(const double *ms, int count)
{
    int best = 0;
    for (int i = 1; i < count; ++i)
        if (ms[i] >= 0 && (ms[best] < 0 || ms[i] < ms[best])) best = i;
    const int usual_is_close = ms[0] >= 0 && ms[best] > ms[0] * (1 - MARGIN);
    return usual_is_close ? 0 : best;
}
