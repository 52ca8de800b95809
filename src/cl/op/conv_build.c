/* SPDX-License-Identifier: MIT */
/* The kernels of a convolution: see conv_build.h. */
#include "cl/op/conv_build.h"

#include "../../../kernels/cl_strip.h"
#include "util/text.h"

#include <stdint.h>

typedef gemm_cl_conv_job conv_job;

/* Filters of 1, 3 and 5 are built with their size as a constant. */
static bool has_common_size(const conv_call *c)
{
    return c->size <= 5 && c->size % 2;
}

static void add_size(const conv_call *c, gemm_text *options)
{
    if (has_common_size(c)) gemm_text_add(options, " -DSIZE=%d", c->size);
}

static void add_if(bool holds, const char *option, gemm_text *options)
{
    if (holds) gemm_text_add(options, " %s", option);
}

/* ---- cl_image's image ---- */

bool gemm_cl_conv_has_image(const conv_job *j)
{
    const gemm_cl_row *row = j->w.row;
    return row->family->way == GEMM_CL_IMAGE &&
           (j->taps || row->half == GEMM_CL_HALF_SUMS || j->g.N < row->cols);
}

bool gemm_cl_conv_lay_out(conv_job *j)
{
    const gemm_cl_device *d = j->w.device;
    const size_t pixels = (size_t)ceil_div(j->g.N, 4), widest = d->image_width / 2 * 2;
    const size_t strips = widest ? (pixels + widest - 1) / widest : 0;
    const size_t rows = strips * (size_t)j->products;
    if (!strips || rows > d->image_height / (size_t)j->g.K) return false;
    j->strips = (int)strips;
    /* Two neighbours, for a tile of 8 columns, are in the same row. */
    j->width = (int)round_up((pixels + strips - 1) / strips, 2);
    return true;
}

const gemm_cl_program *gemm_cl_conv_build_fill(const conv_job *j, const char **why)
{
    gemm_text options = {0};
    gemm_text_add(&options, "-DCONV");
    add_size(j->c, &options);
    add_if(j->w.row->half, "-DHALF", &options);
    add_if(j->c->pool, "-DPOOL", &options);
    const gemm_cl_program *fill = gemm_cl_build("cl_fill", gemm_text_whole(&options), why);
    gemm_text_free(&options);
    return fill;
}

/* ---- the row's kernel ---- */

/* Whether a tap is the channel itself from a constant distance on. */
static bool is_shifted(const conv_call *c)
{
    return c->stride == 1 && c->out_h == c->h && c->out_w == c->w && has_common_size(c);
}

bool gemm_cl_conv_can_pool(const conv_job *j)
{
    const gemm_cl_row *row = j->w.row;
    return row->family->pools && (!row->family->direct || gemm_cl_can_direct(j->c)) &&
           (row->family->conv != GEMM_CL_ONLY_CONV || row->winograd || j->g.K <= CL_KC);
}

/* Whether rows of A begin at multiples of 16 bytes. A plan's weights do. */
static bool has_aligned_weights(const conv_job *j)
{
    return j->g.K % 4 == 0 && (j->kept || (uintptr_t)j->c->weights % 16 == 0);
}

/* The same for rows of a B that is the input as it lies. */
static bool has_aligned_input(const conv_job *j)
{
    const conv_call *c = j->c;
    return !j->taps && j->in == c && c->h * c->w % 4 == 0 && (uintptr_t)c->input % 16 == 0;
}

bool gemm_cl_conv_packs(const conv_job *j)
{
    const gemm_cl_traits *t = &j->w.device->traits;
    return j->w.row->family->adds && (t->cpu || !t->unified);
}

const char *gemm_cl_conv_sum_options(const conv_job *j)
{
    if (j->shortcut) return GEMM_CL_MATH " -DCONV -DSHORTCUT";
    return j->c->pool ? GEMM_CL_MATH " -DCONV -DPOOL" : GEMM_CL_MATH " -DCONV";
}

/* The kernels beside the row's own. Those of Winograd's algorithm were there when it was chosen. */
static const char *build_helpers(conv_job *j)
{
    gemm_cl_work *w = &j->w;
    const char *why = NULL;
    if (w->row->half == GEMM_CL_HALF_SUMS) why = gemm_cl_why_left_out("cl_pack", "-DHALF");
    if (!why && gemm_cl_conv_has_image(j)) gemm_cl_conv_build_fill(j, &why);
    /* Without cl_sum the row can do with K as a whole. */
    const bool sums = !why && w->parts > 1;
    if (sums && !gemm_cl_need("cl_sum", gemm_cl_conv_sum_options(j))) w->parts = 1;
    return why;
}

const char *gemm_cl_conv_build(void *job)
{
    conv_job *j = job;
    const gemm_cl_row *row = j->w.row;
    if (!row->family->conv || (j->c->pool && !gemm_cl_conv_can_pool(j)) ||
        (j->shortcut && !row->family->adds))
        return "the OpenCL row has no kernel for this convolution";
    const bool image = row->family->way == GEMM_CL_IMAGE,
               wide = row->family->conv == GEMM_CL_ONLY_CONV;
    const bool loads_fours = image || row->depth || row->family->one_column;
    gemm_text more = {0};
    if (row->winograd && !row->family->direct) return gemm_cl_winograd_build(&j->winograd, &j->w);
    add_size(j->in, &more);
    if (row->family->direct) gemm_text_add(&more, " -DSTRIDE=%d", j->c->stride);
    add_if(!wide, "-DCONV", &more);
    add_if(gemm_cl_conv_packs(j), "-DPACKED", &more);
    add_if(j->c->pool, "-DPOOL", &more);
    add_if(j->in != j->c, "-DDEPTHWISE", &more);
    add_if(j->shortcut, "-DSHORTCUT", &more);
    add_if(loads_fours && has_aligned_weights(j), "-DALIGNED_A", &more);
    add_if(row->depth && has_aligned_input(j), "-DALIGNED_B", &more);
    add_if(image && !gemm_cl_conv_has_image(j), "-DIN_PLACE", &more);
    add_if(!image && !row->family->one_column && j->taps, "-DTAPS", &more);
    add_if(wide && j->taps && is_shifted(j->c), "-DSHIFTED", &more);
    add_if(wide && j->g.M <= row->rows, "-DDIRECT", &more);
    const char *why = gemm_cl_build_row(&j->w, gemm_text_whole(&more));
    gemm_text_free(&more);
    return why ? why : build_helpers(j);
}
