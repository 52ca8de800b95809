/* SPDX-License-Identifier: MIT */
/*
 * One multiply on the OpenCL device.
 *
 * One launch writes C. Where B takes several panels, or K is cut, the launches make parts in
 * scratch memory, and cl_sum adds them.
 */
#include "cl/op/multiply.h"

#include "cl/op/clblast.h"
#include "util/text.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- launches ---- */

/*
 * The row's kernel on columns k0 ... of A, and on b, a buffer or an image of K rows. The result is
 * for columns n0 ... of C: added to C, or stored as the next ones of the parts in w.sums.
 */
static int multiply(gemm_cl_job *j, const gemm_cl_matrix *b, int k0, int K, int n0, int N)
{
    const gemm_call *g = j->g;
    gemm_cl_work *w = &j->w;
    const int kpart = gemm_cl_part_length(w, K, 0), parts = ceil_div(K, kpart);
    const size_t size = (size_t)g->M * (size_t)g->N;
    const int part = k0 == 0 ? 0 : j->part;
    size_t global[3] = {(size_t)ceil_div(N, w->row->cols), (size_t)ceil_div(g->M, w->row->rows),
                        (size_t)parts};
    size_t local[3];
    gemm_cl_set_groups(w, global, local);
    gemm_cl_multiply_args values = {
        .M = g->M, .N = N, .K = K, .alpha = g->ALPHA,
        .A = j->a.mem, .a0 = j->a.first + (size_t)k0 * (size_t)j->a.cs,
        .ars = j->a.rs, .acs = j->a.cs,
        .B = b->mem, .b0 = b->first, .brs = b->rs, .bcs = b->cs,
        .C = j->c.mem, .c0 = j->c.first + (size_t)n0, .ldc = j->c.rs,
        .kpart = kpart, .shares = (int)global[1]};
    if (w->sums) {
        values.C = w->sums;
        values.c0 = (size_t)part * size + (size_t)n0;
        values.ldc = g->N;
        values.cpart = size;
    }
    const gemm_cl_arguments args = gemm_cl_wide_arguments(&values);
    j->part = part + parts;
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, &args, global, local);
}

static int add_sums(gemm_cl_job *j)
{
    const gemm_call *g = j->g;
    const gemm_cl_program *sum = gemm_cl_need("cl_sum", j->w.C.stored ? "-DSTORE" : "");
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        sum, .M = g->M, .N = g->N, .count = j->part, .parts = j->w.sums, .C = j->c.mem,
        .c0 = j->c.first, .ldc = j->c.rs);
    if (!sum) return -1;
    return gemm_cl_launch_lines(&j->w, sum, STAGE_SUM, &args, (size_t)g->N, (size_t)g->M, 1);
}

static int multiply_panels(gemm_cl_job *j)
{
    for (int i = 0; i < j->panels.count; ++i) {
        const gemm_cl_panel *p = &j->panels.list[i];
        const gemm_cl_matrix b = {p->image, 0, 0, 0};
        if (multiply(j, &b, p->k0, p->k, p->n0, p->n)) return -1;
    }
    return 0;
}

/* CLBlast gives no event that covers all of its kernels. It may have launched some of them when it
   fails. */
static int launch_clblast(gemm_cl_job *j)
{
    gemm_cl_work *w = &j->w;
    w->C.touched = w->C.in_place;
    return gemm_clblast_enqueue(w->device, j->g, &w->A, &w->B, &w->C);
}

/* ---- operands ---- */

/* A size of a padded operand: whole blocks. */
static int padded_to_block(const gemm_cl_job *j, int size)
{
    return (int)round_up((size_t)size, (size_t)j->w.row->cols);
}

/* cl_image needs neighbouring columns of A side by side, for vload4; or A in 16 bits. */
static bool packs_a(const gemm_cl_job *j)
{
    const gemm_cl_row *row = j->w.row;
    return row->family->kind == GEMM_CL_PADDED || row->half == GEMM_CL_HALF_SUMS ||
           (row->family->kind == GEMM_CL_IMAGE && j->g->TA);
}

static int prepare_a(gemm_cl_job *j)
{
    const gemm_call *g = j->g;
    const gemm_cl_view *A = &j->w.A;
    const bool padded = j->w.row->family->kind == GEMM_CL_PADDED;
    const int ld = (int)A->device_ld;
    const gemm_cl_matrix as_is = {A->mem, A->offset, g->TA ? 1 : ld, g->TA ? ld : 1};
    j->a = as_is;
    if (!packs_a(j)) return 0;
    const int rows = padded ? padded_to_block(j, g->M) : g->M;
    return gemm_cl_pack(&j->w, SLOT_PACKED_A, &as_is, g->M, g->K, rows, j->K, &j->a);
}

static int prepare_b(gemm_cl_job *j)
{
    const gemm_call *g = j->g;
    const gemm_cl_view *B = &j->w.B;
    const int ld = (int)B->device_ld;
    j->b = (gemm_cl_matrix){B->mem, B->offset, g->TB ? 1 : ld, g->TB ? ld : 1};
    if (j->w.row->family->kind == GEMM_CL_IMAGE)
        return gemm_cl_fill_panels(&j->w, g, &j->b, &j->panels);
    if (j->w.row->family->kind != GEMM_CL_PADDED) return 0;
    const gemm_cl_matrix transposed = {j->b.mem, j->b.first, j->b.cs, j->b.rs};
    gemm_cl_matrix out;
    const int columns = padded_to_block(j, g->N);
    if (gemm_cl_pack(&j->w, SLOT_PACKED_B, &transposed, g->N, g->K, columns, j->K, &out)) return -1;
    j->b = (gemm_cl_matrix){out.mem, 0, 1, out.rs};
    return 0;
}

/* Room for the parts, where there are several. */
static int prepare_c(gemm_cl_job *j)
{
    const gemm_cl_view *C = &j->w.C;
    const bool image = j->w.row->family->kind == GEMM_CL_IMAGE;
    const size_t count = (size_t)(image ? j->panels.down : 1) * (size_t)j->w.parts;
    j->c = (gemm_cl_matrix){C->mem, C->offset, (int)C->device_ld, 1};
    if (count == 1 && !(image && j->panels.count > 1)) return 0;
    return gemm_cl_need_sums(&j->w, count, (size_t)j->g->M * (size_t)j->g->N * sizeof(float));
}

int gemm_cl_enqueue_product(gemm_cl_job *j)
{
    if (prepare_a(j) || prepare_b(j) || prepare_c(j)) return -1;
    return j->w.row->family->kind == GEMM_CL_IMAGE ? multiply_panels(j)
                                                   : multiply(j, &j->b, 0, j->K, 0, j->g->N);
}

int gemm_cl_enqueue(gemm_cl_job *j)
{
    if (j->w.row->family->kind == GEMM_CL_CLBLAST) return launch_clblast(j);
    const int rc = gemm_cl_enqueue_product(j);
    return rc == 0 && j->w.sums ? add_sums(j) : rc;
}

/* ---- one call ---- */

/* Whether the offsets inside a tile of 8 rows of A, or of C, fit into the 32 bits that a kernel has
   for them. */
static bool fits_int(const gemm_call *g)
{
    const int most = INT_MAX / 8;
    return g->K <= most && g->lda <= most && g->N <= most && g->ldc <= most;
}

/* Whether a matrix consists of aligned float4 where the device has it: in place or copied. */
static bool is_aligned(const float *matrix, int cols, int ld)
{
    return cols % 4 == 0 && ld % 4 == 0 && (uintptr_t)matrix % 16 == 0;
}

/* What the kernel may know of the operands. */
static void add_operands(const gemm_call *g, const gemm_cl_row *row, gemm_text *more)
{
    const bool image = row->family->kind == GEMM_CL_IMAGE;
    const bool a = image && g->TA ? g->K % 4 == 0   /* packed */
                                  : is_aligned(g->A, g->TA ? g->M : g->K, g->lda);
    if ((image || row->depth) && a) gemm_text_add(more, " -DALIGNED_A");
    if (!row->depth) return;
    if (is_aligned(g->B, g->TB ? g->K : g->N, g->ldb)) gemm_text_add(more, " -DALIGNED_B");
    if (g->TA) gemm_text_add(more, " -DA_TRANSPOSED");
    if (g->TB) gemm_text_add(more, " -DB_TRANSPOSED");
}

/* Whether the kernels store a result of their own, which the CPU adds to C. */
static bool stores(const gemm_cl_work *w)
{
    return w->row->family->stores && !w->policy->shares;
}

/* Whether B goes into images by cl_fill, if they are not made of B's own buffer. */
static bool is_filled(const gemm_cl_job *j)
{
    const gemm_cl_work *w = &j->w;
    return w->row->family->kind == GEMM_CL_IMAGE &&
           (!w->policy->shares || w->row->half || gemm_cl_block_of(j->g->B));
}

/* Whether C is computed in a buffer that cl_zero clears. A call that only asks has no C. */
static bool is_zeroed(const gemm_cl_job *j)
{
    return j->g->C && !stores(&j->w) && !(j->w.policy->shares && gemm_cl_block_of(j->g->C));
}

/* The kernels beside the row's own. */
static const char *build_helpers(gemm_cl_job *j)
{
    gemm_cl_work *w = &j->w;
    const bool halves = w->row->half == GEMM_CL_HALF_SUMS;
    const char *why = NULL;
    /* A padded B is packed too, and A with it. */
    if (packs_a(j)) why = gemm_cl_why_left_out("cl_pack", halves ? "-DHALF" : "");
    if (!why && is_filled(j)) why = gemm_cl_why_left_out("cl_fill", w->row->half ? "-DHALF" : "");
    if (!why && is_zeroed(j)) why = gemm_cl_why_left_out("cl_zero", "");
    /* Without cl_sum the row can do with K as a whole. */
    if (!why && w->parts > 1 && !gemm_cl_need("cl_sum", stores(w) ? "-DSTORE" : "")) w->parts = 1;
    return why;
}

/* A gemm_cl_attempt. */
static const char *build_programs(void *job)
{
    gemm_cl_job *j = job;
    gemm_cl_work *w = &j->w;
    gemm_text more = {0};
    add_operands(j->g, w->row, &more);
    if (stores(w)) gemm_text_add(&more, " -DSTORE");
    const char *why = gemm_cl_build_row(w, gemm_text_whole(&more));
    gemm_text_free(&more);
    return why ? why : build_helpers(j);
}

int gemm_cl_lay_out_job(gemm_cl_job *j)
{
    const gemm_cl_kind kind = j->w.row->family->kind;
    j->K = kind == GEMM_CL_PADDED ? padded_to_block(j, j->g->K) : j->g->K;
    return kind == GEMM_CL_IMAGE ? gemm_cl_cut_panels(j->w.device, j->g, &j->panels) : 0;
}

const char *gemm_cl_build_job(gemm_cl_job *j, const gemm_call *g, const gemm_cl_row *row,
                              const gemm_cl_form *form)
{
    *j = (gemm_cl_job){.g = g, .asked = row, .w = gemm_cl_begin_work(row)};
    gemm_cl_op o = {.traits = j->w.device->traits, .asked = row, .form = form, .g = *g};
    if (row->family->kind == GEMM_CL_CLBLAST) return gemm_clblast_missing();
    if (!fits_int(g)) return "a row is longer than the OpenCL kernels' offsets can say";
    return gemm_cl_walk(&j->w, &o, build_programs, j, j->weighed, sizeof j->weighed);
}

int gemm_cl_prepare(gemm_cl_job *j, const gemm_call *g, const gemm_cl_row *row,
                    const gemm_cl_form *form)
{
    const char *why = gemm_cl_build_job(j, g, row, form);
    if (why) {
        gemm_cl_say_left_out(why);
        return -1;
    }
    return gemm_cl_lay_out_job(j);
}

int gemm_cl_show(gemm_cl_job *j, gemm_cl_mode mode)
{
    const bool beside = mode == GEMM_CL_BESIDE;
    const gemm_call *g = j->g;
    gemm_cl_work *w = &j->w;
    const int threads = w->copy_threads;
    w->A = (gemm_cl_view){.host = (float *)g->A, .ld = (size_t)g->lda, .beside = beside,
                          .trusts = mode != GEMM_CL_RESIDENT, .threads = threads,
                          .rows = (size_t)(g->TA ? g->K : g->M),
                          .cols = (size_t)(g->TA ? g->M : g->K)};
    w->B = (gemm_cl_view){.host = (float *)g->B, .ld = (size_t)g->ldb, .beside = beside,
                          .threads = threads,
                          .rows = (size_t)(g->TB ? g->N : g->K),
                          .cols = (size_t)(g->TB ? g->K : g->N)};
    w->C = (gemm_cl_view){.host = g->C, .ld = (size_t)g->ldc, .rows = (size_t)g->M,
                          .cols = (size_t)g->N, .beside = beside, .stored = stores(w),
                          .threads = threads};
    const bool by_cpu = w->row->family->kind == GEMM_CL_IMAGE && mode != GEMM_CL_RESIDENT &&
                        w->policy->shares && !w->row->half && !gemm_cl_block_of(g->B);
    if (!by_cpu && w->policy->input(&w->B, SLOT_B)) return -1;
    return w->policy->input(&w->A, SLOT_A) || w->policy->output(&w->C) ? -1 : 0;
}

gemm_status gemm_cl_end_job(gemm_cl_job *j, bool failed, gemm_note *note)
{
    const gemm_status status = gemm_cl_end_work(&j->w, failed, note);
    gemm_cl_empty_panels(&j->panels);
    free(j->panels.list);
    return status;
}

/* Once all is enqueued, the CPU compares A with the weights that the device has. If A changed, all
   comes again behind the first result, which nobody takes. */
static int confirm(gemm_cl_job *j)
{
    gemm_cl_work *w = &j->w;
    if (!w->A.unchecked || gemm_cl_has_rows(&w->A, w->A.unchecked)) return 0;
    w->A.trusts = false;
    w->A.unchecked = NULL;
    gemm_cl_empty_panels(&j->panels);
    CL_RELEASE(clReleaseEvent, w->C.arrival);
    if (w->policy->input(&w->A, SLOT_A) || w->policy->output(&w->C)) return -1;
    return gemm_cl_enqueue(j) || w->policy->ask(&w->C) ? -1 : 0;
}

gemm_status gemm_cl_multiply_start(gemm_cl_job *j, const gemm_call *g, const gemm_cl_row *row,
                                   const gemm_cl_form *form, gemm_cl_mode mode,
                                   const gemm_context *context)
{
    if (gemm_cl_postpones()) {
        gemm_cl_build_job(j, g, row, form);
        return GEMM_DECLINED;
    }
    bool failed = gemm_cl_prepare(j, g, row, form);
    gemm_cl_share_copies(&j->w, context);
    failed = failed || gemm_cl_show(j, mode) || gemm_cl_enqueue(j) ||
             j->w.policy->ask(&j->w.C) || confirm(j);
    return failed ? gemm_cl_end_job(j, true, context->note) : GEMM_DONE;
}

gemm_status gemm_cl_multiply_finish(gemm_cl_job *j, gemm_note *note)
{
    const bool failed = gemm_cl_take_output(&j->w.C, j->w.policy);
    if (!failed) gemm_cl_fill_note(&j->w, j->w.row != j->asked, note);
    if (!failed) strcpy(note->weighed, j->weighed);
    return gemm_cl_end_job(j, failed, note);
}
