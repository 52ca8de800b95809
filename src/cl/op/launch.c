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
#include "cl/memory/left.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gemm_cl_work gemm_cl_begin_work(const gemm_cl_row *row)
{
    gemm_cl_forget_failure();
    return (gemm_cl_work){.device = gemm_cl_opened(), .policy = gemm_cl_memory_policy(),
                          .row = row, .parts = 1, .copy_threads = 1,
                          .asks = gemm_cl_foresees() || gemm_cl_postpones()};
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

void gemm_cl_view_conv(gemm_cl_work *w, const conv_call *in, const conv_call *c, bool later)
{
    const size_t area = (size_t)in->h * (size_t)in->w, places = (size_t)gemm_conv_outputs(c);
    const size_t filters = (size_t)c->batch * (size_t)c->n;
    later = later && gemm_cl_may_stay(c->output, filters * places * sizeof(float));
    w->B = gemm_cl_dense_view(w, in->input, (size_t)in->batch * (size_t)in->c, area, later);
    w->C = gemm_cl_dense_view(w, c->output, filters, places, later);
    w->C.overwrite = true;
}

/* ---- the row's kernel ---- */

static const char small_local[] =
    "the OpenCL device has less local memory than the kernel needs";

/* The items that a group of the row has at least. */
static int least_group(const gemm_cl_row *row)
{
    return row->family->any_group ? 1 : row->wx * row->wy * max_int(row->slices, 1);
}

const char *gemm_cl_limit(const gemm_cl_row *row, const gemm_cl_traits *t)
{
    if ((row->family->kind == GEMM_CL_IMAGE || row->texture) && (!t->images || t->image_height < 4))
        return "the OpenCL device has no images";
    if (row->half && !t->half_images) return "the OpenCL device has no images of half-floats";
    if (row->half == GEMM_CL_HALF_SUMS && !t->fp16)
        return "the OpenCL device has no half-float arithmetic (cl_khr_fp16)";
    if (least_group(row) > t->group)
        return "the OpenCL device has smaller work-groups than the kernel";
    /* Not left to the driver, because PoCL 6 says that kernels take no local memory. */
    if (max_int(row->local, gemm_cl_winograd_tile(row) * row->rows) > t->local) return small_local;
    return NULL;
}

bool gemm_cl_has_small_groups(const gemm_cl_work *w)
{
    return w->program && w->program->group_items < (size_t)least_group(w->row);
}

const char *gemm_cl_why_no_room(const gemm_cl_work *w)
{
    if (gemm_cl_has_small_groups(w))
        return "the OpenCL device has smaller work-groups for the kernel than it needs";
    return w->program->local > (cl_ulong)w->device->traits.local ? small_local : NULL;
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
    return spills(w) && !w->takes_spills && w->row->family->kind != GEMM_CL_PADDED &&
           !w->row->family->shares;
}

const char *gemm_cl_build_row(gemm_cl_work *w, const char *more)
{
    gemm_text options = {0};
    w->program = NULL;
    if (!more) return "out of memory";
    const char *why = gemm_cl_limit(w->row, &w->device->traits);
    if (why) return why;
    gemm_text_add(&options, GEMM_CL_MATH);
    add_options(w, &options);
    gemm_text_add(&options, "%s", more);
    w->program = gemm_cl_build(w->row->family->kernel, gemm_text_whole(&options), &why);
    gemm_text_free(&options);
    if (w->program) why = gemm_cl_why_no_room(w);
    return !why && is_spilled(w) ? spilled : why;
}

int gemm_cl_part_length(const gemm_cl_work *w, int K, int step)
{
    if (!step) step = w->row->family->kind == GEMM_CL_IMAGE ? 4 : 16;
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

/* ---- work-groups ---- */

/*
 * How well groups of x times y items suit gx times gy items; more is better. Three things count
 * most: few items that idle in partly filled groups, groups of 64 items or more, and a group for
 * every unit. The last two terms only decide between equals: about 128 items, and wide groups
 * (16x8). A discrete GPU gets 64x2, because the items of a warp then share their rows of A.
 */
static double group_score(const gemm_cl_device *d, size_t gx, size_t gy, size_t x, size_t y)
{
    const size_t items = round_up(gx, x) * round_up(gy, y), groups = items / (x * y);
    const double filled = (double)(gx * gy) / (double)items;
    const double large = x * y >= 64 ? 1.0 : (double)(x * y) / 64.0;
    const double units = d->traits.units;
    const double spread = (double)groups >= units ? 1.0 : (double)groups / units;
    const double wide = d->traits.unified ? (double)(x >= y) : (double)(x < 64 ? x : 64) / 64.0;
    const double size = x * y <= 128 ? (double)(x * y) / 128.0 : 0.5;
    return filled * large * spread + 0.02 * wide + 0.02 * size;
}

/* The best group where the row names none: a power of two a side, at most `most` items. */
static void fit_group(const gemm_cl_device *d, size_t most, size_t gx, size_t gy, size_t *group)
{
    double best = 0.0;
    for (size_t x = 1; x <= most && x <= d->item_sizes[0]; x *= 2) {
        for (size_t y = 1; x * y <= most && y <= d->item_sizes[1]; y *= 2) {
            const double score = group_score(d, gx, gy, x, y);
            if (score <= best) continue;
            best = score;
            group[0] = x;
            group[1] = y;
        }
    }
}

/* Fewer items along x where the built kernel allows no more. */
static void shrink_group(const gemm_cl_program *p, size_t *group)
{
    while (group[0] > 1 && group[0] * group[1] * group[2] > p->group_items) group[0] /= 2;
}

/*
 * The items of a kernel whose items take shares: x counts strips of columns, y tiles of rows, z
 * products. Every unit needs groups, but each more group packs B once more. So z, and then y,
 * become as small as 4 groups a unit allow.
 */
static void fit_shares(const gemm_cl_work *w, size_t *global)
{
    const size_t enough = 4 * (size_t)w->device->traits.units;
    const size_t deep = global[0] >= enough ? 1 : (enough + global[0] - 1) / global[0];
    if (deep < global[2]) global[2] = deep;
    const size_t groups = global[0] * global[2];
    const size_t shares = groups >= enough ? 1 : (enough + groups - 1) / groups;
    if (shares < global[1]) global[1] = shares;
}

void gemm_cl_set_groups(gemm_cl_work *w, size_t global[3], size_t local[3])
{
    const gemm_cl_row *row = w->row;
    local[0] = (size_t)row->wx;
    local[1] = (size_t)row->wy;
    local[2] = (size_t)max_int(row->slices, 1);
    global[2] *= local[2];
    if (row->family->shares) fit_shares(w, global);
    if (!row->wx) fit_group(w->device, w->program->group_items, global[0], global[1], local);
    if (row->family->any_group && w->form && w->form->group)
        local[0] = (size_t)w->form->group;
    if (row->family->any_group) shrink_group(w->program, local);
    w->group[0] = local[0];
    w->group[1] = local[1];
    global[0] = round_up(global[0], local[0]);
    global[1] = round_up(global[1], local[1]);
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
    if (stage == (w->sums ? STAGE_SUM : STAGE_MULTIPLY) || stage == STAGE_ACTIVATE) {
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
    if (w->form) gemm_append(note->ran, sizeof note->ran, " tuned");
    const bool known = w->program && !w->unfinished;
    note->kernel_ms = known ? gemm_cl_stages_ms(w, STAGE_PREPARE, STAGE_SUM) : -1.0;
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
