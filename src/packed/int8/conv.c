/* SPDX-License-Identifier: MIT */
/*
 * A convolution in whole numbers of 8 bits. The weights of a filter are w = step * q, with the
 * step max |w| / 127. The input is x = SCALE * (q - ZERO), q from -128 to 127, by the layer's
 * scale. Both are rounded to nearest, and an input beyond that range is limited to it. So
 *
 *     output = activation(sum of q * (q - ZERO) * (step * SCALE * scale) + shift)
 *
 * The image is rounded once, to quads of channels (isa/quads.h), with the pad around it. Columns of
 * a stride S lie in S parts, because the taps of a filter then are shifts of one part:
 *
 *     quads of channels 0 to 3    row 0  | columns 0, S, 2 S ... | columns 1, S + 1 ... | ...
 *                                 row 1  | ...
 *     quads of channels 4 to 7    ...
 *
 * It is a product of matrices for each image and group: M filters, N places, K taps in quads. A
 * chunk is a block of strips of B, all of K, by some panels of A. The strips are packed once and
 * stay in L2. A is read through: a panel meets all strips of the block. A sum of K products stays
 * in registers, so nothing is added twice.
 */
#include "int8/layer.h"
#include "int8/scales.h"
#include "packed/chain/chain.h"
#include "packed/conv/product.h"
#include "packed/gemm/memory.h"
#include "packed/isa/quads.h"
#include "packed/packed.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"
#include "util/workspace.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

/* How a convolution lies in quads. */
typedef struct layout {
    const conv_call *c;
    const gemm_quads *kernels;
    int channels, filters;      /* of a group */
    int planes, taps, quads;    /* of a group, of a filter in a plane, and their product */
    int width, panels;          /* filters of a panel; panels of a group */
    int rows, part;             /* of a plane, and quads of a part of a row */
    size_t row, plane;          /* quads */
} layout;

/* width: that of the panels of A; or vl in a chain, whose vectors of B (gemm_quads_nchwc) lie as
   panels of vl filters would. */
static layout layout_of(const conv_call *c, const gemm_quads *kernels, int width)
{
    layout l = {.c = c, .kernels = kernels, .channels = c->c / c->groups,
                .filters = c->n / c->groups, .taps = c->size * c->size, .width = width};
    l.planes = ceil_div(l.channels, 4);
    l.quads = l.planes * l.taps;
    l.panels = ceil_div(l.filters, width);
    l.rows = (c->out_h - 1) * c->stride + c->size;
    l.part = ceil_div((c->out_w - 1) * c->stride + c->size, c->stride);
    l.row = (size_t)l.part * c->stride;
    l.plane = l.row * l.rows;
    return l;
}

/* ---- filters ---- */

/* What is kept: rows of all panels of all groups, then the panels. */
typedef struct filters {
    float *step;                /* what a step of a filter stands for */
    int32_t *start;             /* of sums: quads.h */
    gemm_quad *panels;
} filters;

static int padded_rows(const layout *l)
{
    return l->c->groups * l->panels * l->width;
}

static size_t filter_bytes(const layout *l)
{
    return (size_t)padded_rows(l) * (2 + (size_t)l->quads) * sizeof(gemm_quad);
}

static filters filters_at(const layout *l, void *data)
{
    const int rows = padded_rows(l);
    gemm_quad *const q = data;
    return (filters){data, (int32_t *)(q + rows), q + 2 * (size_t)rows};
}

static int sum_of_bytes(gemm_quad q)
{
    int sum = 0;
    for (int i = 0; i < 32; i += 8) sum += (int8_t)(q >> i & 255);
    return sum;
}

/* Rounds a filter. Quads of its panel are `width` apart. False as below. */
static bool round_filter(const layout *l, int zero, const float *w, float *step, int32_t *start,
                         gemm_quad *to)
{
    float inverse;
    int sum = 0;
    if (!gemm_int8_step(w, l->channels * l->taps, step, &inverse)) return false;
    for (int k = 0; k < l->planes; ++k) {
        for (int tap = 0; tap < l->taps; ++tap, to += l->width) {
            for (int i = 0; i < min_int(4, l->channels - 4 * k); ++i)
                *to |= gemm_int8_byte(w[(4 * k + i) * l->taps + tap], inverse, 0) << 8 * i;
            sum += sum_of_bytes(*to);
        }
    }
    *start = gemm_quads_start(l->kernels, zero, sum);
    return true;
}

/* A layer, and its byte of 0. */
typedef struct filter_job {
    const layout *l;
    int zero;
} filter_job;

/* False: a weight is not finite. */
static bool make_filters(void *data, const void *job)
{
    const layout *l = ((const filter_job *)job)->l;
    const filters f = filters_at(l, data);
    const int width = l->width;
    memset(data, 0, filter_bytes(l));
    for (int n = 0; n < l->c->n; ++n) {
        const int m = n % l->filters, panel = n / l->filters * l->panels + m / width;
        const int row = panel * width + m % width;
        gemm_quad *const to = f.panels + (size_t)panel * l->quads * width + m % width;
        if (!round_filter(l, ((const filter_job *)job)->zero,
                          l->c->weights + (size_t)n * l->channels * l->taps, &f.step[row],
                          &f.start[row], to))
            return false;
    }
    return true;
}

/* The filters, for this byte of 0. The caller frees *own. */
static void *get_filters(const layout *l, int zero, gemm_kept *kept, void **own)
{
    const packed_form form = {l->kernels, l->width, filter_bytes(l), make_filters};
    const filter_job job = {l, zero};
    return packed_keep(kept, &form, &job, own);
}

/* ---- the image ---- */

typedef struct job {
    layout l;
    filters f;
    float inverse;              /* 1 / SCALE */
    int zero;                   /* ZERO */
    gemm_quad *image;
    float *scale, *shift;       /* of padded_rows */
    int pieces, piece;          /* of a plane, and rows in one */
    int strips, block;          /* of a product, and in a block */
    int blocks, parts;          /* of a product; of its panels */
} job;

static gemm_quad zero_of(const job *j)
{
    return gemm_quads_zero(j->l.kernels, j->zero);
}

static void fill(gemm_quad *to, int n, gemm_quad zero)
{
    for (int i = 0; i < n; ++i) to[i] = zero;
}

/* A row of the image goes to a row of the plane: each column to the part of its remainder. */
static void place_row(const job *j, const gemm_quad *from, gemm_quad *row)
{
    const layout *l = &j->l;
    const conv_call *c = l->c;
    const int S = c->stride, n = min_int(c->w, (int)l->row - c->pad);
    fill(row, (int)l->row, zero_of(j));
    if (S == 1 && n > 0) {
        memcpy(row + c->pad, from, (size_t)n * sizeof *row);
        return;
    }
    for (int s = 0; s < S; ++s) {
        const int skip = (s - c->pad % S + S) % S;      /* columns before the part's first one */
        gemm_quad *to = row + (size_t)s * l->part + (c->pad + skip) / S;
#pragma GCC unroll 4
        for (int i = skip; i < n; i += S) *to++ = from[i];
    }
}

/* A chunk is some rows of a plane. Those inside of the image are rounded together, because a row
   may be shorter than a vector. */
static void round_piece(void *arg, int chunk, void *scratch)
{
    const job *j = arg;
    const layout *l = &j->l;
    const conv_call *c = l->c;
    const int plane = chunk / j->pieces, first = chunk % j->pieces * j->piece;
    const int end = min_int(l->rows, first + j->piece), k = plane % l->planes * 4;
    const int y0 = max_int(first, c->pad), y1 = min_int(end, c->pad + c->h);
    const size_t area = (size_t)c->h * c->w;
    const float *x = c->input + ((size_t)(plane / l->planes) * l->channels + (size_t)k) * area;
    gemm_quad *const to = j->image + (size_t)plane * l->plane;
    const bool straight = c->stride == 1 && c->pad == 0 && l->row == (size_t)c->w &&
                          l->rows <= c->h;
    gemm_quad *const some = straight ? to + (size_t)first * l->row : scratch;
    if (y0 < y1)
        l->kernels->quantize((y1 - y0) * c->w, min_int(4, l->channels - k),
                             x + (size_t)(y0 - c->pad) * c->w, area, j->inverse, j->zero,
                             some);
    if (straight) return;
    for (int r = first; r < end; ++r) {
        gemm_quad *const row = to + (size_t)r * l->row;
        if (r < y0 || r >= y1) fill(row, (int)l->row, zero_of(j));
        else place_row(j, some + (size_t)(r - y0) * c->w, row);
    }
}

static int planes_of(const layout *l)
{
    return l->c->batch * l->c->groups * l->planes;
}

static int round_image(void *arg, int threads)
{
    enum { PIECE = 16 * 1024 };     /* quads: fewer are rounded before a worker could help */
    job *const j = arg;
    const layout *l = &j->l;
    j->piece = min_int(l->rows, max_int(1, PIECE / max_int(l->c->w, (int)l->row)));
    j->pieces = ceil_div(l->rows, j->piece);
    const bool alone = (size_t)planes_of(l) * l->plane < PIECE;
    return gemm_parallel(alone ? 1 : threads, planes_of(l) * j->pieces, round_piece, j);
}

/* ---- the product ---- */

/*
 * With a pool a strip has two halves: places of even rows of the output, and those below them. So
 * the blocks of 2x2 of a strip are whole, and their maxima are taken from a tile that is in L1. A
 * half has room for whole blocks, because nr is a multiple of 4.
 */
static int halves(const layout *l)
{
    return l->c->pool ? 2 : 1;
}

/* Columns of a half, or of a whole strip without a pool. */
static int half_strip(const layout *l)
{
    return l->kernels->nr / halves(l);
}

/* Strips of an image, and the places of one half of strip `i`. */
static int strips_of(const layout *l)
{
    return ceil_div(gemm_conv_places(l->c) / halves(l), half_strip(l));
}

static int columns_of(const layout *l, int strip)
{
    const int half = half_strip(l);
    return min_int(half, gemm_conv_places(l->c) / halves(l) - strip * half);
}

/* Where the quads of a strip of B lie in a plane. Returns the number of runs. Rows without a gap
   between them are one run. */
static int find_runs(const layout *l, int strip, gemm_quads_run *runs)
{
    const conv_call *c = l->c;
    const int rows = halves(l), half = half_strip(l), j0 = strip * half, n = columns_of(l, strip);
    const bool dense = !c->pool && l->row == (size_t)c->out_w && c->stride == 1;
    int count = 0;
    for (int below = 0; below < rows; ++below) {
        for (int at = 0, length; at < n; at += length) {
            const int y = (j0 + at) / c->out_w * rows + below, x = (j0 + at) % c->out_w;
            const size_t from = (size_t)y * c->stride * l->row + x;
            length = min_int(c->out_w - x, n - at);
            if (dense && count) runs->n += length;
            else runs[count++] = (gemm_quads_run){from, below * half + at, length};
        }
    }
    return count;
}

static void find_taps(const layout *l, size_t *taps)
{
    const int size = l->c->size, S = l->c->stride;
    for (int i = 0; i < l->taps; ++i) {
        const int y = i / size, x = i % size;
        taps[i] = (size_t)y * l->row + (size_t)(x % S) * l->part + x / S;
    }
}

/* Quads from strip to strip of a block. */
static size_t strip_quads(const layout *l)
{
    return round_up((size_t)l->quads * l->kernels->nr + GEMM_QUADS_SLACK, LINE_FLOATS);
}

static void pack_strip(const job *j, int product, int strip, gemm_quad *to)
{
    const layout *l = &j->l;
    gemm_quads_run runs[GEMM_QUADS_MOST_NR];
    size_t taps[GEMM_INT8_MOST_TAPS];
    find_taps(l, taps);
    const gemm_quads_pack p = {
        .first = j->image + (size_t)product * l->planes * l->plane, .plane = l->plane,
        .planes = l->planes, .taps = l->taps, .tap = taps,
        .runs = find_runs(l, strip, runs), .run = runs};
    l->kernels->pack(&p, to);
}

/* Runs a tile, with its pool. t->c and t->ldc: where its outputs go. */
static void run_tile(const layout *l, gemm_quads_tile *t)
{
    const int half = half_strip(l), pairs = t->cols / 2;
    float y[GEMM_QUADS_MOST_MR * GEMM_QUADS_MOST_NR], *to = t->c;
    const size_t ld = t->ldc;
    if (!l->c->pool) {
        l->kernels->tile(t);
        return;
    }
    t->cols += half;
    t->c = y;
    t->ldc = GEMM_QUADS_MOST_NR;
    l->kernels->tile(t);
    for (int i = 0; i < t->rows; ++i, to += ld) {
        const float *top = y + i * GEMM_QUADS_MOST_NR;
        l->kernels->base->layers.max_pairs(pairs, top, top + half, to);
    }
}

/* Panel `i` of a product by strips of B, which lie at `b`. */
static void multiply_panel(const job *j, int product, int i, int first, int count,
                           const gemm_quad *b)
{
    const layout *l = &j->l;
    const conv_call *c = l->c;
    const int mr = l->kernels->mr, outputs = gemm_conv_outputs(c);
    const int each = columns_of(l, 0) / (c->pool ? 2 : 1);      /* outputs of a whole strip */
    const int rows = min_int(mr, l->filters - i * mr), end = first + count;
    const size_t panel = (size_t)(product % c->groups) * l->panels + i, row = panel * mr;
    float *const to = c->output + ((size_t)product * l->filters + (size_t)i * mr) * outputs;
    for (int strip = first; strip < end; ++strip, b += strip_quads(l)) {
        gemm_quads_tile t = {
            .quads = l->quads, .a = j->f.panels + row * l->quads, .b = b,
            .rows = rows, .cols = columns_of(l, strip),
            .start = j->f.start + row, .scale = j->scale + row, .shift = j->shift + row,
            .slope = gemm_slope(c->activation), .c = to + strip * each, .ldc = (size_t)outputs};
        run_tile(l, &t);
    }
}

/* A chunk is a block of strips by a part of the panels. */
static void multiply(void *arg, int chunk, void *scratch)
{
    const job *j = arg;
    const layout *l = &j->l;
    const int part = chunk % j->parts, block = chunk / j->parts % j->blocks;
    const int product = chunk / j->parts / j->blocks;
    const int first = (int)((long long)l->panels * part / j->parts);
    const int end = (int)((long long)l->panels * (part + 1) / j->parts);
    const int strip = block * j->block, count = min_int(j->block, j->strips - strip);
    gemm_quad *const b = scratch;
    for (int s = 0; s < count; ++s) pack_strip(j, product, strip + s, b + s * strip_quads(l));
    for (int i = first; i < end; ++i) multiply_panel(j, product, i, strip, count, b);
}

/* The strips of a block: as many as leave room in L2 for a panel of A. Where a layer has many,
   there are blocks for all threads. */
static int most_strips(const job *j, int threads, int chunks)
{
    enum { FEW = 2 };
    const size_t strip = strip_quads(&j->l) * sizeof(gemm_quad), l2 = gemm_find_caches()->l2;
    const int fit = max_int(1, (int)((l2 - l2 / 4) / strip));
    const int room = (int)(GEMM_SCRATCH_BYTES / strip);
    const int each = threads > 1 ? max_int(FEW, j->strips / chunks) : j->strips;
    return min_int(min_int(fit, room), each);
}

/* Threads take whole blocks. Where these are few, they share the panels of a block too. */
static int multiply_all(job *j, int threads)
{
    enum { CHUNKS = 4 };        /* for each thread, so that none waits long at the end */
    const layout *l = &j->l;
    const int products = l->c->batch * l->c->groups;
    threads = packed_product_threads(l->c, threads);
    j->strips = strips_of(l);
    const int chunks = ceil_div(CHUNKS * threads, products);
    j->block = even_step(j->strips, most_strips(j, threads, chunks), 1);
    j->blocks = ceil_div(j->strips, j->block);
    j->parts = threads == 1 ? 1 : min_int(l->panels, ceil_div(chunks, j->blocks));
    return gemm_parallel(threads, products * j->blocks * j->parts, multiply, j);
}

/* What a sum is multiplied by, and what is added, in the order of the rows of A. */
static void make_scales(const layout *l, const filters *f, float step, float *scale, float *shift)
{
    const conv_call *c = l->c;
    for (int n = 0; n < c->n; ++n) {
        const int row = n / l->filters * l->panels * l->width + n % l->filters;
        const float both = f->step[row] * step;
        scale[row] = c->scale ? both * c->scale[n] : both;
        shift[row] = c->shift[n];
    }
}

/* ---- the row of the table ---- */

/* Memory of a call: the image with what a copy reads behind it, the scales and shifts. */
static size_t image_quads(const layout *l)
{
    return round_up((size_t)planes_of(l) * l->plane + GEMM_QUADS_SLACK, LINE_FLOATS);
}

static size_t call_floats(const layout *l)
{
    return image_quads(l) + round_up(2 * (size_t)padded_rows(l), LINE_FLOATS);
}

static void start_job(job *j, const gemm_scale *scale, float *memory)
{
    j->image = (gemm_quad *)memory;
    j->scale = memory + image_quads(&j->l);
    j->shift = j->scale + padded_rows(&j->l);
    j->inverse = 1 / scale->scale;
    j->zero = scale->zero;
    make_scales(&j->l, &j->f, scale->scale, j->scale, j->shift);
}

static int convolve(job *j, const gemm_scale *scale, int threads)
{
    gemm_workspace *w = gemm_take_workspace(call_floats(&j->l));
    if (!w) return -1;
    start_job(j, scale, w->data);
    const int no_memory = round_image(j, threads) || multiply_all(j, threads);
    gemm_give_workspace(w);
    return no_memory;
}

/* A strip, and a row of the image. */
static bool fits_scratch(const layout *l)
{
    const size_t most = GEMM_SCRATCH_BYTES / sizeof(gemm_quad);
    return strip_quads(l) <= most && (size_t)l->c->w <= most && l->row <= most;
}

/* Whether the convolution goes in 8 bits, and the memory of a thread holds a strip. */
static bool fits(const layout *l, const gemm_scale *scale, const char *way)
{
    return gemm_int8_takes(l->c, scale, way) && fits_scratch(l);
}

gemm_status gemm_int8(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    return gemm_packed(c, context, NULL);
}

static gemm_status convolve_single(const conv_call *c, const gemm_context *context)
{
    const gemm_status status = gemm_packed_conv(c, context, NULL);
    if (context->timed)
        gemm_weigh_before(context->note, context->scale ? "int8: not for this layer"
                                                        : "int8: GEMM_INT8 has it in fp32");
    return status;
}

gemm_status gemm_int8_conv(const conv_call *c, const gemm_context *context, const void *params)
{
    const gemm_quads *kernels = params ? params : gemm_quads_find(context->isa);
    job j = {.l = layout_of(c, kernels, kernels->mr)};
    if (!fits(&j.l, context->scale, context->way)) return convolve_single(c, context);
    if (gemm_activation_is_behind(c->activation))
        return packed_conv_behind(c, context, params, gemm_int8_conv);
    void *own, *data = get_filters(&j.l, context->scale->zero, context->kept, &own);
    if (!data) return gemm_packed_conv(c, context, NULL);
    j.f = filters_at(&j.l, data);
    const int no_memory = convolve(&j, context->scale, context->threads);
    free(own);
    if (no_memory) return GEMM_DECLINED;
    context->note->scale = context->scale;
    strcpy(context->note->algorithm, "int8");
    if (context->timed) strcpy(context->note->weighed, "GEMM_INT8 has it in 8 bits");
    return GEMM_DONE;
}

/* ---- chains ---- */

/* A 1x1 layer of a chain. `scale` NULL: in single precision. */
typedef struct chain_part {
    const gemm_scale *scale;
    layout l;
    filters f;
    void *own;
} chain_part;

/* False: there is no memory, or a weight is not finite. */
static bool get_part(chain_part *p, gemm_kept *kept)
{
    void *data = p->scale ? get_filters(&p->l, p->scale->zero, kept, &p->own) : NULL;
    if (data) p->f = filters_at(&p->l, data);
    return data || !p->scale;
}

static gemm_status run_parts(const chain_part *expand, const chain_part *project,
                             const conv_call *c, int count, const layer_call *shortcut,
                             const gemm_context *context)
{
    const size_t first = expand->scale ? call_floats(&expand->l) : 0;
    const size_t rows = project->scale ? (size_t)padded_rows(&project->l) : 0;
    gemm_workspace *w = gemm_take_workspace(first + 2 * rows);
    if (!w) return GEMM_DECLINED;
    job j = {.l = expand->l, .f = expand->f};
    float *const scale = w->data + first, *const shift = scale + rows;
    if (expand->scale) start_job(&j, expand->scale, w->data);
    if (rows) make_scales(&project->l, &project->f, project->scale->scale, scale, shift);
    const packed_chain_product one = {j.f.panels, j.f.start, j.scale, j.shift};
    const packed_chain_product two = {project->f.panels, project->f.start, scale, shift};
    const packed_chain_quads q = {.kernels = project->l.kernels,
                                  .expand = expand->scale ? &one : NULL,
                                  .project = rows ? &two : NULL,
                                  .a = j.image, .round = round_image, .job = &j,
                                  .inverse = rows ? 1 / project->scale->scale : 0,
                                  .zero = rows ? project->scale->zero : 0};
    const gemm_status status = packed_chain(c, count, shortcut, &q, context);
    gemm_give_workspace(w);
    return status;
}

/* The 1x1 layers of a chain go in 8 bits, each as it may. */
gemm_status gemm_int8_chain(const conv_call *c, int count, const layer_call *shortcut,
                            const gemm_context *context, const void *params)
{
    const gemm_quads *kernels = params ? params : gemm_quads_find(context->isa);
    const int vl = kernels->vl, at[] = {0, count - 1};
    chain_part parts[2] = {{.scale = NULL}, {.scale = NULL}};
    if (count == 1) return GEMM_DECLINED;
    for (int i = count == 2; i < 2; ++i) {
        const gemm_scale *scale = context->chain_scales ? context->chain_scales[at[i]] : NULL;
        parts[i].l = layout_of(&c[at[i]], kernels, vl);
        if (fits(&parts[i].l, scale, context->way)) parts[i].scale = scale;
    }
    if (!parts[0].scale && !parts[1].scale)
        return gemm_packed_chain(c, count, shortcut, context, NULL);
    bool right = context->isa->vl % vl == 0;
    for (int i = 0; i < 2 && right; ++i)
        right = get_part(&parts[i], context->chain_kept ? context->chain_kept[at[i]] : NULL);
    const gemm_status status = right ? run_parts(&parts[0], &parts[1], c, count, shortcut, context)
                                     : GEMM_DECLINED;
    for (int i = 0; i < 2; ++i) free(parts[i].own);
    return status;
}

gemm_status gemm_int8_run(const gemm_op *op, const gemm_context *context, const void *params)
{
    return gemm_run_by(gemm_int8_conv, gemm_int8_chain, gemm_packed_layer, op, context, params);
}
