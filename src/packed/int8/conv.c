/* SPDX-License-Identifier: MIT */
/*
 * A convolution in whole numbers of 8 bits. The weights of a filter are w = step * q, with the
 * step max |w| / 127. The input is x = SCALE * (q - ZERO), q from -128 to 127, by the layer's
 * scale. Both are rounded to nearest, and an input beyond that range is limited to it. So
 *
 *     output = activation(sum of q * (q - ZERO) * (step * SCALE * scale) + shift)
 *
 * The image is rounded once, to quads of channels (isa/quads.h), with the pad around it. Each
 * column of the filter has a copy, which has the columns that it meets: out_w of them. Its rows lie
 * in as many parts as there are rows of the image from a row of the output to the next one:
 *
 *     channels 0 to 3    filter column 0 | rows 0, S, 2 S ... | rows 1, S + 1 ... | ...
 *                        filter column 1 | ...
 *     channels 4 to 7    ...
 *
 * So any places of the output that follow each other have their quads in one run, and the micro-
 * kernel reads B where it lies. With a pool even and odd rows of the output are apart: S is twice
 * the stride, and a tile has places of an even row with those below them.
 *
 * It is a product of matrices for each image and group: M filters, N places, K taps in quads. A
 * chunk is a block of strips of B, all of K, by some panels of A. A is read through: a panel meets
 * all strips of the block, which stay in L2. A sum of K products stays in registers, so nothing is
 * added twice.
 *
 * Where the image is larger than L2, a chunk is a band of it by all panels. The thread rounds the
 * band just before it, in memory of its own.
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
    int apart;                  /* parts of a copy */
    int first, rows;            /* the first row of the image, and rows of a part */
    size_t plane;               /* quads of all copies */
} layout;

/* Rows of the output; with a pool pairs of them. */
static int out_rows(const layout *l)
{
    return l->c->out_h / (l->c->pool ? 2 : 1);
}

/* The image has what so many of them need. */
static void set_rows(layout *l, int rows)
{
    l->rows = ceil_div(rows * l->apart - l->c->stride + l->c->size, l->apart);
    l->plane = (size_t)l->c->size * l->apart * l->rows * l->c->out_w;
}

/* width: that of the panels of A; or vl in a chain, whose vectors of B (gemm_quads_nchwc) lie as
   panels of vl filters would. */
static layout layout_of(const conv_call *c, const gemm_quads *kernels, int width)
{
    layout l = {.c = c, .kernels = kernels, .channels = c->c / c->groups,
                .filters = c->n / c->groups, .taps = c->size * c->size, .width = width};
    l.planes = ceil_div(l.channels, 4);
    l.quads = l.planes * l.taps;
    l.panels = ceil_div(l.filters, width);
    l.apart = c->stride * (c->pool ? 2 : 1);
    set_rows(&l, out_rows(&l));
    return l;
}

/* Where the row of the image `y`, which counts from the pad, begins in the copy of column x. */
static size_t row_at(const layout *l, int x, int y)
{
    const int row = y - l->first;
    return (((size_t)x * l->apart + row % l->apart) * l->rows + row / l->apart) * l->c->out_w;
}

/* Whether rows of a copy follow each other as those of the image do. */
static bool is_dense(const layout *l)
{
    return l->apart == 1 && l->c->out_w == l->c->w;
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
    size_t *at;                 /* of the quads of K: quads.h. With a pool those below follow */
    int pieces, piece;          /* of a plane, and rows in one */
    int strips, block;          /* of a product, and in a block */
    int blocks, parts;          /* of a product; of its panels */
    int bands;                  /* of a product; 0: none */
} job;

static gemm_quad zero_of(const job *j)
{
    return gemm_quads_zero(j->l.kernels, j->zero);
}

static void fill(gemm_quad *to, int n, gemm_quad zero)
{
    for (int i = 0; i < n; ++i) to[i] = zero;
}

/* Rows are short, so memcpy would be called for little. The last piece may meet the one before. */
static void copy(gemm_quad *to, const gemm_quad *from, int n)
{
    enum { PIECE = 8 };
    if (n < PIECE) {
        for (int i = 0; i < n; ++i) to[i] = from[i];
        return;
    }
    for (int i = 0; i + PIECE < n; i += PIECE) memcpy(to + i, from + i, PIECE * sizeof *to);
    memcpy(to + n - PIECE, from + n - PIECE, PIECE * sizeof *to);
}

/* Rows y0 .. y1 - 1 go to the copy of column x of the filter, which meets every S-th column. Where
   its rows follow each other as those of the image do, they are copied at once, with wrong ends. */
static void place_rows(const job *j, const gemm_quad *from, int x, int y0, int y1, gemm_quad *plane)
{
    const conv_call *c = j->l.c;
    const int S = c->stride, out = c->out_w, skip = x - c->pad;
    const int first = min_int(out, ceil_div(max_int(0, -skip), S));
    const int end = max_int(first, min_int(out, ceil_div(max_int(0, c->w - skip), S)));
    const gemm_quad zero = zero_of(j);
    const bool at_once = is_dense(&j->l);
    if (at_once)
        memcpy(plane + row_at(&j->l, x, y0), from + skip, (size_t)(y1 - y0) * out * sizeof *from);
    for (int y = y0; y < y1; ++y, from += c->w) {
        gemm_quad *const row = plane + row_at(&j->l, x, y);
        fill(row, first, zero);
        fill(row + end, out - end, zero);
        if (at_once) continue;
        if (S == 1) copy(row + first, from + first + skip, end - first);
        else
#pragma GCC unroll 4
            for (int i = first; i < end; ++i) row[i] = from[i * S + skip];
    }
}

/* Rounds some rows of a plane. Those inside of the image are rounded together, because a row may be
   shorter than a vector. */
static void round_rows(const job *j, int plane, int first, int end, gemm_quad *to,
                       gemm_quad *scratch)
{
    const layout *l = &j->l;
    const conv_call *c = l->c;
    const int y0 = max_int(first, c->pad), y1 = min_int(end, c->pad + c->h);
    const int k = plane % l->planes * 4;
    const size_t area = (size_t)c->h * c->w;
    const float *x = c->input + ((size_t)(plane / l->planes) * l->channels + (size_t)k) * area;
    const bool straight = is_dense(l) && c->size == 1;
    gemm_quad *const some = straight ? to + row_at(l, 0, first) : scratch + c->pad;
    if (y0 < y1)
        l->kernels->quantize((y1 - y0) * c->w, min_int(4, l->channels - k),
                             x + (size_t)(y0 - c->pad) * c->w, area, j->inverse, j->zero,
                             some);
    if (straight) return;
    for (int i = 0; i < c->size; ++i) {
        for (int r = first; r < end; ++r)
            if (r < y0 || r >= y1) fill(to + row_at(l, i, r), c->out_w, zero_of(j));
        if (y0 < y1) place_rows(j, some, i, y0, y1, to);
    }
}

static void round_piece(void *arg, int chunk, void *scratch)
{
    const job *j = arg;
    const layout *l = &j->l;
    const int plane = chunk / j->pieces, first = chunk % j->pieces * j->piece;
    round_rows(j, plane, first, min_int(l->rows * l->apart, first + j->piece),
               j->image + (size_t)plane * l->plane, scratch);
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
    const int rows = l->rows * l->apart;
    j->piece = min_int(rows, max_int(1, PIECE / l->c->w));
    j->pieces = ceil_div(rows, j->piece);
    const bool alone = (size_t)planes_of(l) * l->plane < PIECE;
    return gemm_parallel(alone ? 1 : threads, planes_of(l) * j->pieces, round_piece, j);
}

/* ---- the product ---- */

/* Of an image of the output; with a pool those of even rows. */
static int places_of(const layout *l)
{
    return gemm_conv_places(l->c) / (l->c->pool ? 2 : 1);
}

static int strip_width(const layout *l)
{
    return l->c->pool ? l->kernels->vl : l->kernels->nr;
}

static void find_quads(const layout *l, int below, size_t *at)
{
    const conv_call *c = l->c;
    for (int k = 0; k < l->planes; ++k)
        for (int y = 0; y < c->size; ++y)
            for (int x = 0; x < c->size; ++x)
                *at++ = k * l->plane + row_at(l, x, below * c->stride + y);
    for (int i = 0; i < GEMM_QUADS_AHEAD; ++i) at[i] = at[-1];
}

/* Panel `i` of a product by the places from `first` on, whose quads are at `b`. */
static void multiply_panel(const job *j, int product, int i, int first, int end, const gemm_quad *b)
{
    const layout *l = &j->l;
    const conv_call *c = l->c;
    const int mr = l->kernels->mr, outputs = gemm_conv_outputs(c), width = strip_width(l);
    const size_t panel = (size_t)(product % c->groups) * l->panels + i, row = panel * mr;
    float *const to = c->output + ((size_t)product * l->filters + (size_t)i * mr) * outputs;
    gemm_quads_tile t = {
        .quads = l->quads, .a = j->f.panels + row * l->quads, .at = j->at,
        .below = c->pool ? j->at + l->quads + GEMM_QUADS_AHEAD : NULL,
        .rows = min_int(mr, l->filters - i * mr), .start = j->f.start + row,
        .scale = j->scale + row, .shift = j->shift + row, .slope = gemm_slope(c->activation),
        .ldc = (size_t)outputs};
    for (int place = first; place < end; place += width) {
        t.cols = min_int(width, end - place);
        t.b = b + (place - first);
        t.c = to + place / (c->pool ? 2 : 1);
        l->kernels->tile(&t);
    }
}

/* Where part `i` of n things begins. */
static int part_of(int n, int i, int parts)
{
    return (int)((long long)n * i / parts);
}

/* A chunk is a block of strips by a part of the panels. */
static void multiply(void *arg, int chunk, void *scratch)
{
    const job *j = arg;
    const layout *l = &j->l;
    const int part = chunk % j->parts, block = chunk / j->parts % j->blocks;
    const int product = chunk / j->parts / j->blocks;
    const int first = part_of(l->panels, part, j->parts);
    const int end = part_of(l->panels, part + 1, j->parts);
    const int places = j->block * strip_width(l), place = block * places;
    const gemm_quad *b = j->image + (size_t)product * l->planes * l->plane + place;
    (void)scratch;
    for (int i = first; i < end; ++i)
        multiply_panel(j, product, i, place, min_int(place + places, places_of(l)), b);
}

/* The memory of a thread for a band: rounded rows of a plane, then the image. */
static size_t band_rounded(const layout *l)
{
    return round_up((size_t)l->rows * l->apart * l->c->w + 2 * l->c->pad, LINE_FLOATS);
}

static size_t band_quads(const layout *l)
{
    return band_rounded(l) + l->planes * l->plane + GEMM_QUADS_SLACK;
}

/* A chunk is a band: its part of the image is rounded, and meets all panels. */
static void multiply_band(void *arg, int chunk, void *scratch)
{
    job j = *(const job *)arg;
    layout *const l = &j.l;
    const int product = chunk / j.bands, band = chunk % j.bands, out = l->c->out_w;
    const int first = part_of(out_rows(l), band, j.bands);
    const int end = part_of(out_rows(l), band + 1, j.bands);
    gemm_quad *const image = (gemm_quad *)scratch + band_rounded(l);
    l->first = first * l->apart;
    for (int k = 0; k < l->planes; ++k)
        round_rows(&j, product * l->planes + k, l->first, l->first + l->rows * l->apart,
                   image + k * l->plane, scratch);
    for (int i = 0; i < l->panels; ++i)
        multiply_panel(&j, product, i, first * out, end * out, image);
}

/* Where the image would leave L2 but the filters do not, each thread rounds a band of it just
   before it multiplies that. A band of some rows repeats few of them. */
static void cut_bands(job *j, int threads)
{
    enum { FEW = 3, BANDS = 4 };    /* rows of a band; for each thread, none of which waits long */
    layout *l = &j->l, band = *l;
    const size_t l2 = gemm_find_caches()->l2 / sizeof(gemm_quad), image = l->planes * l->plane;
    const int rows = out_rows(l), fit = (int)(image / (l2 / 4)) + 1;
    const int most = rows / FEW / threads * threads, each = threads > 1 ? BANDS * threads : 1;
    const int bands = max_int((int)round_up(fit, threads), min_int(each, most));
    j->bands = 0;
    if (image <= l2 / 2 || (size_t)l->panels * l->width * l->quads > l2 / 2 || bands > most)
        return;
    set_rows(&band, ceil_div(rows, bands));
    if (band_quads(&band) > GEMM_SCRATCH_BYTES / sizeof(gemm_quad)) return;
    *l = band;
    j->bands = bands;
}

/* The strips of a block: as many as leave room in L2 for a panel of A. Where a layer has many,
   there are blocks for all threads. */
static int most_strips(const job *j, int threads, int chunks)
{
    enum { FEW = 8 };
    const layout *l = &j->l;
    const size_t strip = (size_t)l->planes * l->c->size * strip_width(l) * sizeof(gemm_quad);
    const size_t l2 = gemm_find_caches()->l2;
    const int fit = max_int(1, (int)((l2 - l2 / 4) / strip));
    const int each = threads > 1 ? max_int(FEW, j->strips / chunks) : j->strips;
    return min_int(fit, each);
}

/* Threads take whole blocks. Where these are few, they share the panels of a block too. */
static int multiply_all(job *j, int threads)
{
    enum { CHUNKS = 8 };        /* for each thread, so that none waits long at the end */
    const layout *l = &j->l;
    const int products = l->c->batch * l->c->groups;
    find_quads(l, 0, j->at);
    if (l->c->pool) find_quads(l, 1, j->at + l->quads + GEMM_QUADS_AHEAD);
    if (j->bands) return gemm_parallel(threads, products * j->bands, multiply_band, j);
    threads = packed_product_threads(l->c, threads);
    j->strips = ceil_div(places_of(l), strip_width(l));
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

/* Memory of a call: the image with what is read behind it, the scales and shifts, j->at. */
static size_t image_quads(const layout *l)
{
    return round_up((size_t)planes_of(l) * l->plane + GEMM_QUADS_SLACK, LINE_FLOATS);
}

static size_t scale_floats(const layout *l)
{
    return round_up(2 * (size_t)padded_rows(l), LINE_FLOATS);
}

static size_t call_floats(const layout *l)
{
    const size_t places = 2 * ((size_t)l->quads + GEMM_QUADS_AHEAD) * sizeof(size_t);
    return image_quads(l) + scale_floats(l) + round_up(places / sizeof(float), LINE_FLOATS);
}

static void start_job(job *j, const gemm_scale *scale, float *memory)
{
    j->image = (gemm_quad *)memory;
    j->scale = memory + image_quads(&j->l);
    j->shift = j->scale + padded_rows(&j->l);
    j->at = (size_t *)(j->scale + scale_floats(&j->l));
    j->inverse = 1 / scale->scale;
    j->zero = scale->zero;
    make_scales(&j->l, &j->f, scale->scale, j->scale, j->shift);
}

static int convolve(job *j, const gemm_scale *scale, int threads)
{
    cut_bands(j, threads);
    gemm_workspace *w = gemm_take_workspace(call_floats(&j->l));
    if (!w) return -1;
    start_job(j, scale, w->data);
    const int no_memory = (!j->bands && round_image(j, threads)) || multiply_all(j, threads);
    gemm_give_workspace(w);
    return no_memory;
}

/* Whether the convolution goes in 8 bits, and the memory of a thread holds a row with its pad. */
static bool fits(const layout *l, const gemm_scale *scale, const char *way)
{
    return gemm_int8_takes(l->c, scale, way) &&
           (size_t)l->c->w + 2 * l->c->pad <= GEMM_SCRATCH_BYTES / sizeof(gemm_quad);
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
