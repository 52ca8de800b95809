/* SPDX-License-Identifier: MIT */
/*
 * Kernels on the queue, and how a call ends.
 *
 * A launch leaves an event only where its time is wanted, or where no later command of the call has
 * one, because the driver needs time for an event. The command that waits for the launches has one
 * (cl/device/pending.h).
 *
 * Only the last launch of a call writes C. Where a multiply takes several launches, they make parts
 * in scratch memory, and the last one adds the parts. So a failure before it leaves C as it was.
 */
#include "cl/op/launch.h"

#include "cl/device/pending.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gemm_cl_work gemm_cl_begin_work(const gemm_cl_row *row)
{
    gemm_cl_forget_failure();
    return (gemm_cl_work){.device = gemm_cl_opened(), .policy = gemm_cl_memory_policy(),
                          .row = row, .parts = 1, .copy_threads = 1};
}

void gemm_cl_share_copies(gemm_cl_work *w, const gemm_context *context)
{
    if (!w->policy->shares) w->copy_threads = context->threads;
}

gemm_cl_view gemm_cl_dense_view(const gemm_cl_work *w, const float *host, size_t rows, size_t cols,
                                bool later)
{
    return (gemm_cl_view){.host = (float *)host, .rows = rows, .cols = cols, .ld = cols,
                          .later = later, .threads = w->copy_threads};
}

/* ---- the row's kernel ---- */

/* The items that a group of the row has at least. */
static int least_group(const gemm_cl_row *row)
{
    return row->family->any_group ? 1 : row->wx * row->wy * max_int(row->slices, 1);
}

const char *gemm_cl_why_refused(const gemm_cl_work *w)
{
    const gemm_cl_row *row = w->row;
    const gemm_cl_traits *t = &w->device->traits;
    const int items = least_group(row);
    if ((row->family->way == GEMM_CL_IMAGE || row->texture) &&
        (!t->images || w->device->image_height < 4))
        return "the OpenCL device has no images";
    if (row->half && !t->half_images) return "the OpenCL device has no images of half-floats";
    if (row->half == GEMM_CL_HALF_SUMS && !t->fp16)
        return "the OpenCL device has no half-float arithmetic (cl_khr_fp16)";
    if (items > t->group) return "the OpenCL device has smaller work-groups than the kernel";
    /* Not left to the driver, because PoCL 6 says that kernels take no local memory. */
    if (max_int(row->local, gemm_cl_winograd_tile(row) * row->rows) > t->local)
        return "the OpenCL device has less local memory than the kernel needs";
    if (!w->program) return NULL;
    if (items && (size_t)items > w->program->group_items)
        return "the OpenCL device has smaller work-groups for the kernel than it needs";
    if (w->program->local > (cl_ulong)t->local)
        return "the OpenCL device has less local memory than the kernel needs";
    return NULL;
}

/* Adds " text", or nothing for NULL and for "". */
static void add_defines(gemm_text *options, const char *text)
{
    if (text && *text) gemm_text_add(options, " %s", text);
}

static void add_options(const gemm_cl_work *w, gemm_text *options)
{
    const gemm_cl_row *row = w->row;
    gemm_text_add(options, " -DROWS=%d -DCOLS=%d", row->rows, row->cols);
    if (row->wx) gemm_text_add(options, " -DWX=%d -DWY=%d", row->wx, row->wy);
    if (row->depth) gemm_text_add(options, " -DBK=%d", row->depth);
    if (row->slices) gemm_text_add(options, " -DSLICES=%d", row->slices);
    add_defines(options, row->defines);
    if (!w->device->traits.unified) add_defines(options, row->family->discrete);
}

/* Whether registers spill. A CPU keeps every private array in memory and says so, but there it does
   not mean a slow kernel. */
static bool spills(const gemm_cl_work *w)
{
    return w->program && w->program->spilled && !w->device->traits.cpu;
}

static const char spilled[] = "the OpenCL compiler spills the registers of the kernel";

bool gemm_cl_is_spilled(const char *why)
{
    return why == spilled;
}

/* Whether the kernel should hold its tile in registers and does not. Those of the paper have theirs
   in an array on purpose, and those whose items take shares are for CPUs. */
static bool is_spilled(const gemm_cl_work *w)
{
    return spills(w) && !w->takes_spills && w->row->family->way != GEMM_CL_PADDED &&
           !w->row->family->shares;
}

const char *gemm_cl_build_row(gemm_cl_work *w, const char *more)
{
    gemm_text options = {0};
    w->program = NULL;
    if (!more) return "out of memory";
    const char *why = gemm_cl_why_refused(w);
    if (why) return why;
    gemm_text_add(&options, GEMM_CL_MATH);
    add_options(w, &options);
    gemm_text_add(&options, "%s", more);
    w->program = gemm_cl_build(w->row->family->kernel, gemm_text_whole(&options), &why);
    gemm_text_free(&options);
    if (w->program) why = gemm_cl_why_refused(w);
    return !why && is_spilled(w) ? spilled : why;
}

/* Whether the built kernel has smaller groups than its row needs. Then another choice is better
   than what stands in for the row. */
static bool has_small_groups(const gemm_cl_work *w)
{
    return w->program && w->program->group_items < (size_t)least_group(w->row);
}

/* The row of the work, and then those that stand in for it. *saw_spills: one is left out only
   because of its registers. */
static const char *try_in_turn(gemm_cl_work *w, gemm_cl_attempt *attempt, void *job,
                               bool *saw_spills)
{
    const char *why = attempt(job);
    while (why) {
        *saw_spills |= why == spilled;
        if (gemm_cl_is_faulty(why)) gemm_cl_say_left_out(why);
        if (!w->row->instead || has_small_groups(w)) break;
        w->row = w->row->instead;
        if (!gemm_cl_splits(w->row)) w->parts = 1;
        why = attempt(job);
    }
    return why;
}

bool gemm_cl_learn_group(const gemm_cl_work *w, gemm_cl_traits *traits)
{
    if (!has_small_groups(w) || w->program->group_items >= (size_t)traits->group) return false;
    traits->group = (int)w->program->group_items;
    return true;
}

/* The row that the user named, and its smaller tiles where the registers of a larger one spill. */
static const char *try_named(gemm_cl_work *w, gemm_cl_attempt *attempt, void *job)
{
    const char *why = attempt(job);
    while (why == spilled && w->row->instead &&
           !strcmp(w->row->instead->family->kernel, w->row->family->kernel)) {
        w->row = w->row->instead;
        why = attempt(job);
    }
    if (why && (why == spilled || gemm_cl_is_faulty(why))) w->refused = why;
    return why;
}

const char *gemm_cl_build_choice(gemm_cl_work *w, bool chosen, gemm_cl_attempt *attempt, void *job)
{
    const gemm_cl_row *row = w->row;
    const int parts = w->parts;
    bool saw_spills = false;
    if (!chosen) return try_named(w, attempt, job);
    const char *why = try_in_turn(w, attempt, job, &saw_spills);
    if (!why || !saw_spills) return why;
    w->takes_spills = true;
    w->row = row;
    w->parts = parts;
    return try_in_turn(w, attempt, job, &saw_spills);
}

int gemm_cl_part_length(const gemm_cl_work *w, int K, int step)
{
    if (!step) step = w->row->family->way == GEMM_CL_IMAGE ? 4 : 16;
    return (int)round_up((size_t)ceil_div(K, w->parts), (size_t)step);
}

int gemm_cl_pack(gemm_cl_work *w, gemm_cl_slot slot, const gemm_cl_matrix *in, int rows, int cols,
                 int rows_out, int cols_out, gemm_cl_matrix *out)
{
    const bool half = w->row->half == GEMM_CL_HALF_SUMS;
    const gemm_cl_program *p = gemm_cl_need("cl_pack", half ? "-DHALF" : "");
    const size_t x = (size_t)cols_out, y = (size_t)rows_out;
    cl_mem mem = gemm_cl_scratch(slot, x * y * (half ? 2 : sizeof(float)));
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        pack, .rows = rows, .cols = cols, .in = in->mem, .i0 = in->first, .rs = in->rs,
        .cs = in->cs, .cols_out = cols_out, .out = mem);
    if (!p || !mem) return -1;
    const int rc = gemm_cl_launch_lines(w, p, STAGE_PREPARE, &args, x, y, 1);
    *out = (gemm_cl_matrix){mem, 0, cols_out, 1};
    return rc;
}

int gemm_cl_need_sums(gemm_cl_work *w, size_t count, size_t bytes)
{
    w->sums = gemm_cl_scratch(SLOT_PARTS, count * bytes);
    return w->sums ? 0 : -1;
}

/* ---- launching ---- */

/* Makes room for one more event before it exists, because a launch cannot be taken back. */
static int need_room(gemm_cl_work *w)
{
    if (w->timed_count < w->timed_room) return 0;
    const int room = w->timed_room ? 2 * w->timed_room : 16;
    void *p = realloc(w->timed, (size_t)room * sizeof *w->timed);
    if (!p) {
        gemm_cl_say("out of memory");
        return -1;
    }
    w->timed = p;
    w->timed_room = room;
    return 0;
}

/* `done` is NULL, or gets the launch's event. */
static int enqueue(gemm_cl_work *w, const gemm_cl_program *p, gemm_cl_stage stage,
                   const gemm_cl_arguments *args, const size_t *global, const size_t *local,
                   cl_event *done)
{
    cl_kernel kernel = p->kernel;
    if (w->own) {
        kernel = gemm_cl_set_own(&w->own[stage], p, args);
        if (!kernel) return -1;
    } else if (gemm_cl_set_shared(p, args)) {
        return -1;
    }
    CL_TRY(clEnqueueNDRangeKernel(w->device->queue, kernel, 3, NULL, global, local, 0, NULL, done));
    gemm_cl_launched(done);
    return 0;
fail:
    return -1;
}

int gemm_cl_launch(gemm_cl_work *w, const gemm_cl_program *p, gemm_cl_stage stage,
                   const gemm_cl_arguments *args, const size_t *global, const size_t *local)
{
    const bool asked = w->device->timed || (w->policy->shares && !w->C.later);
    cl_event done = NULL;
    if (need_room(w)) return -1;
    if (enqueue(w, p, stage, args, global, local, asked ? &done : NULL)) return -1;
    if (asked) w->timed[w->timed_count++] = (gemm_cl_timed){done, stage};
    if (stage == (w->sums ? STAGE_SUM : STAGE_MULTIPLY)) {
        w->C.made = done;
        w->C.touched = w->C.in_place;
    }
    return 0;
}

int gemm_cl_launch_lines(gemm_cl_work *w, const gemm_cl_program *p, gemm_cl_stage stage,
                         const gemm_cl_arguments *args, size_t x, size_t y, size_t z)
{
    const size_t local[3] = {gemm_cl_line(p, x), 1, 1}, global[3] = {round_up(x, local[0]), y, z};
    return gemm_cl_launch(w, p, stage, args, global, local);
}

/* ---- what a call reports ---- */

double gemm_cl_stages_ms(const gemm_cl_work *w, gemm_cl_stage first, gemm_cl_stage last)
{
    double sum = 0.0;
    if (!w->device->timed) return -1.0;
    for (int i = 0; i < w->timed_count; ++i) {
        if (w->timed[i].stage < first || w->timed[i].stage > last) continue;
        const double ms = gemm_cl_event_ms(w->timed[i].event);
        if (ms < 0) return ms;
        sum += ms;
    }
    return sum;
}

void gemm_cl_describe_work(const gemm_cl_work *w, char *text, size_t bytes)
{
    const gemm_cl_row *r = w->row;
    const char *moved = gemm_cl_moved_memory();
    text[0] = '\0';
    if (!w->program) {
        gemm_append(text, bytes, "clblast");
        return;
    }
    gemm_append(text, bytes, "%s %dx%d group %zux%zu", r->family->kernel, r->rows, r->cols,
                w->group[0], w->group[1]);
    if (r->depth) gemm_append(text, bytes, " k%d", r->depth);
    if (r->slices) gemm_append(text, bytes, " slices %d", r->slices);
    if (w->parts > 1) gemm_append(text, bytes, " parts %d", w->parts);
    if (spills(w)) gemm_append(text, bytes, " spills %d", (int)w->program->spilled);
    if (moved) gemm_append(text, bytes, " %s", moved);
}

void gemm_cl_fill_note(const gemm_cl_work *w, bool chosen, gemm_note *note)
{
    if (chosen || spills(w) || gemm_cl_moved_memory())
        gemm_cl_describe_work(w, note->ran, sizeof note->ran);
    const bool known = w->program && !w->unfinished;
    note->kernel_ms = known ? gemm_cl_stages_ms(w, STAGE_PREPARE, STAGE_SUM) : -1.0;
    note->waited_ms = w->C.waited_ms;
    note->copied_a = w->A.copied;
    note->copied_b = w->B.copied;
    note->copied_c = w->C.copied;
}

/* ---- the end ---- */

/* Waits for all that is in flight after a failure. 0 or -1. */
static int wait_for_queue(const gemm_cl_device *d)
{
    ++gemm_cl_counters.waits;
    CL_TRY(clFinish(d->queue));
    gemm_cl_settle();
    return 0;
fail:
    return -1;
}

/* Not counted as waits of a call, because the calls that follow have none. */
void gemm_cl_want_times(bool wanted)
{
    const gemm_cl_device *d = gemm_cl_opened();
    if (d->timed == wanted) return;
    CL_TRY(clFinish(d->queue));
    if (gemm_cl_settle()) goto fail;
    gemm_cl_swap_queue();
    gemm_cl_move_blocks();
fail:
    return;
}

int gemm_cl_ask_result(gemm_cl_work *w)
{
    return w->C.later ? 0 : w->policy->ask(&w->C);
}

int gemm_cl_take_result(gemm_cl_work *w, bool timed)
{
    if (!w->C.later) return gemm_cl_take_output(&w->C, w->policy);
    if (timed && gemm_cl_wait_for_output(&w->C, true)) return -1;
    w->unfinished = !timed;
    w->policy->leave(&w->C);
    if (!timed) gemm_cl_flush();
    return 0;
}

/* Gives all matrices back to the CPU. -1: one is not the CPU's. */
static int close_views(gemm_cl_work *w)
{
    const int c = w->policy->close(&w->C), b = w->policy->close(&w->B);
    const int a = w->policy->close(&w->A);
    return a || b || c ? -1 : 0;
}

/* What happens to the events of a call: those of one that went well may still be asked. */
static void end_events(gemm_cl_work *w, bool failed)
{
    for (int i = 0; i < w->timed_count; ++i) {
        if (failed)
            CL_RELEASE(clReleaseEvent, w->timed[i].event);
        else
            gemm_cl_add_pending(w->timed[i].event);
    }
    free(w->timed);
    if (!failed && !w->unfinished) gemm_cl_settle();
}

gemm_status gemm_cl_end_work(gemm_cl_work *w, bool failed, gemm_note *note)
{
    const bool shares = w->A.in_place || w->B.in_place || w->C.in_place;
    bool lost = failed && wait_for_queue(w->device) && shares;
    if (failed) gemm_cl_take_blocks();
    if (failed || !w->C.later) lost = close_views(w) || lost;
    if (failed) gemm_cl_forget_weights();
    end_events(w, failed);
    gemm_cl_images_done();
    gemm_cl_release_old_images();
    gemm_cl_counters.bytes += w->A.copied + w->B.copied + w->C.copied;
    if (!failed && !lost) return GEMM_DONE;
    if (w->refused) return gemm_fail(note, w->refused);
    if (!w->C.touched && !lost) return GEMM_DECLINED;
    return gemm_fail(note, gemm_cl_last_failure());
}
