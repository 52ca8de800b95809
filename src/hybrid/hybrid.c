/* SPDX-License-Identifier: MIT */
/*
 * One multiply by two sides, and whole layers by one of them.
 *
 * The device gets the first part. There is much to copy for it. So the caller serves the
 * device, and a worker leads the CPU's part meanwhile. Some workers help with the copies at first,
 * and compute after that (gemm_begin_beside). Where no worker is free, one side computes all.
 *
 * Memory: both sides read all operands, and each writes only to its own part of C. The device
 * writes to memory of its own (gemm_cl_multiply_beside).
 *
 * When the device fails, the CPU computes the device's part too. When the CPU's row declines its
 * part, and the device's result is in C already, the device computes that part. C is
 * then right, or the status is GEMM_FAILED.
 *
 * Source: Wang, Shi, Wen: CNN convolution on mobile GPUs (2018), whose future work this is.
 */
#include "hybrid/hybrid.h"

#include "hybrid/share.h"
#include "hybrid/side.h"
#include "op/op.h"
#include "util/clock.h"
#include "util/ints.h"
#include "util/text.h"
#include "util/threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* With fewer multiplications a call ends before a device has begun: a launch takes 20 to 300
   microseconds. */
static const double LEAST_WORK = 4e6;

/* ---- the parts of a call ---- */

/* Else rows of A and C are cut. The operand that is not cut is copied as a whole, so the larger one
   is cut. */
static bool cuts_columns(const gemm_call *g)
{
    return g->N >= g->M;
}

/* Elements `first` to `end` - 1 of what is cut. */
static gemm_call part_of(const gemm_call *g, int first, int end)
{
    const size_t from = (size_t)first;
    gemm_call own = *g;
    if (cuts_columns(g)) {
        own.N = end - first;
        own.B += g->TB ? from * (size_t)g->ldb : from;
        own.C += from;
    } else {
        own.M = end - first;
        own.A += g->TA ? from : from * (size_t)g->lda;
        own.C += from * (size_t)g->ldc;
    }
    return own;
}

/* A cut falls on a multiple of this, so that whole tiles of both sides cover the parts. It is the
   largest power of 2 up to 64 of which `count` has 8. */
static int cut_unit(int count)
{
    int unit = 64;
    while (unit > 1 && count / unit < 8) unit /= 2;
    return unit;
}

/* Where a share of 0 to 1 cuts. A share between them leaves each part a unit. */
static int cut_at(int count, double share)
{
    const int unit = cut_unit(count);
    if (share <= 0 || count < 2) return 0;
    if (share >= 1) return count;
    const int units = (int)lround(share * count / unit);
    return min_int(max_int(units, 1), (count - 1) / unit) * unit;
}

/* ---- the two sides ---- */

/* One call of the row while it runs. */
typedef struct hybrid_run {
    const gemm_hybrid_sides *sides;
    const gemm_call *call;
    const gemm_context *context;
    int count, cut;             /* of what is cut; the device has the elements below `cut` */
    gemm_note device_note;
    gemm_status cpu_status;     /* of a CPU's part beside the device's */
    double begin;
    gemm_shared_times times;
} hybrid_run;

static gemm_status run_on_cpu(const hybrid_run *r, int first, int end, int threads)
{
    const gemm_variant *cpu = &r->sides->cpu;
    const gemm_call part = part_of(r->call, first, end);
    gemm_context own = *r->context;
    own.threads = threads;
    return cpu->multiply(&part, &own, cpu->params);
}

static gemm_status run_on_device(hybrid_run *r, int first, int end)
{
    const gemm_call part = part_of(r->call, first, end);
    gemm_context own = *r->context;
    gemm_clear_note(&r->device_note);
    own.note = &r->device_note;
    return r->sides->beside(&part, &own, r->sides->device.params);
}

/* ---- one call ---- */

/* The CPU's row has filled in its algorithm. */
static void note_cpu(const hybrid_run *r)
{
    gemm_note *note = r->context->note;
    snprintf(note->ran, sizeof note->ran, "%s", r->sides->cpu.name);
}

static void note_both(const hybrid_run *r)
{
    const gemm_note *device = &r->device_note;
    const bool cpu = r->cut < r->count;
    gemm_note *note = r->context->note;
    char kernel[32] = "";
    sscanf(device->ran, "%31s", kernel);
    note->ran[0] = '\0';
    gemm_append(note->ran, sizeof note->ran, "%s %.2f%s%s", kernel, r->times.share,
                cpu ? " + " : "", cpu ? r->sides->cpu.name : "");
    note->kernel_ms = device->kernel_ms;
    note->copied_a = device->copied_a;
    note->copied_b = device->copied_b;
    note->copied_c = device->copied_c;
}

static gemm_status run_whole_on_cpu(hybrid_run *r)
{
    const gemm_status status = run_on_cpu(r, 0, r->count, r->context->threads);
    r->times.share = 0;
    note_cpu(r);
    return status;
}

/* The CPU's part is right, and the device's was not computed. */
static gemm_status replace_device(const hybrid_run *r)
{
    const gemm_status status = run_on_cpu(r, 0, r->cut, r->context->threads);
    note_cpu(r);
    if (status == GEMM_DONE || r->cut == r->count) return status;
    return gemm_fail(r->context->note,
                     "the device failed, and the CPU cannot compute the device's part");
}

/* The device's part is right, and the CPU declined its own. */
static gemm_status replace_cpu(hybrid_run *r)
{
    if (run_on_device(r, r->cut, r->count) != GEMM_DONE)
        return gemm_fail(r->context->note,
                         "the CPU declined its part, and the device cannot compute it");
    r->cut = r->count;
    r->times.share = 1;
    r->times.first = true;      /* the times are not those of a share */
    note_both(r);
    return GEMM_DONE;
}

/* ---- both at once ---- */

static void run_cpu_beside(void *run)
{
    hybrid_run *r = run;
    r->cpu_status = run_on_cpu(r, r->cut, r->count, r->context->threads - 1);
}

/* The device's part; beside the CPU's after gemm_begin_beside. */
static gemm_status run_cut(hybrid_run *r, bool beside)
{
    gemm_shared_times *t = &r->times;
    const gemm_status device = run_on_device(r, 0, r->cut);
    if (beside) gemm_end_beside();
    t->failed = device != GEMM_DONE;
    if (device == GEMM_FAILED) return gemm_fail(r->context->note, r->device_note.reason);
    if (r->cpu_status != GEMM_DONE) return t->failed ? run_whole_on_cpu(r) : replace_cpu(r);
    if (t->failed) return replace_device(r);
    note_both(r);
    return GEMM_DONE;
}

/* Where no worker is free, the side with the larger part gets all. This says nothing of the
   share. */
static gemm_status run_both(hybrid_run *r)
{
    enum { HELPERS = 3 };
    const int threads = r->context->threads, count = r->count;
    if (r->cut < count &&
        gemm_begin_beside(threads, min_int(HELPERS, threads / 2 - 1), run_cpu_beside, r))
        return run_cut(r, true);
    r->times.first = r->cut < count;
    r->cut = 2 * r->cut >= count ? count : 0;
    r->times.share = r->cut > 0;
    return r->cut > 0 ? run_cut(r, false) : run_whole_on_cpu(r);
}

/* Why the device's part, the elements below `cut`, should wait; or NULL. */
static const char *ask_later(const gemm_hybrid_sides *s, const gemm_call *c, int cut,
                             const gemm_context *context)
{
    const gemm_call part = part_of(c, 0, cut);
    const gemm_op op = gemm_op_of_multiply(&part);
    return context->never_waits && s->later ? s->later(&op, context, s->device.params) : NULL;
}

gemm_status gemm_hybrid(const gemm_call *c, const gemm_context *context, const void *params)
{
    const gemm_hybrid_sides *sides = params;
    const gemm_op op = gemm_op_of_multiply(c);
    const int count = cuts_columns(c) ? c->N : c->M;
    const gemm_shape shape = gemm_op_shape(&op, context);
    const bool forced = sides->forced >= 0, small = gemm_op_flop(&op) / 2 < LEAST_WORK;
    const double unit = (double)cut_unit(count) / count;
    const double step = context->threads > 1 ? unit : 1;
    const double share = forced ? sides->forced : small ? 0 : gemm_share_of(&shape, step);
    const int wanted = cut_at(count, share);
    const char *later = wanted > 0 ? ask_later(sides, c, wanted, context) : NULL;
    const int cut = later ? 0 : wanted;
    hybrid_run r = {.sides = sides, .call = c, .context = context, .count = count, .cut = cut,
                    .begin = gemm_now_ms(), .times.share = (double)cut / count};
    const gemm_status status = cut > 0 ? run_both(&r) : run_whole_on_cpu(&r);
    r.times.call_ms = gemm_now_ms() - r.begin;
    if (!forced && !small && !later && (status == GEMM_DONE || r.times.failed))
        gemm_share_learn(&shape, &r.times);
    if (context->timed && !forced)
        gemm_weigh_before(context->note, small ? "too small for two sides" : later ? later
                                         : "the share is learned from the calls of a shape");
    return status;
}

/* ---- whole layers ---- */

/* While the device's programs are compiled it is the CPU, for this reason. */
static const gemm_variant *side_of(const gemm_hybrid_sides *s, const gemm_op *op,
                                   const gemm_context *context, const char **later)
{
    const bool forced = s->forced >= 0;
    const gemm_variant *v = !forced ? gemm_faster_side(&s->cpu, &s->device, context, later)
                            : s->forced >= .5 ? &s->device : &s->cpu;
    if (v == &s->device) *later = gemm_asks_later(v, op, context);
    return *later ? &s->cpu : v;
}

/* "cl: 3.41 of packed at a multiply" */
static void weigh_sides(const gemm_hybrid_sides *s, const char *later, gemm_note *note)
{
    char text[96] = "";
    if (later) gemm_weigh_before(note, later);
    if (later || s->forced >= 0) return;
    gemm_append(text, sizeof text, "%s: %.2f of %s at a multiply", s->device.name,
                gemm_side_ratio(), s->cpu.name);
    gemm_weigh_before(note, text);
}

/* The trace names the side where its row names no kernel. */
gemm_status gemm_hybrid_run(const gemm_op *op, const gemm_context *context, const void *sides)
{
    const char *later = NULL;
    const gemm_variant *v = side_of(sides, op, context, &later);
    const gemm_status status = v->run(op, context, v->params);
    gemm_note *note = context->note;
    if (!note->ran[0]) snprintf(note->ran, sizeof note->ran, "%s", v->name);
    if (context->timed) weigh_sides(sides, later, note);
    return status;
}

/* ---- where the row can run ---- */

const char *gemm_hybrid_limits(const void *sides)
{
    const gemm_variant *device = &((const gemm_hybrid_sides *)sides)->device;
    return device->device->limits(device->params);
}
