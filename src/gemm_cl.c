/*
 * One multiply on the OpenCL device.
 *
 *   views      the memory policy shows A, B and C to the device (gemm_cl_memory.c)
 *   prepare    what the row's kernel wants beside them: padded copies, an image of B
 *   launch     the kernel, once; once a panel where B is larger than an image; and the sum of the
 *              parts where K was cut
 *   result     one wait, for C
 *
 * A failure before the result leaves C as it was, because C is written by one launch, the last one:
 * where a multiply takes several, they make parts, and the launch that adds them comes last.
 */
#include "gemm_cl.h"

#include "cl/launch.h"
#include "ref/clblast.h"
#include "util/clock.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A matrix as a kernel takes it. */
typedef struct matrix {
    cl_mem mem;
    size_t first;
    int rs, cs;
} matrix;

/* A part of B that fits into an image. */
typedef struct panel {
    cl_mem image;
    int k0, k, n0, n;
    bool borrowed;              /* made from B's own buffer for this call */
} panel;

typedef struct job {
    const gemm_call *g;
    gemm_cl_work w;
    matrix a, b, c;
    int K;                      /* as the kernel steps through it: padded, or g->K */
    panel *panels;
    int panel_count;
    cl_mem sums;                /* products of panels and of parts of K, before they are added */
    int part;                   /* of them, so far */
} job;

/* ---- launching ------------------------------------------------------------------------------ */

/* in, rows x cols by its strides -> out, zero-padded to rows_out x cols_out. */
static int pack(job *j, gemm_cl_slot slot, const matrix *in, int rows, int cols, int rows_out,
                int cols_out, matrix *out)
{
    const gemm_cl_program *p = gemm_cl_build("cl_pack", "", NULL);
    const size_t global[3] = {(size_t)cols_out, (size_t)rows_out, 1};
    const cl_ulong first = in->first;
    cl_mem mem = gemm_cl_scratch(slot, global[0] * global[1] * sizeof(float));
    const gemm_cl_argument args[] = {ARG(rows), ARG(cols), ARG(in->mem), ARG(first), ARG(in->rs),
                                     ARG(in->cs), ARG(mem)};
    if (!p || !mem) {
        return -1;
    }
    *out = (matrix){mem, 0, cols_out, 1};
    return gemm_cl_launch(&j->w, p, STAGE_PREPARE, args, global, NULL);
}

/*
 * The row's kernel on A from column k0, on b (a buffer or an image of K rows), for columns n0 ... of
 * C: added to C, or stored as the next of j->sums' parts.
 */
static int multiply(job *j, const matrix *b, int k0, int K, int n0, int N)
{
    const gemm_call *g = j->g;
    const int steps = j->w.row->way == GEMM_CL_IMAGE ? 4 : 16;
    const int kpart = (int)round_up((size_t)ceil_div(K, j->w.parts), (size_t)steps);
    const int parts = ceil_div(K, kpart);
    const size_t size = (size_t)g->M * (size_t)g->N;
    const int part = k0 == 0 ? 0 : j->part;
    const cl_ulong a0 = j->a.first + (size_t)k0 * (size_t)j->a.cs, b0 = b->first;
    const cl_ulong c0 = j->sums ? (size_t)part * size + (size_t)n0 : j->c.first + (size_t)n0;
    const cl_ulong cpart = j->sums ? size : 0;
    const int ldc = j->sums ? g->N : j->c.rs;
    cl_mem out = j->sums ? j->sums : j->c.mem;
    const gemm_cl_argument args[] = {
        ARG(g->M), ARG(N), ARG(K), ARG(g->ALPHA), ARG(j->a.mem), ARG(a0), ARG(j->a.rs),
        ARG(j->a.cs), ARG(b->mem), ARG(b0), ARG(b->rs), ARG(b->cs), ARG(out), ARG(c0), ARG(ldc),
        ARG(kpart), ARG(cpart)};
    size_t global[3] = {(size_t)ceil_div(N, j->w.row->cols), (size_t)ceil_div(g->M, j->w.row->rows),
                        (size_t)parts};
    size_t local[3];
    gemm_cl_set_groups(&j->w, global, local);
    j->part = part + parts;
    return gemm_cl_launch(&j->w, j->w.program, STAGE_MULTIPLY, args, global, local);
}

/* Where several launches make C, they make parts of it; the one launch that adds them comes last. */
static int need_sums(job *j, int down)
{
    const size_t count = (size_t)down * (size_t)j->w.parts;
    if (j->panel_count <= 1 && count == 1) {
        j->sums = NULL;
        return 0;
    }
    j->sums = gemm_cl_scratch(SLOT_PARTS,
                              count * (size_t)j->g->M * (size_t)j->g->N * sizeof(float));
    return j->sums ? 0 : -1;
}

static int add_sums(job *j)
{
    const gemm_call *g = j->g;
    const gemm_cl_program *sum = gemm_cl_build("cl_sum", "", NULL);
    const cl_ulong into = j->c.first;
    const gemm_cl_argument args[] = {ARG(g->M), ARG(g->N), ARG(j->part), ARG(j->sums),
                                     ARG(j->c.mem), ARG(into), ARG(j->c.rs)};
    if (!sum) {
        return -1;
    }
    const size_t items = sum->group_items < 64 ? sum->group_items : 64;
    const size_t local[3] = {items, 1, 1};
    const size_t global[3] = {round_up((size_t)g->N, items), (size_t)g->M, 1};
    return gemm_cl_launch(&j->w, sum, STAGE_SUM, args, global, local);
}

/* ---- B as images ---------------------------------------------------------------------------- */

/* An image over B's own buffer where the device can and B's place and rows allow it; else NULL. */
static cl_mem borrow_image(const job *j, const panel *p)
{
    const gemm_cl_device *d = j->w.device;
    const size_t first = j->b.first + (size_t)p->k0 * (size_t)j->b.rs + (size_t)p->n0;
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_mem region = NULL, image = NULL;
    if (!d->pitch_alignment || j->b.cs != 1 || p->n % 4 || first % 4 || j->b.rs % 4 ||
        j->b.rs / 4 % (int)d->pitch_alignment ||
        (d->base_alignment && first / 4 % d->base_alignment)) {
        return NULL;
    }
    const cl_buffer_region where = {first * sizeof(float),
                                    ((size_t)(p->k - 1) * (size_t)j->b.rs + (size_t)p->n) *
                                        sizeof(float)};
    CL_MAKE(region, clCreateSubBuffer(j->b.mem, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION,
                                      &where, &error));
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = (size_t)p->n / 4,
                                .image_height = (size_t)p->k,
                                .image_row_pitch = (size_t)j->b.rs * sizeof(float),
                                .buffer = region};
    CL_MAKE(image, clCreateImage(d->context, CL_MEM_READ_ONLY, &format, &desc, NULL, &error));
fail:
    if (region) {
        clReleaseMemObject(region);     /* the image holds it */
    }
    return image;
}

/* The CPU writes a panel of its own memory straight into the image. */
static int fill_by_cpu(const job *j, const panel *p)
{
    const gemm_call *g = j->g;
    const size_t width = (size_t)ceil_div(p->n, 4), origin[3] = {0};
    const size_t region[3] = {width, (size_t)p->k, 1};
    const size_t rs = g->TB ? 1 : (size_t)g->ldb, cs = g->TB ? (size_t)g->ldb : 1;
    size_t pitch;
    char *at;
    CL_MAKE(at, clEnqueueMapImage(j->w.device->queue, p->image, CL_TRUE,
                                  CL_MAP_WRITE_INVALIDATE_REGION, origin, region, &pitch, NULL, 0,
                                  NULL, NULL, &error));
    for (int k = 0; k < p->k; ++k) {
        float *to = (float *)(at + (size_t)k * pitch);
        const float *from = g->B + (size_t)(p->k0 + k) * rs + (size_t)p->n0 * cs;
        if (cs == 1) {
            memcpy(to, from, (size_t)p->n * sizeof(float));
        } else {
            for (int n = 0; n < p->n; ++n) {
                to[n] = from[(size_t)n * cs];
            }
        }
        for (size_t n = (size_t)p->n; n < 4 * width; ++n) {
            to[n] = 0.0f;
        }
    }
    CL_TRY(clEnqueueUnmapMemObject(j->w.device->queue, p->image, at, 0, NULL, NULL));
    return 0;
fail:
    return -1;
}

static int fill_by_device(job *j, const panel *p)
{
    const gemm_cl_program *fill = gemm_cl_build("cl_fill", "", NULL);
    const cl_ulong first = j->b.first + (size_t)p->k0 * (size_t)j->b.rs +
                           (size_t)p->n0 * (size_t)j->b.cs;
    const size_t global[3] = {(size_t)ceil_div(p->n, 4), (size_t)p->k, 1};
    const gemm_cl_argument args[] = {ARG(p->n), ARG(j->b.mem), ARG(first), ARG(j->b.rs),
                                     ARG(j->b.cs), ARG(p->image)};
    return fill ? gemm_cl_launch(&j->w, fill, STAGE_PREPARE, args, global, NULL) : -1;
}

/* Cuts B into the fewest even panels that fit the device's images. */
static int make_panels(job *j)
{
    const gemm_call *g = j->g;
    const int widest = j->w.device->image_width > (1u << 28) ? 1 << 30
                                                            : 4 * (int)j->w.device->image_width;
    const int highest = (int)j->w.device->image_height / 4 * 4;
    const int across = ceil_div(g->N, widest), down = ceil_div(g->K, highest);
    const int n_step = (int)round_up((size_t)ceil_div(g->N, across), 4);
    const int k_even = (int)round_up((size_t)ceil_div(g->K, down), 4);
    const int k_step = k_even < highest ? k_even : highest;
    j->panels = calloc((size_t)across * (size_t)down, sizeof *j->panels);
    if (!j->panels) {
        return -1;
    }
    for (int n0 = 0; n0 < g->N; n0 += n_step) {
        for (int k0 = 0; k0 < g->K; k0 += k_step) {
            panel *p = &j->panels[j->panel_count++];
            p->n0 = n0;
            p->k0 = k0;
            p->n = g->N - n0 < n_step ? g->N - n0 : n_step;
            p->k = g->K - k0 < k_step ? g->K - k0 : k_step;
        }
    }
    return 0;
}

/* Fills the panels. B by the CPU when it is the caller's own memory and shared memory is cheap. */
static int fill_panels(job *j)
{
    for (int i = 0; i < j->panel_count; ++i) {
        panel *p = &j->panels[i];
        p->image = j->w.B.mem ? borrow_image(j, p) : NULL;
        p->borrowed = p->image != NULL;
        if (p->borrowed) {
            continue;
        }
        p->image = gemm_cl_image_get((size_t)ceil_div(p->n, 4), (size_t)p->k);
        if (!p->image || (j->w.B.mem ? fill_by_device(j, p) : fill_by_cpu(j, p)) != 0) {
            return -1;
        }
        if (!j->w.B.mem || j->w.B.in_place) {
            j->w.B.copied += (size_t)p->k * (size_t)p->n * sizeof(float);
        }
    }
    return 0;
}

static int multiply_panels(job *j)
{
    int down = 0;
    while (down < j->panel_count && j->panels[down].n0 == 0) {
        ++down;
    }
    if (need_sums(j, down) != 0) {
        return -1;
    }
    for (int i = 0; i < j->panel_count; ++i) {
        const panel *p = &j->panels[i];
        const matrix b = {p->image, 0, 0, 0};
        if (multiply(j, &b, p->k0, p->k, p->n0, p->n) != 0) {
            return -1;
        }
    }
    return j->sums ? add_sums(j) : 0;
}

/* ---- one call ------------------------------------------------------------------------------- */

/* A's columns must lie side by side for vload4; elsewhere strides do. */
static int prepare_a(job *j)
{
    const gemm_call *g = j->g;
    const bool padded = j->w.row->way == GEMM_CL_PADDED;
    j->a = (matrix){j->w.A.mem, j->w.A.offset, g->TA ? 1 : (int)j->w.A.device_ld,
                    g->TA ? (int)j->w.A.device_ld : 1};
    if (padded || (j->w.row->way == GEMM_CL_IMAGE && g->TA)) {
        const matrix as_is = j->a;
        const int rows = padded ? (int)round_up((size_t)g->M, 32) : g->M;
        return pack(j, SLOT_PACKED_A, &as_is, g->M, g->K, rows, padded ? j->K : g->K, &j->a);
    }
    return 0;
}

static int prepare_b(job *j)
{
    const gemm_call *g = j->g;
    const int ld = (int)j->w.B.device_ld;
    j->b = (matrix){j->w.B.mem, j->w.B.offset, g->TB ? 1 : ld, g->TB ? ld : 1};
    if (j->w.row->way == GEMM_CL_PADDED) {
        const matrix turned = {j->b.mem, j->b.first, j->b.cs, j->b.rs};
        matrix out;
        if (pack(j, SLOT_PACKED_B, &turned, g->N, g->K, (int)round_up((size_t)g->N, 32), j->K,
                 &out) != 0) {
            return -1;
        }
        j->b = (matrix){out.mem, 0, 1, out.rs};
    }
    return j->w.row->way == GEMM_CL_IMAGE ? fill_panels(j) : 0;
}

/* CLBlast takes no events to wait for, and gives none that covers all of its kernels. */
static int launch_clblast(job *j)
{
    const cl_event uploads[2] = {j->w.A.ready ? j->w.A.ready : j->w.B.ready, j->w.B.ready};
    const cl_uint count = !!j->w.A.ready + !!j->w.B.ready;
    if (count) {
        CL_TRY(clEnqueueBarrierWithWaitList(j->w.device->queue, count, uploads, NULL));
    }
    return gemm_clblast_enqueue(j->w.device, j->g, &j->w.A, &j->w.B, &j->w.C);
fail:
    return -1;
}

/* Everything that the device does for one call, enqueued. */
static int enqueue_all(job *j)
{
    if (j->w.row->way == GEMM_CL_CLBLAST) {
        return launch_clblast(j);
    }
    if (prepare_a(j) != 0 || prepare_b(j) != 0) {
        return -1;
    }
    j->c = (matrix){j->w.C.mem, j->w.C.offset, (int)j->w.C.device_ld, 1};
    if (j->w.row->way == GEMM_CL_IMAGE) {
        return multiply_panels(j);
    }
    if (need_sums(j, 1) != 0 || multiply(j, &j->b, 0, j->K, 0, j->g->N) != 0) {
        return -1;
    }
    return j->sums ? add_sums(j) : 0;
}

static int show_matrices(job *j, bool resident)
{
    const gemm_call *g = j->g;
    j->w.A = (gemm_cl_view){.host = (float *)g->A, .ld = (size_t)g->lda,
                          .rows = (size_t)(g->TA ? g->K : g->M),
                          .cols = (size_t)(g->TA ? g->M : g->K)};
    j->w.B = (gemm_cl_view){.host = (float *)g->B, .ld = (size_t)g->ldb,
                          .rows = (size_t)(g->TB ? g->N : g->K),
                          .cols = (size_t)(g->TB ? g->K : g->N)};
    j->w.C = (gemm_cl_view){.host = g->C, .ld = (size_t)g->ldc, .rows = (size_t)g->M,
                          .cols = (size_t)g->N};
    const bool by_cpu = j->w.row->way == GEMM_CL_IMAGE && !resident &&
                        strcmp(j->w.policy->name, "unified") == 0 && !gemm_cl_is_shared(g->B);
    /* B first: while it is on the bus, the CPU looks whether A is there already */
    return (by_cpu ? 0 : j->w.policy->input(&j->w.B, SLOT_B)) ||
           j->w.policy->input(&j->w.A, SLOT_A) || j->w.policy->output(&j->w.C);
}

/* Whether float4 of A's rows are aligned where the device sees them: in place, copied or turned. */
static bool aligned_rows(const gemm_call *g)
{
    return g->K % 4 == 0 && (g->TA || (g->lda % 4 == 0 && (uintptr_t)g->A % 16 == 0));
}

/* The row's kernel, or why there is none. `cl` becomes the row of its choice here. */
static const char *build_kernel(job *j)
{
    char options[256];
    const char *why = NULL;
    if (j->w.row->way == GEMM_CL_CHOOSE) {
        j->w.row = gemm_cl_choose(&j->w.device->traits, j->g, &j->w.parts);
    }
    const gemm_cl_row *row = j->w.row;
    if (row->way == GEMM_CL_CLBLAST) {
        return gemm_clblast_missing(gemm_cl_settings()->clblast);
    }
    if ((why = gemm_cl_row_refused(&j->w))) {
        return why;
    }
    int n = gemm_cl_row_options(row, options, sizeof options);
    if (row->depth) {
        n += snprintf(options + n, sizeof options - (size_t)n, "%s%s",
                      j->g->TA ? " -DA_TURNED" : "", j->g->TB ? " -DB_TURNED" : "");
    }
    if (row->way == GEMM_CL_IMAGE && !j->w.device->traits.unified && !*row->defines) {
        /* registers to spare, and latency to hide */
        n += snprintf(options + n, sizeof options - (size_t)n, " -DAHEAD -DUNROLL=2");
    }
    if (row->way == GEMM_CL_IMAGE && aligned_rows(j->g)) {
        n += snprintf(options + n, sizeof options - (size_t)n, " -DALIGNED_A");
    }
    snprintf(options + n, sizeof options - (size_t)n, "%s%s", *row->defines ? " " : "",
             row->defines);
    j->w.program = gemm_cl_build(row->kernel, options, &why);
    return j->w.program ? gemm_cl_row_refused(&j->w) : why;
}

static int start(job *j, const gemm_call *g, const gemm_cl_row *row, int parts)
{
    *j = (job){.g = g, .w = {.row = row, .parts = 1}};
    const char *why = NULL;
    j->w.device = gemm_cl_open(&why);
    if (j->w.device) {
        why = build_kernel(j);
    }
    if (gemm_cl_begin_work(&j->w, why, parts) != 0) {
        return -1;
    }
    j->K = j->w.row->way == GEMM_CL_PADDED ? (int)round_up((size_t)g->K, 32) : g->K;
    return j->w.row->way == GEMM_CL_IMAGE ? make_panels(j) : 0;
}

static void drop_images(job *j)
{
    for (int i = 0; i < j->panel_count; ++i) {
        if (j->panels[i].borrowed && j->panels[i].image) {
            clReleaseMemObject(j->panels[i].image);
        }
        j->panels[i].image = NULL;
    }
    gemm_cl_images_done();
}

static void finish(job *j, bool failed)
{
    gemm_cl_end_work(&j->w, failed);
    if (j->w.device) {
        drop_images(j);
    }
    free(j->panels);
}

gemm_status gemm_cl_run_parts(const gemm_call *g, const gemm_context *context,
                              const gemm_cl_row *row, int parts)
{
    job j;
    gemm_cl_lock();
    int rc = start(&j, g, row, parts);
    if (rc == 0) {
        rc = show_matrices(&j, false) || enqueue_all(&j) || j.w.policy->result(&j.w.C);
    }
    if (rc == 0) {
        gemm_cl_fill_note(&j.w, row->way == GEMM_CL_CHOOSE, context->note);
    }
    finish(&j, rc != 0);
    gemm_cl_unlock();
    return rc ? GEMM_DECLINED : GEMM_DONE;
}

gemm_status gemm_cl_run(const gemm_call *g, const gemm_context *context, const void *row)
{
    return gemm_cl_run_parts(g, context, row, 0);
}

const char *gemm_cl_unusable(const void *params)
{
    static const gemm_call typical = {.M = 256, .N = 676, .K = 1152, .ALPHA = 1.0f};
    const char *why = NULL;
    gemm_cl_lock();
    job j = {.g = &typical, .w = {.row = params, .parts = 1, .device = gemm_cl_open(&why)}};
    if (j.w.device) {
        why = build_kernel(&j);
    }
    gemm_cl_unlock();
    return why;
}

int gemm_cl_time(const gemm_call *g, const gemm_cl_row *row, int parts, int reps,
                 gemm_cl_times *times)
{
    job j;
    gemm_cl_lock();
    int rc = start(&j, g, row, parts);
    rc = rc ? rc : show_matrices(&j, true);
    if (rc == 0) {
        clFinish(j.w.device->transfers);
        clFinish(j.w.device->queue);
        const double begin = gemm_now_ms();
        for (int i = 0; i < reps && rc == 0; ++i) {
            rc = enqueue_all(&j);
            drop_images(&j);
        }
        rc = clFinish(j.w.device->queue) || rc;
        times->wall_ms = (gemm_now_ms() - begin) / reps;
        times->device_ms = gemm_cl_stages_ms(&j.w, STAGE_PREPARE, STAGE_SUM) / reps;
        times->kernel_ms = gemm_cl_stages_ms(&j.w, STAGE_MULTIPLY, STAGE_MULTIPLY) / reps;
        gemm_cl_describe_work(&j.w, times->ran, sizeof times->ran);
    }
    finish(&j, rc != 0);
    gemm_cl_unlock();
    return rc;
}
