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
    const gemm_variant *row;    /* computes the layers */
    gemm_network network;
    int number;                 /* of the row, among those of `of` */
    bool failed;
    double begin;
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
    if (v->passes && s->passes && s->conv != GEMM_IM2COL) {
        pass.of = v;
        pass.network = (gemm_network){layers, count, inputs, s->threads, s->conv == GEMM_DIRECT};
        pass.number = v->passes->choose(&pass.network);
        pass.row = find(v, v->passes->rows[pass.number]);
        pass.failed = false;
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
    v->passes->learn(&pass.network, pass.number,
                     pass.failed ? INFINITY : gemm_now_ms() - pass.begin);
    errno = before;
}

const gemm_variant *gemm_pass_row(void)
{
    const gemm_variant *v = gemm_chosen();
    return pass.of == v ? pass.row : v;
}

void gemm_pass_fail(void)
{
    pass.failed = true;
}
