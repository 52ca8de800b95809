/*
 * One whole convolution on the OpenCL device.
 *
 * Image by image and group by group it is a multiply (kernels/cl_conv.h), and all of them are one
 * launch of a kernel that multiplies, built with -DCONV:
 *
 *   views      the memory policy shows weights, input and output to the device, as A, B and C
 *   norm       scale and shift go to the device, 2 n floats, counted with the input
 *   fill       only for cl_image: the device writes what im2col would write into one image. Every
 *              other kernel looks taps up in the input itself, and a 1 x 1 convolution of stride 1
 *              needs none of this: its B is the input as it lies, under cl_image too
 *   multiply   one launch; scale, shift and activation are applied before the store
 *   sum        only where K is cut: adds the parts, and applies them then
 *   result     one wait
 *
 * The output is written by the last launch alone: a failure before leaves it as it was.
 */
#include "cl/launch.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct conv_job {
    const conv_call *c;
    gemm_call g;                    /* the shape of one product */
    int products, K;
    bool taps;                      /* B is not the input as it lies */
    gemm_cl_work w;
    cl_mem norm, sums, image;       /* sums: the parts' outputs; NULL each where there are none */
    int width, strips;              /* of the image: pixels a row, rows for a row of B */
    float *scale_shift;             /* norm, until it is uploaded */
    float slope;
    cl_int logistic;
} conv_job;

/* Kernels count in int. */
static bool fits_int(const conv_call *c)
{
    const double area = (double)c->h * c->w, places = (double)c->out_h * c->out_w;
    const double K = (double)(c->c / c->groups) * c->size * c->size;
    return area < INT_MAX / 2 && places < INT_MAX / 2 && K < INT_MAX / 2 &&
           (double)c->batch * c->groups < INT_MAX / 128;
}

static bool has_kernel(const gemm_cl_row *row)
{
    return row->kernel &&
          (!strcmp(row->kernel, "cl_image") || !strcmp(row->kernel, "cl_thin") ||
           !strcmp(row->kernel, "cl_tile") || !strcmp(row->kernel, "cl_conv_wide"));
}

/* A common size is a constant for the compiler. */
static int size_options(const conv_call *c, char *options, size_t bytes)
{
    return c->size <= 5 && c->size % 2 ? snprintf(options, bytes, " -DSIZE=%d", c->size) : 0;
}

/* ---- cl_image's image ------------------------------------------------------------------------ */

/* Lays all rows of B of all products out in one image; false when none is large enough. */
static bool lay_out_image(conv_job *j)
{
    const gemm_cl_device *d = j->w.device;
    const size_t pixels = (size_t)ceil_div(j->g.N, 4);
    const size_t strips = d->image_width ? (pixels + d->image_width - 1) / d->image_width : 0;
    const size_t rows = strips * (size_t)j->products;
    if (!strips || rows > d->image_height / (size_t)j->K) {
        return false;
    }
    j->strips = (int)strips;
    j->width = (int)((pixels + strips - 1) / strips);
    return true;
}

static int fill_image(conv_job *j)
{
    const conv_call *c = j->c;
    char options[64] = "-cl-fast-relaxed-math -DCONV";
    size_options(c, options + strlen(options), sizeof options - strlen(options));
    const gemm_cl_program *fill = gemm_cl_build("cl_fill", options, NULL);
    const cl_ulong first = j->w.B.offset;
    const size_t global[3] = {(size_t)ceil_div(j->g.N, 4), (size_t)j->K, (size_t)j->products};
    j->image = gemm_cl_image_get((size_t)j->width,
                                 (size_t)j->strips * (size_t)j->products * (size_t)j->K);
    const gemm_cl_argument args[] = {
        ARG(j->g.N), ARG(j->K), ARG(j->w.B.mem), ARG(first), ARG(j->image), ARG(j->width),
        ARG(j->strips), ARG(c->h), ARG(c->w), ARG(c->out_w), ARG(c->size), ARG(c->stride),
        ARG(c->pad)};
    return fill && j->image ? gemm_cl_launch(&j->w, fill, STAGE_PREPARE, args, global, NULL) : -1;
}

/* ---- the kernels ----------------------------------------------------------------------------- */

/* Whether a tap is the channel itself from a constant distance on. */
static bool is_shifted(const conv_call *c)
{
    return c->stride == 1 && c->out_h == c->h && c->out_w == c->w && c->size <= 5 && c->size % 2;
}

static bool by_image(const conv_job *j)
{
    return j->w.row->way == GEMM_CL_IMAGE && j->taps;
}

/* The row's kernel, or why there is none. */
static const char *build_kernel(conv_job *j)
{
    const conv_call *c = j->c;
    const gemm_cl_row *row = j->w.row;
    const bool image = row->way == GEMM_CL_IMAGE, wide = !strcmp(row->kernel, "cl_conv_wide");
    char options[256];
    const char *why = gemm_cl_row_refused(&j->w);
    if (why) {
        return why;
    }
    int n = gemm_cl_row_options(row, options, sizeof options);
    n += snprintf(options + n, sizeof options - (size_t)n, "%s%s", *row->defines ? " " : "",
                  row->defines);
    n += size_options(c, options + n, sizeof options - (size_t)n);
    n += snprintf(options + n, sizeof options - (size_t)n, "%s%s%s%s%s", wide ? "" : " -DCONV",
                  j->taps && !image ? " -DTAPS" : "", image && !j->taps ? " -DIN_PLACE" : "",
                  wide && j->taps && is_shifted(c) ? " -DSHIFTED" : "",
                  wide && j->g.M <= row->rows ? " -DDIRECT" : "");
    if (image && j->K % 4 == 0 && (uintptr_t)c->weights % 16 == 0) {
        snprintf(options + n, sizeof options - (size_t)n, " -DALIGNED_A");
    }
    j->w.program = gemm_cl_build(row->kernel, options, &why);
    return j->w.program ? gemm_cl_row_refused(&j->w) : why;
}

static int multiply(conv_job *j)
{
    const conv_call *c = j->c;
    const gemm_cl_row *row = j->w.row;
    const size_t steps = row->way == GEMM_CL_IMAGE ? 4 : 16;
    const int kpart = (int)round_up((size_t)ceil_div(j->K, j->w.parts), steps);
    const int parts = ceil_div(j->K, kpart), one = 1;
    const int brs = by_image(j) ? j->width : c->h * c->w, bcs = by_image(j) ? j->strips : 1;
    const cl_mem from = by_image(j) ? j->image : j->w.B.mem, to = j->sums ? j->sums : j->w.C.mem;
    const cl_ulong a0 = j->w.A.offset, b0 = by_image(j) ? 0 : j->w.B.offset;
    const cl_ulong c0 = j->sums ? 0 : j->w.C.offset;
    const cl_ulong outputs = (cl_ulong)c->batch * (cl_ulong)c->n * (cl_ulong)j->g.N;
    const cl_ulong cpart = j->sums ? outputs : 0;
    const cl_ulong elements = (cl_ulong)c->batch * (cl_ulong)c->c * (cl_ulong)(c->h * c->w);
    const gemm_cl_argument args[] = {
        ARG(j->g.M), ARG(j->g.N), ARG(j->K), ARG(j->g.ALPHA), ARG(j->w.A.mem), ARG(a0), ARG(j->K),
        ARG(one), ARG(from), ARG(b0), ARG(brs), ARG(bcs), ARG(to), ARG(c0), ARG(j->g.N), ARG(kpart),
        ARG(cpart), ARG(j->products), ARG(c->groups), ARG(c->h), ARG(c->w), ARG(c->out_w),
        ARG(c->size), ARG(c->stride), ARG(c->pad), ARG(j->norm), ARG(j->slope), ARG(j->logistic),
        ARG(elements)};
    size_t global[3] = {(size_t)ceil_div(j->g.N, row->cols), (size_t)ceil_div(j->g.M, row->rows),
                        (size_t)parts * (size_t)j->products};
    size_t local[3];
    gemm_cl_set_groups(&j->w, global, local);
    j->w.parts = parts;
    return gemm_cl_launch(&j->w, j->w.program, STAGE_MULTIPLY, args, global, local);
}

static int add_sums(conv_job *j)
{
    const gemm_cl_program *sum = gemm_cl_build("cl_sum", "-cl-fast-relaxed-math -DCONV", NULL);
    const int rows = j->c->batch * j->c->n;
    const cl_ulong into = j->w.C.offset;
    const gemm_cl_argument args[] = {
        ARG(rows), ARG(j->g.N), ARG(j->w.parts), ARG(j->sums), ARG(j->w.C.mem), ARG(into),
        ARG(j->g.N), ARG(j->c->n), ARG(j->norm), ARG(j->slope), ARG(j->logistic)};
    if (!sum) {
        return -1;
    }
    const size_t items = sum->group_items < 64 ? sum->group_items : 64;
    const size_t local[3] = {items, 1, 1};
    const size_t global[3] = {round_up((size_t)j->g.N, items), (size_t)rows, 1};
    return gemm_cl_launch(&j->w, sum, STAGE_SUM, args, global, local);
}

static int enqueue_all(conv_job *j)
{
    if (j->w.parts > 1) {
        j->sums = gemm_cl_scratch(SLOT_PARTS, (size_t)j->w.parts * (size_t)j->products *
                                                  (size_t)j->g.M * (size_t)j->g.N * sizeof(float));
        if (!j->sums) {
            return -1;
        }
    }
    if ((by_image(j) && fill_image(j) != 0) || multiply(j) != 0) {
        return -1;
    }
    return j->sums ? add_sums(j) : 0;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* Nothing waits for this upload: what it reads lasts until the call ends. */
static int upload_norm(conv_job *j)
{
    const conv_call *c = j->c;
    const size_t n = (size_t)c->n, bytes = 2 * n * sizeof(float);
    j->norm = gemm_cl_scratch(SLOT_NORM, bytes);
    j->scale_shift = malloc(bytes);
    if (!j->norm || !j->scale_shift) {
        goto fail;
    }
    for (size_t i = 0; i < n; ++i) {
        j->scale_shift[i] = c->scale ? c->scale[i] : 1.0f;
        j->scale_shift[n + i] = c->shift[i];
    }
    CL_TRY(clEnqueueWriteBuffer(j->w.device->queue, j->norm, CL_FALSE, 0, bytes, j->scale_shift, 0,
                                NULL, NULL));
    j->w.B.copied += bytes;
    return 0;
fail:
    return -1;
}

static int show_arrays(conv_job *j)
{
    const conv_call *c = j->c;
    const size_t area = (size_t)c->h * (size_t)c->w;
    j->w.A = (gemm_cl_view){.host = (float *)c->weights, .rows = (size_t)c->n,
                            .cols = (size_t)j->K, .ld = (size_t)j->K};
    j->w.B = (gemm_cl_view){.host = (float *)c->input, .rows = (size_t)c->batch * (size_t)c->c,
                            .cols = area, .ld = area};
    j->w.C = (gemm_cl_view){.host = c->output, .rows = (size_t)c->batch * (size_t)c->n,
                            .cols = (size_t)j->g.N, .ld = (size_t)j->g.N, .overwrite = true};
    /* B first: while it is on the bus, the CPU looks whether A is there already */
    return j->w.policy->input(&j->w.B, SLOT_B) || j->w.policy->input(&j->w.A, SLOT_A) ||
           j->w.policy->output(&j->w.C) || upload_norm(j);
}

static int start(conv_job *j, const conv_call *c, const gemm_cl_row *row, int parts)
{
    const char *why = NULL;
    *j = (conv_job){.c = c, .w = {.row = row, .parts = 1}};
    if (!fits_int(c)) {
        return -1;
    }
    j->products = c->batch * c->groups;
    j->K = c->c / c->groups * c->size * c->size;
    j->taps = c->size != 1 || c->stride != 1 || c->pad != 0;
    j->g = (gemm_call){.M = c->n / c->groups, .N = c->out_h * c->out_w, .K = j->K, .ALPHA = 1.0f};
    j->slope = c->activation == CONV_LEAKY ? 0.1f : c->activation == CONV_RELU ? 0.0f : 1.0f;
    j->logistic = c->activation == CONV_LOGISTIC;
    j->w.device = gemm_cl_open(&why);
    if (j->w.device && row->way == GEMM_CL_CHOOSE) {
        j->w.row = gemm_cl_choose_conv(&j->w.device->traits, &j->g, j->products, &j->w.parts);
        if (by_image(j) && !lay_out_image(j)) {
            gemm_cl_traits without = j->w.device->traits;
            without.images = false;
            j->w.row = gemm_cl_choose_conv(&without, &j->g, j->products, &j->w.parts);
        }
    } else if (j->w.device && (!has_kernel(row) || (by_image(j) && !lay_out_image(j)))) {
        return -1;
    }
    if (j->w.device) {
        why = build_kernel(j);
    }
    return gemm_cl_begin_work(&j->w, why, parts);
}

gemm_status gemm_cl_conv_parts(const conv_call *c, const gemm_context *context,
                               const gemm_cl_row *row, int parts)
{
    conv_job j;
    gemm_cl_lock();
    int rc = start(&j, c, row, parts);
    if (rc == 0) {
        rc = show_arrays(&j) || enqueue_all(&j) || j.w.policy->result(&j.w.C);
    }
    if (rc == 0) {
        gemm_cl_fill_note(&j.w, true, context->note);
    }
    gemm_cl_end_work(&j.w, rc != 0);
    free(j.scale_shift);
    gemm_cl_unlock();
    return rc ? GEMM_DECLINED : GEMM_DONE;
}

gemm_status gemm_cl_conv(const conv_call *c, const gemm_context *context, const void *row)
{
    return gemm_cl_conv_parts(c, context, row, 0);
}
