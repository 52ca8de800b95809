/* SPDX-License-Identifier: MIT */
/* Multiplies and convolutions of the OpenCL rows: see cl_cases.h. */
#include "support/cl_cases.h"

#include "check/check.h"
#include "check/conv_check.h"
#include "cl/choice.h"
#include "driver/driver.h"
#include "hybrid/hybrid.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Thread_local gemm_note cl_note;

int cl_seed = 1;

rng cl_rng(int number)
{
    return rng_make((uint64_t)cl_seed, (uint64_t)number);
}

const char cl_spills[] = "the OpenCL compiler spills the registers of the kernel";

const char *cl_policy_name(char policy)
{
    return policy == 'u' ? "unified" : "discrete";
}

/* ---- rows ---- */

gemm_cl_row cl_ahead_row(void)
{
    gemm_cl_row row = gemm_cl_choices[GEMM_CL_IMAGE_8x4];
    row.defines = row.family->discrete;
    return row;
}

const gemm_cl_row *cl_conv_row(size_t n, char *title, size_t bytes)
{
    static gemm_cl_row ahead;
    const gemm_cl_row *const named[] = {&gemm_cl_best, &gemm_cl_direct, &ahead, &gemm_cl_half,
                                        &gemm_cl_half_fast, &gemm_cl_direct_winograd};
    enum { NAMED = sizeof named / sizeof *named };
    ahead = cl_ahead_row();
    const gemm_cl_row *r = n < NAMED ? named[n] : NULL;
    size_t left = n - NAMED;
    for (int i = 0; n >= NAMED && !r && i < GEMM_CL_CHOICES; ++i)
        if (gemm_cl_choices[i].family->conv && left-- == 0) r = &gemm_cl_choices[i];
    const gemm_cl_family *f = r ? r->family : NULL;
    if (r)
        snprintf(title, bytes, "%s%s%.0d-%dx%d-%dx%d%s%.0d%s",
                 f->kernel ? f->kernel : r->way ? r->way : "cl", r->half ? "-half" : "",
                 r->winograd, r->rows, r->cols, r->wx, r->wy, r->depth ? "-k" : "", r->depth,
                 r->defines);
    return r;
}

bool cl_needs_plan(const gemm_cl_row *row)
{
    return row->family->direct || row->way;
}

/* How the row of the table rounds that has this row's data, or NULL. Copies of rows have the same
   use of 16 bits. */
static const gemm_rounding *rounding_of(const gemm_cl_row *row)
{
    for (size_t i = 0; row->half && i < gemm_variant_count; ++i) {
        const gemm_cl_row *other = gemm_variants[i].params;
        const gemm_rounding *rounding = gemm_variants[i].rounding;
        if (gemm_is_on_device(&gemm_variants[i]) && rounding && other->half == row->half)
            return rounding;
    }
    return NULL;
}

/* ---- memory ---- */

/* The floats, or a copy of them in memory of gemm_host_alloc. */
static float *place(cl_case *p, int i, const float *floats, size_t count)
{
    p->at[i] = p->shared ? gemm_host_alloc(count, sizeof(float)) : (float *)floats;
    if (!p->at[i]) abort();
    return p->shared ? memcpy(p->at[i], floats, count * sizeof(float)) : p->at[i];
}

static size_t floats_of(const guarded *m)
{
    return (size_t)(m->rows - 1) * (size_t)m->ld + (size_t)m->columns;
}

cl_case cl_multiply(rng *r, int TA, int TB, int M, int N, int K, int pad, bool shared)
{
    static const int none[3];
    cl_case p = {.shared = shared};
    product *of = &p.of;
    of->call = (gemm_call){.TA = TA, .TB = TB, .M = M, .N = N, .K = K,
                           .ALPHA = rng_below(r, 2) ? 1.0f : -0.5f, .lda = (TA ? M : K) + pad,
                           .ldb = (TB ? K : N) + pad, .ldc = N + pad};
    product_place(of, AT_END, none, r);
    p.g = of->call;
    p.g.A = place(&p, 0, p.g.A, floats_of(&of->A));
    p.g.B = place(&p, 1, p.g.B, floats_of(&of->B));
    p.g.C = place(&p, 2, p.g.C, floats_of(&of->C));
    return p;
}

cl_case cl_convolution(rng *r, const conv_call *c, bool shared)
{
    const conv_shape s = {"", c->batch, c->groups, c->c, c->h, c->w, c->n, c->size, c->stride,
                          c->pad};
    cl_case p = {.convolves = true, .shared = shared, .own = conv_shape_make(&s, c->activation)};
    const size_t inputs = (size_t)(c->batch * c->c * c->h * c->w), outputs = conv_outputs(c);
    if (c->pool) conv_shape_pool(&p.own);
    conv_shape_fill(&p.own, r);
    memset(p.own.output, 0xff, outputs * sizeof(float));
    p.c = p.own;
    p.c.input = place(&p, 0, p.c.input, inputs);
    p.c.weights = place(&p, 1, p.c.weights, (size_t)c->n * (size_t)gemm_conv_taps(c));
    p.c.output = place(&p, 2, p.c.output, outputs);
    if (rng_below(r, 2)) p.c.scale = NULL;
    return p;
}

void cl_case_free(cl_case *p)
{
    for (int i = 0; i < 3 && p->shared; ++i) gemm_host_free(p->at[i]);
    if (p->convolves) conv_shape_free(&p->own);
    else product_free(&p->of);
}

/* ---- cases by number ---- */

conv_call cl_geometry(const conv_shape *s, bool pool)
{
    conv_call c = {.batch = s->batch, .groups = s->groups, .c = s->c, .h = s->h, .w = s->w,
                   .n = s->n, .size = s->size, .stride = s->stride, .pad = s->pad, .pool = pool};
    c.out_h = conv_places(c.h, &c);
    c.out_w = conv_places(c.w, &c);
    return c;
}

cl_case cl_draw_multiply(rng *r, cl_how *how, int number, bool small)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 27, 31, 32, 33, 63, 65, 100, 129,
                                169, 257};
    static const int pads[] = {0, 0, 1, 4, 13};
    const int most = small ? 11 : (int)(sizeof sizes / sizeof sizes[0]);
    const int M = sizes[rng_below(r, most)], N = sizes[rng_below(r, most)];
    const int K = sizes[rng_below(r, most)], pad = pads[rng_below(r, 5)];
    const bool shared = rng_below(r, 2);
    how->parts = gemm_cl_splits(how->row) ? rng_below(r, 5) : 0;
    return cl_multiply(r, number & 1, number >> 1 & 1, M, N, K, pad, shared);
}

/* Filters as large as the image, so that the row is a matrix times a vector; K is long enough for
   cl_gemv. */
static conv_call draw_gemv(rng *r)
{
    static const int taps[] = {64, 65, 130, 511, 512, 1023, 1544};
    conv_call c = {.batch = 1 + rng_below(r, 2), .groups = 1 + rng_below(r, 3) / 2, .out_h = 1,
                   .out_w = 1, .stride = 1 + rng_below(r, 2),
                   .size = rng_below(r, 2) ? 1 : 1 + rng_below(r, 4),
                   .activation = (conv_activation)rng_below(r, CONV_ACTIVATIONS)};
    const int area = c.size * c.size;
    c.h = c.w = c.size;
    c.c = c.groups * ((taps[rng_below(r, 7)] + area - 1) / area);
    c.n = c.groups * (1 + rng_below(r, 40));
    return c;
}

/* Whether the row is a kernel that computes only what gemm_cl_can_direct says. */
static bool is_direct(const gemm_cl_row *row)
{
    return row->family->direct;
}

/* Any size, stride, padding and channels; of the same size, depthwise, grouped, or 1x1 in place. */
static conv_call draw_kind(rng *r, int number, int most)
{
    static const int channels[] = {1, 2, 3, 4, 5, 8, 9, 13, 17, 33, 70};
    conv_call c = {.batch = 1 + rng_below(r, 3), .groups = 1, .size = 1 + rng_below(r, 7),
                   .stride = 1 + rng_below(r, 3), .pad = rng_below(r, 4),
                   .activation = (conv_activation)rng_below(r, CONV_ACTIVATIONS)};
    c.c = channels[rng_below(r, most)];
    c.n = channels[rng_below(r, most)];
    switch (number % 5) {
    case 1: c.stride = 1; c.size = 1 + 2 * rng_below(r, 4); c.pad = c.size / 2; break;
    case 2: c.groups = c.c; c.n = c.c * (1 + rng_below(r, 2)); c.pad = c.size / 2; break;
    case 3:
        c.groups = 1 + rng_below(r, 4);
        c.c = c.groups * (1 + rng_below(r, 6));
        c.n = c.groups * (1 + rng_below(r, 20));
        break;
    case 4: c.size = c.stride = 1; c.pad = 0; break;
    default: break;
    }
    return c;
}

/* What the row's kernel computes of it. */
static void suit_row(conv_call *c, rng *r, const gemm_cl_row *row, int number)
{
    static const int sizes[] = {3, 3, 5, 1};
    if (is_direct(row)) {
        c->size = row->winograd ? 3 : sizes[number % 4];
        if (c->size == 5 && row->rows > 4) c->size = 3;     /* as direct_choice says */
        c->stride = c->size == 3 ? 1 + number % 2 : 1;
        c->pad = rng_below(r, c->size / 2 + 1);
    }
    if (!row->winograd) return;
    c->size = 3, c->stride = c->groups = 1;
}

/* Whether the row computes a convolution with the drawn sides. */
static bool draw_sides(conv_call *c, rng *r, const gemm_cl_row *row, int most)
{
    static const int sides[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 33, 40};
    c->h = sides[rng_below(r, most)];
    c->w = sides[rng_below(r, most)];
    c->out_h = conv_places(c->h, c);
    c->out_w = conv_places(c->w, c);
    return c->h + 2 * c->pad >= c->size && c->w + 2 * c->pad >= c->size &&
           (!is_direct(row) || gemm_cl_can_direct(c));
}

/* Each sixth one for cl_gemv; each not pooled, then pooled where the row can and even sizes are
   found. */
conv_call cl_draw_geometry(rng *r, const gemm_cl_row *row, int number, bool small)
{
    const int most = small ? 6 : 11;
    if (row->family->one_column || (number % 6 == 5 && !row->winograd && !is_direct(row)))
        return draw_gemv(r);
    conv_call c = draw_kind(r, number, most);
    suit_row(&c, r, row, number);
    const bool pools = row->family->pools && !(is_direct(row) && c.size == 1);
    for (int i = 0; pools && number / 5 % 2 && !c.pool && i < 100; ++i)
        c.pool = draw_sides(&c, r, row, most) && c.out_h % 2 == 0 && c.out_w % 2 == 0 &&
                 (row->family->conv != GEMM_CL_ONLY_CONV || gemm_conv_taps(&c) <= 256);
    while (!c.pool && !draw_sides(&c, r, row, most)) continue;
    if (c.pool && c.activation > CONV_RELU) c.activation = CONV_LEAKY;
    return c;
}

cl_case cl_draw_convolution(rng *r, cl_how *how, int number, bool small)
{
    conv_call c = cl_draw_geometry(r, how->row, number, small);
    const bool shared = rng_below(r, 2);
    how->parts = gemm_cl_splits(how->row) ? rng_below(r, 5) : 0;
    return cl_convolution(r, &c, shared);
}

/* ---- one call ---- */

/* Notes of hybrid have times of kernels. */
static gemm_context context_of(const cl_how *how)
{
    gemm_context x = gemm_make_context(&cl_note);
    x.timed = how->hybrid;
    return x;
}

static gemm_hybrid_sides sides_of(const cl_how *how)
{
    gemm_hybrid_sides sides = *(const gemm_hybrid_sides *)gemm_find("hybrid")->params;
    sides.forced = how->share;
    return sides;
}

static gemm_cl_row cut_row(const cl_how *how)
{
    gemm_cl_row row = *how->row;
    row.parts = how->parts;
    return row;
}

gemm_status cl_call(const gemm_call *g, const cl_how *how)
{
    const gemm_context x = context_of(how);
    const gemm_hybrid_sides sides = sides_of(how);
    const gemm_cl_row row = cut_row(how);
    if (!how->hybrid) return gemm_cl_multiply(g, &x, &row);
    const gemm_status status = gemm_hybrid(g, &x, &sides);
    if (status != GEMM_DECLINED) return status;
    gemm_stock_loops(g);
    return GEMM_DONE;
}

gemm_status cl_convolve(const conv_call *c, const cl_how *how)
{
    gemm_context x = context_of(how);
    const gemm_cl_row row = cut_row(how);
    gemm_kept own = {.room = SIZE_MAX};
    x.kept = cl_needs_plan(&row) && !how->kept ? &own : how->kept;
    gemm_status status = gemm_cl_conv(c, &x, &row);
    const char *lost = gemm_cl_give_to_cpu(c->output, conv_outputs(c) * sizeof(float),
                                           GEMM_CL_CPU_READS);
    if (lost) {
        status = GEMM_FAILED;
        snprintf(cl_note.reason, sizeof cl_note.reason, "%s", lost);
    }
    if (own.data) own.free(own.data);
    return status;
}

/* ---- the judge ---- */

gemm_status cl_run(const cl_case *p, const cl_how *how, gemm_error *worst)
{
    const gemm_rounding *rounding = rounding_of(how->row);
    gemm_oracle oracle;
    gemm_status status;
    if (how->policy) gemm_cl_force_memory(how->policy);
    if (p->convolves) {
        status = cl_convolve(&p->c, how);
        if (gemm_conv_compare_rounded(&p->c, cl_note.transform, rounding, worst)) abort();
    } else {
        if (gemm_oracle_make(&oracle, &p->g)) abort();
        status = cl_call(&p->g, how);
        *worst = gemm_oracle_compare_rounded(&oracle, &p->g, rounding);
        gemm_oracle_free(&oracle);
    }
    if (how->policy) gemm_cl_force_memory(0);
    return status;
}

const char *cl_judge(const cl_case *p, const cl_how *how)
{
    static _Thread_local char why[128];
    gemm_error worst;
    const gemm_status status = cl_run(p, how, &worst);
    if (status != GEMM_DONE && p->convolves && !strcmp(cl_note.reason, cl_spills)) return cl_spills;
    if (status != GEMM_DONE) return status == GEMM_FAILED ? "it failed" : "it declined";
    if (!(worst.ratio <= 1)) {
        snprintf(why, sizeof why, "image %d, row or filter %d at %d is off by %g, %.3g times the "
                 "bound", worst.image, worst.row, worst.column, worst.difference, worst.ratio);
        return why;
    }
    const bool intact = p->convolves || p->shared || guarded_padding_intact(&p->of.C);
    return intact ? NULL : "it wrote between the rows of C";
}

/* ---- what a layer counts ---- */

static char counts[] = "/tmp/test_cl_counts_XXXXXX";

static void remove_counts(void)
{
    unlink(counts);
}

const atomic_int *cl_open_counts(void)
{
    enum { BYTES = 3 * sizeof(atomic_int) };
    const int fd = mkstemp(counts);
    if (fd < 0 || ftruncate(fd, BYTES) || atexit(remove_counts)) exit(2);
    void *all = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED) exit(2);
    close(fd);
    setenv("CL_COUNT", counts, 1);
    return all;
}
