/* SPDX-License-Identifier: MIT */
/*
 * Passes of a network, as the host tells of them. A pass belongs to one thread, and so does what is
 * known of it here. Multiplies stay with the chosen row.
 */
#include "driver/pass.h"

#include "driver/driver.h"
#include "driver/start.h"
#include "util/clock.h"
#include "util/own.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static GEMM_OWN struct {
    const gemm_variant *of;     /* the row that was chosen; NULL: no pass, or it has no other row */
    const gemm_variant *first, *row;    /* took the pass; computes the layers now */
    gemm_network network;
    gemm_taker taker;
    bool failed;
    double begin, stopped_ms;   /* below 0: it was not stopped */
} pass;

/* A row that gives itself a pass need not be in the table. */
static const gemm_variant *find(const gemm_variant *giver, const char *name)
{
    return strcmp(name, giver->name) ? gemm_find(name) : giver;
}

void gemm_pass_begin(const void *layers, int count, size_t inputs)
{
    const int before = errno;
    const gemm_variant *v = gemm_chosen();
    const gemm_state *s = gemm_get_state();
    pass.of = NULL;
    pass.first = NULL;
    if (v->passes && s->conv != GEMM_IM2COL) {
        pass.of = v;
        pass.network = (gemm_network){layers, count, inputs, s->threads, s->conv == GEMM_DIRECT};
        pass.taker = v->passes->choose(&pass.network);
        pass.first = pass.row = find(v, v->passes->rows[pass.taker.row]);
        pass.failed = false;
        pass.stopped_ms = -1;
        pass.begin = gemm_now_ms();
    }
    errno = before;
}

void gemm_pass_end(void)
{
    const gemm_variant *v = pass.of;
    if (!v) return;
    const int before = errno;
    pass.of = NULL;
    const double ms = pass.stopped_ms >= 0 ? pass.stopped_ms : gemm_now_ms() - pass.begin;
    v->passes->learn(&pass.network, pass.taker.row, pass.failed ? INFINITY : ms);
    errno = before;
}

const gemm_variant *gemm_pass_row(void)
{
    const gemm_variant *v = gemm_chosen();
    return pass.of == v ? pass.row : v;
}

bool gemm_pass_is_measured(void)
{
    return pass.of && pass.taker.limit_ms < INFINITY;
}

void gemm_pass_go_on(void)
{
    if (!gemm_pass_is_measured() || pass.stopped_ms >= 0) return;
    const double ms = gemm_now_ms() - pass.begin;
    if (ms <= pass.taker.limit_ms) return;
    pass.stopped_ms = ms;
    pass.row = find(pass.of, pass.of->passes->rows[pass.taker.rest]);
}

void gemm_pass_fail(void)
{
    pass.failed = pass.failed || pass.stopped_ms < 0;
}

const gemm_variant *gemm_pass_last(void)
{
    return pass.first;
}
