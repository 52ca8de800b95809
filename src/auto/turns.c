/* SPDX-License-Identifier: MIT */
/*
 * Rows in turns: see turns.h.
 *
 * Each row runs once without a clock, because threads wake up, kernels are compiled and weights are
 * transformed then. A row that learns from its calls runs more often (gemm_device.warm_up). Then
 * all race (tune/race.h).
 */
#include "auto/turns.h"

#include "cl/configure.h"
#include "tune/race.h"
#include "util/clock.h"

#include <stdlib.h>

static const double HOPELESS = 3;
static const gemm_race_rules rules = {.turn_ms = .3, .rounds = 15, .enough_ms = 300,
                                      .hopeless = HOPELESS};

/* A row that is measured. */
typedef struct candidate {
    const gemm_variant *row;
    gemm_kept kept;             /* of a convolution, as in the plan of a layer */
    float *unpooled;            /* the output of a convolution before its pool, or NULL */
    int calls;                  /* in a turn */
    double ms;                  /* of one call, before the race; -1: it cannot run */
} candidate;

/* ---- what lies on a device ---- */

/* The driver has given the operands of a multiply to the CPU. */
static int spans_of(const gemm_op *op)
{
    return op->kind == GEMM_MULTIPLY ? 0 : gemm_op_spans(op);
}

/* Gives the inputs to the CPU. After GEMM_CL_CPU_WRITES no device has a copy of them. */
static const char *take_inputs(const gemm_op *op, gemm_cl_cpu_use use)
{
    const char *why = NULL;
    for (int i = 0, count = spans_of(op); i < count - 1 && !why; ++i) {
        const gemm_span s = gemm_op_span(op, i);
        why = gemm_cl_give_to_cpu(s.data, s.bytes, use);
    }
    return why;
}

static const char *take_output(const gemm_op *op, gemm_cl_cpu_use use)
{
    if (!spans_of(op)) return NULL;
    const gemm_span s = gemm_op_span(op, spans_of(op) - 1);
    return gemm_cl_give_to_cpu(s.data, s.bytes, use);
}

const char *gemm_op_to_cpu(const gemm_op *op)
{
    const char *why = take_inputs(op, GEMM_CL_CPU_READS);
    return why ? why : take_output(op, GEMM_CL_CPU_WRITES);
}

/* ---- one row ---- */

/* One call from memory of the CPU. Returns whether its result is there, in memory of the CPU. */
static bool run(candidate *p, const gemm_op *op, const gemm_context *context)
{
    const gemm_variant *v = p->row;
    gemm_note note;
    gemm_context x = *context;
    gemm_clear_note(&note);
    x.note = &note;
    x.first = false;            /* the steady state is measured */
    x.kept = context->kept ? &p->kept : NULL;
    const char *lost = gemm_leaves_outputs(v) ? take_inputs(op, GEMM_CL_CPU_WRITES)
                                              : gemm_op_to_cpu(op);
    if (lost) return false;
    const gemm_status status =
        p->unpooled ? gemm_conv_then_pool(v->run, v->params, op->conv, p->unpooled, &x)
                    : gemm_op_call(op, v, &x);
    return status == GEMM_DONE && !take_output(op, GEMM_CL_CPU_READS);
}

/* Milliseconds of one call, or -1. */
static double time_turn(candidate *p, const gemm_op *op, const gemm_context *x)
{
    const double start = gemm_now_ms();
    for (int i = 0; i < p->calls; ++i)
        if (!run(p, op, x)) return -1;
    return (gemm_now_ms() - start) / p->calls;
}

/* Memory of the kind that Darknet's buffers have under this row. */
static float *take_unpooled(const candidate *p, const conv_call *c)
{
    const size_t bytes = gemm_unpooled_bytes(c);
    float *shared = gemm_is_on_device(p->row) ? gemm_cl_alloc(bytes) : NULL;
    return shared ? shared : malloc(bytes);
}

/* The calls before the first turn. They say how many calls a turn has. */
static void warm_up(candidate *p, const gemm_op *op, const gemm_context *x, double best)
{
    p->calls = 1;
    p->ms = time_turn(p, op, x);
    if (p->ms < 0 && gemm_op_pools(op) && (p->row->kinds & GEMM_LAYERS)) {
        p->unpooled = take_unpooled(p, op->conv);
        if (p->unpooled) p->ms = time_turn(p, op, x);
    }
    const bool hopeless = !gemm_is_on_device(p->row) && best >= 0 && p->ms > HOPELESS * best;
    if (p->ms < 0 || hopeless) return;
    const int learns = op->kind == GEMM_MULTIPLY && p->row->device ? p->row->device->warm_up : 0;
    for (int i = 0; i <= learns && p->ms >= 0; ++i) p->ms = time_turn(p, op, x);
    if (p->ms >= 0) p->calls = gemm_race_calls(&rules, p->ms);
}

/* Who takes turns. */
typedef struct field {
    candidate *list;
    const gemm_op *op;
    const gemm_context *context;
} field;

static double turn_of(void *of, int i)
{
    const field *f = of;
    return time_turn(&f->list[i], f->op, f->context);
}

static void leave(candidate *p)
{
    gemm_drop_kept(&p->kept);
    if (p->unpooled && !gemm_cl_free(p->unpooled)) free(p->unpooled);
}

bool gemm_take_turns(const gemm_op *op, const gemm_context *x, const gemm_variant *const *rows,
                     int count, double *ms)
{
    candidate list[GEMM_TURNS_ROWS];
    double best = -1;
    const gemm_call *g = op->kind == GEMM_MULTIPLY ? op->multiply : NULL;
    float *copy = g ? malloc((size_t)g->M * (size_t)g->N * sizeof(float)) : NULL;
    if ((g && !copy) || take_inputs(op, GEMM_CL_CPU_READS)) return false;
    if (g) gemm_copy_c(g, copy, false);
    for (int i = 0; i < count; ++i) {
        list[i] = (candidate){.row = rows[i]};
        if (x->kept) list[i].kept.room = x->kept->room;
        warm_up(&list[i], op, x, best);
        ms[i] = list[i].ms;
        if (ms[i] >= 0 && (best < 0 || ms[i] < best)) best = ms[i];
    }
    gemm_race(&rules, turn_of, &(field){list, op, x}, ms, count);
    for (int i = 0; i < count; ++i) leave(&list[i]);
    if (g) gemm_copy_c(g, copy, true);
    free(copy);
    return true;
}
