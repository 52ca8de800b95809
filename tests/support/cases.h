/* SPDX-License-Identifier: MIT */
/* Random cases as one test of a program. */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include "support/judge.h"
#include "support/options.h"
#include "support/report.h"

/* Draws a case and judges it: NULL, or what is wrong. The text says which case it is. */
typedef const char *judge_case(void *subject, rng *, int number, char text[JUDGE_TEXT]);

typedef struct random_cases {
    const char *name;           /* of the test */
    const char *repeat;         /* the program and its options, but for --seed and --case */
    uint64_t stream;            /* the random numbers of case 0; those of the others follow */
    int count;                  /* unless --case names one */
    judge_case *judge;
    void *subject;
    const int *ran;             /* counts cases that did not decline: all of them need `least` */
    int least;
} random_cases;

/* Up to the first one that is wrong. Returns whether none is. */
static inline bool judge_cases(const random_cases *c, const test_options *o)
{
    const int only = o->only_case, last = only < 0 ? c->count : only + 1;
    for (int i = only < 0 ? 0 : only; i < last; ++i) {
        char text[JUDGE_TEXT] = "";
        rng r = rng_make(o->seed, c->stream + (uint64_t)i);
        const char *wrong = c->judge(c->subject, &r, i, text);
        if (!wrong) continue;
        report_fail(c->name, "%s; %s; repeat with: %s --seed %llu --case %d", wrong, text,
                    c->repeat, (unsigned long long)o->seed, i);
        return false;
    }
    const int ran = c->ran && only < 0 ? *c->ran : c->least;
    report_that(c->name, ran >= c->least, "only %d of %d cases ran", ran, c->count);
    return ran >= c->least;
}

#endif
