/*
 * Kernels on the queue, and how a call ends.
 *
 * Every launch leaves an event, by which GEMM_TRACE knows the time on the device.
 */
#include "cl/launch.h"

#include <stdlib.h>
#include <string.h>

static int remember_event(gemm_cl_work *w, cl_event event, int stage)
{
    if (w->timed_count == w->timed_room) {
        const int room = w->timed_room ? 2 * w->timed_room : 16;
        void *p = realloc(w->timed, (size_t)room * sizeof *w->timed);
        if (!p) {
            clReleaseEvent(event);
            return -1;
        }
        w->timed = p;
        w->timed_room = room;
    }
    w->timed[w->timed_count].event = event;
    w->timed[w->timed_count++].stage = stage;
    return 0;
}

int gemm_cl_begin_work(gemm_cl_work *w, const char *why_not, int parts)
{
    if (why_not) {
        fprintf(stderr, "gemm_cl: %s\n", why_not);
        return -1;
    }
    if (parts > 0 && w->row->splits) {
        w->parts = parts;
    }
    w->policy = gemm_cl_memory_policy();
    return 0;
}

int gemm_cl_launch(gemm_cl_work *w, const gemm_cl_program *p, int stage,
                   const gemm_cl_argument *args, const size_t *global, const size_t *local)
{
    cl_event waits[2], done;
    cl_uint wait_count = 0;
    for (cl_uint i = 0; i < p->args; ++i) {
        CL_TRY(clSetKernelArg(p->kernel, i, args[i].bytes, args[i].value));
    }
    if (w->A.ready) {
        waits[wait_count++] = w->A.ready;
    }
    if (w->B.ready) {
        waits[wait_count++] = w->B.ready;
    }
    CL_TRY(clEnqueueNDRangeKernel(w->device->queue, p->kernel, 3, NULL, global, local, wait_count,
                                  wait_count ? waits : NULL, &done));
    return remember_event(w, done, stage);
fail:
    return -1;
}

/*
 * The group for an image kernel: a power of two a side, of at most `most` items. Fewest items that
 * idle in partly filled groups; then, as long as every unit gets a group, the largest; then the one
 * nearest to 16x8, or to 64x2 on a discrete GPU, whose items of a warp then share their rows of A.
 */
static void fit_group(const gemm_cl_device *d, size_t most, size_t gx, size_t gy, size_t *group)
{
    double best = 0.0;
    for (size_t x = 1; x <= most && x <= d->item_sizes[0]; x *= 2) {
        for (size_t y = 1; x * y <= most && y <= d->item_sizes[1]; y *= 2) {
            const size_t items = round_up(gx, x) * round_up(gy, y), groups = items / (x * y);
            const double filled = (double)(gx * gy) / (double)items;
            const double large = x * y >= 64 ? 1.0 : (double)(x * y) / 64.0;
            const double spread = groups >= (size_t)d->traits.units
                                      ? 1.0 : (double)groups / (double)d->traits.units;
            const double wide = d->traits.unified ? (double)(x >= y)
                                                  : (double)(x < 64 ? x : 64) / 64.0;
            const double shape = 0.02 * wide;
            const double size = x * y <= 128 ? 0.02 * (double)(x * y) / 128.0 : 0.01;
            const double score = filled * large * spread + shape + size;
            if (score > best) {
                best = score;
                group[0] = x;
                group[1] = y;
            }
        }
    }
}

void gemm_cl_set_groups(gemm_cl_work *w, size_t *global, size_t *local)
{
    const gemm_cl_row *row = w->row;
    local[0] = (size_t)row->wx;
    local[1] = (size_t)row->wy;
    local[2] = 1;
    if (strstr(row->kernel, "wide")) {
        /* shares of products and rows: enough groups for all units, few enough to pack seldom */
        const size_t enough = 4 * (size_t)w->device->traits.units;
        const size_t deep = global[0] >= enough ? 1 : (enough + global[0] - 1) / global[0];
        global[2] = deep < global[2] ? deep : global[2];
        const size_t groups = global[0] * global[2];
        const size_t shares = groups >= enough ? 1 : (enough + groups - 1) / groups;
        global[1] = shares < global[1] ? shares : global[1];
    }
    if (!row->wx) {
        fit_group(w->device, w->program->group_items, global[0], global[1], local);
    }
    w->group[0] = local[0];
    w->group[1] = local[1];
    global[0] = round_up(global[0], local[0]);
    global[1] = round_up(global[1], local[1]);
}

int gemm_cl_row_options(const gemm_cl_row *row, char *options, size_t bytes)
{
    int n = snprintf(options, bytes, "-cl-fast-relaxed-math -DROWS=%d -DCOLS=%d", row->rows,
                     row->cols);
    if (row->wx) {
        n += snprintf(options + n, bytes - (size_t)n, " -DWX=%d -DWY=%d", row->wx, row->wy);
    }
    if (row->depth) {
        n += snprintf(options + n, bytes - (size_t)n, " -DBK=%d", row->depth);
    }
    return n;
}

const char *gemm_cl_row_refused(const gemm_cl_work *w)
{
    const gemm_cl_row *row = w->row;
    if (row->way == GEMM_CL_IMAGE && (!w->device->traits.images || w->device->image_height < 4)) {
        return "the OpenCL device has no images";
    }
    if (row->wx * row->wy > w->device->traits.group) {
        return "the OpenCL device's work-groups are smaller than the kernel's";
    }
    if (w->program && row->wx && (size_t)(row->wx * row->wy) > w->program->group_items) {
        return "the OpenCL device cannot run the kernel with its work-group";
    }
    if (w->program && w->program->local > (cl_ulong)w->device->traits.local) {
        return "the OpenCL device has less local memory than the kernel needs";
    }
    return NULL;
}
static double event_ms(cl_event event)
{
    cl_ulong from, to;
    CL_TRY(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL));
    CL_TRY(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL));
    return (double)(to - from) * 1e-6;
fail:
    return 0.0;
}

double gemm_cl_stages_ms(const gemm_cl_work *w, int first, int last)
{
    double ms = 0.0;
    for (int i = 0; i < w->timed_count; ++i) {
        if (w->timed[i].stage >= first && w->timed[i].stage <= last) {
            ms += event_ms(w->timed[i].event);
        }
    }
    return ms;
}

/* A CPU keeps every private array in memory, and says so: only elsewhere it means a slow kernel. */
static bool spills(const gemm_cl_work *w)
{
    return w->program && w->program->spilled && !w->device->traits.cpu;
}

void gemm_cl_describe_work(const gemm_cl_work *w, char *text, size_t bytes)
{
    const gemm_cl_row *r = w->row;
    if (!w->program) {
        snprintf(text, bytes, "clblast");
        return;
    }
    int n = snprintf(text, bytes, "%s %dx%d group %zux%zu", r->kernel, r->rows, r->cols,
                     w->group[0], w->group[1]);
    if (r->depth) {
        n += snprintf(text + n, bytes - (size_t)n, " k%d", r->depth);
    }
    if (w->parts > 1) {
        n += snprintf(text + n, bytes - (size_t)n, " parts %d", w->parts);
    }
    if (spills(w)) {
        snprintf(text + n, bytes - (size_t)n, " spills %d", (int)w->program->spilled);
    }
}

void gemm_cl_fill_note(const gemm_cl_work *w, bool chosen, gemm_note *note)
{
    if (chosen || spills(w)) {
        gemm_cl_describe_work(w, note->ran, sizeof note->ran);
    }
    note->kernel_ms = w->program ? gemm_cl_stages_ms(w, STAGE_PREPARE, STAGE_SUM) : -1.0;
    note->copied_a = w->A.copied;
    note->copied_b = w->B.copied;
    note->copied_c = w->C.copied;
}

void gemm_cl_end_work(gemm_cl_work *w, bool failed)
{
    if (!w->device) {
        return;
    }
    if (failed) {
        clFinish(w->device->transfers);
        clFinish(w->device->queue);
    }
    if (w->policy) {
        w->policy->close(&w->C);
        w->policy->close(&w->B);
        w->policy->close(&w->A);
    }
    if (failed) {
        gemm_cl_memory_doubt();
    }
    for (int i = 0; i < w->timed_count; ++i) {
        clReleaseEvent(w->timed[i].event);
    }
    gemm_cl_images_done();
    free(w->timed);
}
