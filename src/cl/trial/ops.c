/* SPDX-License-Identifier: MIT */
/*
 * Trials of programs that have an op: a layer without weights, a multiply, a convolution also with
 * what goes with it in one launch, or one in 8 bits. The op's own code launches the program, and
 * src/check judges the output.
 *
 * The options say what the program computes, as its header in kernels/ explains. The op is one tile
 * and a part of the next one a side, so full tiles and edges are met. Where a kernel can cut K, it
 * runs with K whole and in two parts.
 */
#include "../../../kernels/cl_strip.h"
#include "check/check.h"
#include "check/conv_check.h"
#include "check/int8_check.h"
#include "check/layer_check.h"
#include "cl/op/convolution.h"
#include "cl/op/int8.h"
#include "cl/op/layers.h"
#include "cl/op/multiply.h"
#include "cl/trial/kit.h"
#include "util/winograd.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

/* Where an input begins in its buffer: at no multiple of 16 bytes. */
enum { FROM = 3 };

/* With K in `parts`. A wrong program may store behind them, so they get a large buffer. */
static gemm_cl_work begin(gemm_cl_kit *k, int parts)
{
    gemm_cl_work w = gemm_cl_begin_work(&k->row);
    w.program = k->p;
    w.parts = parts;
    if (parts > 1 && !gemm_cl_scratch(SLOT_PARTS, GEMM_CL_KIT_BYTES)) k->unfinished = true;
    return w;
}

static gemm_cl_view input_view(gemm_cl_kit *k, gemm_cl_slot slot, int from, size_t n)
{
    const gemm_cl_operand o = gemm_cl_kit_operand(k, slot, from, (int)n);
    return (gemm_cl_view){.host = (float *)o.at, .mem = o.mem, .offset = (size_t)from};
}

static gemm_cl_view output_view(const gemm_cl_output *o)
{
    return (gemm_cl_view){.mem = o->mem, .offset = GEMM_CL_KIT_TO, .overwrite = true};
}

/* The n results of the op, once what lies around them was found as it was before. */
static float *take(gemm_cl_kit *k, const gemm_cl_output *o, size_t n)
{
    const size_t behind = GEMM_CL_KIT_TO + n;
    float *actual = gemm_cl_kit_read(k, o->mem, o->count, false);
    gemm_cl_kit_compare(k, o->before, actual, GEMM_CL_KIT_TO);
    gemm_cl_kit_compare(k, o->before + behind, actual + behind, o->count - behind);
    return actual + GEMM_CL_KIT_TO;
}

/* The sum of two or more parts of K, n floats each. */
static float *take_sums(gemm_cl_kit *k, cl_mem sums, int parts, size_t n)
{
    float *sum = gemm_cl_kit_read(k, sums, (size_t)parts * n, false);
    for (size_t i = n; i < (size_t)parts * n; ++i) sum[i % n] += sum[i];
    return sum;
}

/* ---- layers without weights ---- */

/* What the options of the program decide is set by fit_layer. */
static const struct {
    const char *kernel;
    layer_call call;
} layers[] = {
    {"cl_maxpool", {.kind = LAYER_MAXPOOL, .batch = 1, .c = 3, .h = 7, .w = 9, .size = 3, .pad = 2,
                    .stride = 1, .out_c = 3, .out_h = 7, .out_w = 9}},
    {"cl_maxpool", {.kind = LAYER_MAXPOOL, .batch = 1, .c = 3, .h = 7, .w = 9, .size = 3, .pad = 2,
                    .stride = 3, .out_c = 3, .out_h = 3, .out_w = 3}},
    {"cl_avgpool", {.kind = LAYER_AVGPOOL, .batch = 2, .c = 35, .h = 3, .w = 4, .out_c = 35,
                    .out_h = 1, .out_w = 1}},
    {"cl_upsample", {.kind = LAYER_UPSAMPLE, .batch = 1, .c = 2, .h = 3, .w = 5, .stride = 2,
                     .alpha = 3, .out_c = 2, .out_h = 6, .out_w = 10}},
    {"cl_yolo", {.kind = LAYER_YOLO, .batch = 1, .c = 12, .h = 19, .w = 1, .anchors = 2,
                 .out_c = 12, .out_h = 19, .out_w = 1}},
    {"cl_copy", {.kind = LAYER_ROUTE, .batch = 2, .c = 70, .h = 1, .w = 1, .inputs = 3,
                 .out_c = 82, .out_h = 1, .out_w = 1}},
    {"cl_copy_two", {.kind = LAYER_ROUTE, .batch = 2, .c = 70, .h = 1, .w = 1, .inputs = 2,
                     .out_c = 77, .out_h = 1, .out_w = 1}},
    {"cl_shortcut", {.kind = LAYER_SHORTCUT, .batch = 2, .c = 7, .h = 5, .w = 1, .out_c = 7,
                     .out_h = 5, .out_w = 1}},
    {"cl_shortcut", {.kind = LAYER_SHORTCUT, .batch = 2, .c = 2, .h = 2, .w = 2, .out_c = 3,
                     .out_h = 4, .out_w = 4}},
    {"cl_shortcut", {.kind = LAYER_SHORTCUT, .batch = 2, .c = 2, .h = 8, .w = 8, .out_c = 3,
                     .out_h = 4, .out_w = 4}},
};

static int launch_layer(gemm_cl_work *w, const layer_call *c, const gemm_cl_view *in, bool pairs)
{
    w->B = in[0];
    w->A = in[1];
    if (c->kind != LAYER_ROUTE) return gemm_cl_launch_layer(w, c);
    for (int i = 0, two; i < c->inputs; i += 1 + two) {
        two = pairs && i + 1 < c->inputs;
        w->B = in[i];
        w->A = in[i + two];
        if (gemm_cl_launch_route(w, c, i, two)) return -1;
    }
    return 0;
}

static void try_layer(gemm_cl_kit *k, layer_call *c)
{
    static const gemm_cl_slot slots[] = {SLOT_TRIAL_A, SLOT_TRIAL_B, SLOT_TRIAL_MORE};
    const int outs = c->out_c * c->out_h * c->out_w, in = c->c * c->h * c->w;
    const int sizes[][3] = {[LAYER_ROUTE] = {in, 7, 5}, [LAYER_SHORTCUT] = {outs, in},
                            [LAYER_YOLO] = {in}};
    const int *size = sizes[c->inputs > 1 ? c->kind : LAYER_YOLO];
    gemm_cl_view views[3] = {{0}};
    layer_input inputs[3];
    for (int i = 0; i < c->inputs; ++i) {
        views[i] = input_view(k, slots[i], FROM, (size_t)(c->batch * size[i]));
        inputs[i] = (layer_input){views[i].host, size[i]};
    }
    c->input = inputs;
    const gemm_cl_output o = gemm_cl_kit_output(k, c->batch * outs);
    gemm_cl_work w = begin(k, 1);
    w.C = output_view(&o);
    if (!k->unfinished)
        k->unfinished = launch_layer(&w, c, views, c->inputs == 2);
    c->output = take(k, &o, (size_t)(c->batch * outs));
    gemm_cl_end_work(&w, k->unfinished, &(gemm_note){.decided = 0});
    const gemm_error worst = gemm_layer_compare(c);
    gemm_cl_kit_judge(k, 0, &worst);
}

/* Whether the program has this layer. Sets what its options decide. */
static bool fit_layer(const gemm_cl_kit *k, layer_call *c)
{
    if (!c->inputs) c->inputs = c->kind == LAYER_SHORTCUT ? 2 : 1;
    c->beta = .5f;
    if (!c->alpha) c->alpha = 2;
    return c->kind != LAYER_SHORTCUT ||
           gemm_shortcut_is_equal(c) != gemm_cl_kit_has(k, "-DSIZES");
}

/* Whether the program has a layer. */
static bool try_layers(gemm_cl_kit *k)
{
    bool found = false;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
        if (strcmp(layers[i].kernel, k->p->name)) continue;
        k->row.wx = k->row.wy = gemm_cl_kit_has(k, "-DBY_ROW");
        layer_call c = layers[i].call;
        found = true;
        const bool all = c.kind == LAYER_SHORTCUT && gemm_shortcut_is_equal(&c);
        for (int a = 0; fit_layer(k, &c) && a < (all ? CONV_ACTIVATIONS : 1); ++a) {
            c.activation = c.kind == LAYER_SHORTCUT && !all ? CONV_LEAKY : (conv_activation)a;
            try_layer(k, &c);
        }
    }
    return found;
}

/* ---- what multiplies ---- */

static bool aligns(const gemm_cl_kit *k)
{
    return gemm_cl_kit_has(k, "-DALIGNED_A") || gemm_cl_kit_has(k, "-DALIGNED_B");
}

static int rows_of(const gemm_cl_kit *k)
{
    return k->row.rows * max_int(k->row.wy, 1);
}

static int cols_of(const gemm_cl_kit *k)
{
    return k->row.cols * max_int(k->row.wx, 1);
}

/* More steps of K than local memory, a group, a strip or a run of HALF_SUMS has at once. A vector
   of fewer than 64 is not for cl_gemv. */
static int steps_of(const gemm_cl_kit *k)
{
    const gemm_cl_family *f = k->row.family;
    const bool strips = f->shares && !gemm_cl_kit_has(k, "-DPOOL");
    const int K = k->row.depth ? 2 * k->row.depth : f->one_column ? 4 * k->row.wx + 64
                  : strips ? CL_KC : 40;
    return K + (aligns(k) ? 4 : 3);
}

/* Whether it also runs with K in two parts. */
static bool cuts(const gemm_cl_kit *k)
{
    return gemm_cl_splits(&k->row) && !gemm_cl_kit_has(k, "-DDEPTHWISE");
}

/* ---- a multiply ---- */

/* `actual` has the op's result, where C was `before`. */
static void judge_multiply(gemm_cl_kit *k, gemm_call g, float *before, float *actual)
{
    gemm_oracle oracle;
    gemm_error worst;
    g.C = before;
    const int status = gemm_oracle_make(&oracle, &g);
    g.C = actual;
    if (!status) worst = gemm_oracle_compare(&oracle, &g);
    if (!status) gemm_oracle_free(&oracle);
    gemm_cl_kit_judge(k, status, &worst);
}

/* Gaps behind the rows of C stay as they are. */
static void run_multiply(gemm_cl_kit *k, gemm_call g, const gemm_cl_view *A, const gemm_cl_view *B,
                         int parts)
{
    const size_t used = k->used, M = (size_t)g.M, N = (size_t)g.N, gap = (size_t)g.ldc - N;
    const gemm_cl_output o = gemm_cl_kit_output(k, g.M * g.ldc);
    gemm_cl_job j = {.g = &g, .asked = &k->row, .w = begin(k, parts)};
    j.w.A = *A;
    j.w.B = *B;
    j.w.C = output_view(&o);
    j.w.C.device_ld = (size_t)g.ldc;
    if (!k->unfinished) k->unfinished = gemm_cl_lay_out_job(&j) || gemm_cl_enqueue_product(&j);
    const bool sums = j.w.sums, adds = !sums && !gemm_cl_kit_has(k, "-DSTORE");
    float *actual = sums ? take_sums(k, j.w.sums, j.part, M * N) : take(k, &o, M * N + M * gap);
    float *before = adds ? o.before + GEMM_CL_KIT_TO : gemm_cl_kit_room(k, o.count);
    gemm_cl_end_job(&j, k->unfinished, &(gemm_note){.decided = 0});
    for (size_t i = 0; i < M && !sums; ++i)
        gemm_cl_kit_compare(k, o.before + GEMM_CL_KIT_TO + i * (N + gap) + N,
                            actual + i * (N + gap) + N, gap);
    if (sums) g.ldc = g.N;
    if (!k->unfinished) judge_multiply(k, g, before, actual);
    k->used = used;
}

static void try_multiply(gemm_cl_kit *k)
{
    gemm_call g = {.TA = gemm_cl_kit_has(k, "-DA_TRANSPOSED"),
                   .TB = gemm_cl_kit_has(k, "-DB_TRANSPOSED"), .M = rows_of(k) + 4,
                   .N = cols_of(k) + 4, .K = steps_of(k), .ALPHA = 2};
    const int from = aligns(k) ? 4 : FROM, more = aligns(k) ? 4 : 5;
    g.M -= !aligns(k);
    g.N += !aligns(k);
    g.lda = (g.TA ? g.M : g.K) + more;
    g.ldb = (g.TB ? g.K : g.N) + more;
    g.ldc = g.N + 3;
    if (k->row.family->one_column) g.N = g.ldb = g.ldc = 1;
    gemm_cl_view A = input_view(k, SLOT_TRIAL_A, from, (size_t)((g.TA ? g.K : g.M) * g.lda));
    gemm_cl_view B = input_view(k, SLOT_TRIAL_B, from, (size_t)((g.TB ? g.N : g.K) * g.ldb));
    A.device_ld = (size_t)g.lda;
    B.device_ld = (size_t)g.ldb;
    g.A = A.host;
    g.B = B.host;
    run_multiply(k, g, &A, &B, 1);
    if (cuts(k)) run_multiply(k, g, &A, &B, 2);
}

/* ---- a convolution ---- */

/* With a depthwise layer before it, or a shortcut behind it, or both. */
typedef struct convolution {
    conv_call c, depth;
    const conv_call *in;        /* &c, or &depth */
    layer_input inputs[2];
    layer_call shortcut;
    bool adds;
} convolution;

/* Whether the row is cl_winograd's. */
static bool transforms(const gemm_cl_kit *k)
{
    return k->row.winograd && !k->row.family->direct;
}

/* The filters of the layer whose input is read: size, stride and padding. Then its map, so large
   that the next group, and the next strip of a row, have some places. Its sides are odd. */
static void set_map(const gemm_cl_kit *k, conv_call *c)
{
    const gemm_cl_family *f = k->row.family;
    const bool window = f->direct || k->row.winograd;
    const bool image = f->kind == GEMM_CL_IMAGE && !gemm_cl_kit_has(k, "-DIN_PLACE");
    const bool looks = window || image || gemm_cl_kit_has(k, "-DTAPS") ||
                       gemm_cl_kit_has(k, "-DDEPTHWISE");
    const bool steps = looks && !window && !c->pool && !gemm_cl_kit_has(k, "-DSHIFTED");
    c->size = gemm_cl_kit_number(k, "-DSIZE", window ? 3 : f->one_column ? 4 : looks ? 2 : 1);
    c->stride = f->direct ? gemm_cl_kit_number(k, "-DSTRIDE", 1) : steps ? 2 : 1;
    c->pad = looks ? c->size / 2 : 0;
    c->out_h = f->one_column ? 1 : (window ? 5 : 3) + c->pool;
    c->out_w = f->one_column ? 1 : ((cols_of(k) / 2 + 4) | 1) + c->pool;
    if (f->direct) c->out_w = c->pool ? 8 : 7;
    if (gemm_cl_kit_has(k, "-DALIGNED_B")) c->out_w = (int)round_up((size_t)c->out_w, 4);
    c->h = (c->out_h - 1) * c->stride + c->size - 2 * c->pad;
    c->w = (c->out_w - 1) * c->stride + c->size - 2 * c->pad;
}

/* The 1x1 behind the depthwise layer c. */
static void chain(convolution *v, int filters)
{
    const conv_call *d = &v->depth;
    v->depth = v->c;
    v->in = d;
    v->depth.groups = v->depth.n = d->c;
    v->depth.activation = CONV_RELU;
    v->c = (conv_call){.batch = d->batch, .groups = 1, .c = d->c, .h = d->out_h, .w = d->out_w,
                       .n = filters, .size = 1, .stride = 1, .out_h = d->out_h, .out_w = d->out_w};
}

static void set_shape(const gemm_cl_kit *k, convolution *v, bool pool, bool adds)
{
    const bool depthwise = gemm_cl_kit_has(k, "-DDEPTHWISE"), one = depthwise || transforms(k);
    const int rows = transforms(k) ? k->row.cols : rows_of(k);
    conv_call *c = &v->c;
    *v = (convolution){.adds = adds, .in = c};
    c->groups = one ? 1 : 2;
    c->batch = one ? 2 : 1;
    c->pool = pool;
    set_map(k, c);
    int channels = ceil_div(steps_of(k), depthwise ? 1 : c->size * c->size);
    if (gemm_cl_kit_has(k, "-DALIGNED_A")) channels = (int)round_up((size_t)channels, 4);
    c->c = c->groups * channels;
    c->n = c->groups * (gemm_cl_kit_has(k, "-DDIRECT") ? rows : rows + 3);
    if (depthwise) chain(v, rows - 1);
    v->c.activation = CONV_LEAKY;
}

static void set_weights(gemm_cl_kit *k, conv_call *c)
{
    c->weights = gemm_cl_kit_made_up(k, (size_t)c->n * (size_t)gemm_conv_taps(c));
    c->scale = gemm_cl_kit_norm(k, c->n);
    c->shift = c->scale + c->n;
}

static size_t outputs_of(const conv_call *c, int places)
{
    return (size_t)c->batch * (size_t)c->n * (size_t)places;
}

/* The shortcut behind c, which is linear then, and adds `more`. */
static void add_shortcut(convolution *v, const float *more)
{
    conv_call *c = &v->c;
    const int size = c->n * gemm_conv_places(c);
    v->inputs[1] = (layer_input){more, size};
    v->shortcut = (layer_call){
        .kind = LAYER_SHORTCUT, .batch = c->batch, .c = c->n, .h = c->out_h, .w = c->out_w,
        .out_c = c->n, .out_h = c->out_h, .out_w = c->out_w, .alpha = 1, .beta = 1,
        .activation = CONV_LEAKY, .inputs = 2, .input = v->inputs};
    c->activation = CONV_LINEAR;
}

/* The exact outputs of one layer of the op, for the next one. */
static const float *expect(gemm_cl_kit *k, const conv_call *c)
{
    float *outputs = gemm_cl_kit_room(k, outputs_of(c, gemm_conv_places(c)));
    if (gemm_conv_expect(c, outputs)) gemm_cl_kit_judge(k, -1, NULL);
    return outputs;
}

static void judge_conv(gemm_cl_kit *k, convolution *v, float *actual)
{
    gemm_error worst = {.ratio = -1};
    conv_call c = v->c;
    int status = 0;
    if (v->in != &v->c) c.input = expect(k, v->in);
    if (v->adds) {
        v->inputs[0] = (layer_input){expect(k, &c), v->inputs[1].size};
        v->shortcut.output = actual;
        worst = gemm_layer_compare(&v->shortcut);
    } else {
        const int m = k->row.winograd;
        c.output = actual;
        status = gemm_conv_compare(&c, m ? gemm_winograd_transform(m) : NULL, &worst);
    }
    gemm_cl_kit_judge(k, status, &worst);
}

/* The maxima of each four of n sums, which are those of a block. */
static void pool_sums(float *sums, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        sums[i / 4] = i % 4 && sums[i / 4] > sums[i] ? sums[i / 4] : sums[i];
}

/* What is applied behind the sums, and what is added, is not in the parts of K. */
static void judge_sums(gemm_cl_kit *k, const convolution *v, float *sums)
{
    convolution plain = {.c = v->c};
    plain.in = &plain.c;
    plain.c.scale = NULL;
    plain.c.shift = gemm_cl_kit_room(k, (size_t)v->c.n);
    plain.c.activation = CONV_LINEAR;
    if (v->c.pool) pool_sums(sums, outputs_of(&v->c, gemm_conv_places(&v->c)));
    judge_conv(k, &plain, sums);
}

/* The job under the row of the trial, as if its program were chosen. An image of B has two strips,
   and one of weights three tiles in a column. */
static int begin_conv(gemm_cl_kit *k, convolution *v, int parts, gemm_kept *plans,
                      gemm_cl_conv_job *j)
{
    const conv_call *c = &v->c;
    gemm_cl_traits t = gemm_cl_opened()->traits;
    const size_t half = round_up((size_t)ceil_div(gemm_conv_places(c), 8), 2);
    const size_t high = 3 * (size_t)(c->c / c->groups);
    if (half < t.image_width && !k->row.texture) t.image_width = half;
    if (high < t.image_height && k->row.texture) t.image_height = high;
    *j = (gemm_cl_conv_job){.c = c, .in = v->in, .shortcut = v->adds ? &v->shortcut : NULL,
                            .op = gemm_cl_conv_op(&t, c, &k->row), .w = begin(k, parts),
                            .slope = gemm_slope(v->adds ? v->shortcut.activation : c->activation)};
    j->op.in = v->in;
    j->op.plan = &plans[0];
    const char *why = gemm_cl_lay_out(&j->op, &k->row, &j->sizes);
    if (why) gemm_cl_say(why);
    if (why) return -1;
    j->sizes.winograd.item_tiles = k->row.rows;
    gemm_cl_work d = begin(k, 1);
    if (v->in != c && !(j->depth_kept = gemm_cl_keep(&d, v->in, NULL, &plans[1]))) return -1;
    j->kept = gemm_cl_keep(&j->w, c, &j->sizes, &plans[0]);
    if (j->kept) j->norm = j->kept->norm;
    return j->kept ? 0 : -1;
}

static void run_conv(gemm_cl_kit *k, convolution *v, const gemm_cl_view *B,
                     const gemm_cl_view *more, int parts)
{
    const size_t used = k->used, n = outputs_of(&v->c, gemm_conv_outputs(&v->c));
    const gemm_cl_output o = gemm_cl_kit_output(k, (int)n);
    gemm_kept plans[2] = {{.room = SIZE_MAX}, {.room = SIZE_MAX}};
    gemm_cl_conv_job j;
    if (k->unfinished) return;
    k->unfinished = begin_conv(k, v, parts, plans, &j);
    j.w.A = *more;
    j.w.B = *B;
    j.w.C = output_view(&o);
    if (!k->unfinished) k->unfinished = gemm_cl_convolve(&j);
    const bool sums = j.w.sums && parts > 1;
    float *actual = sums ? take_sums(k, j.w.sums, j.w.parts,
                                     outputs_of(&v->c, gemm_conv_places(&v->c)))
                         : take(k, &o, n);
    gemm_cl_end_work(&j.w, k->unfinished, &(gemm_note){.decided = 0});
    for (int i = 0; i < 2; ++i)
        if (plans[i].data) gemm_cl_drop_kept(plans[i].data);
    if (!k->unfinished && sums) judge_sums(k, v, actual);
    else if (!k->unfinished) judge_conv(k, v, actual);
    k->used = used;
}

static void try_conv(gemm_cl_kit *k, bool pool, bool adds)
{
    convolution v;
    set_shape(k, &v, pool, adds);
    const conv_call *in = v.in;
    const size_t n = (size_t)in->batch * (size_t)in->c * (size_t)(in->h * in->w);
    const gemm_cl_view B = input_view(k, SLOT_TRIAL_B, aligns(k) ? 4 : FROM, n);
    gemm_cl_view more = {0};
    v.c.input = v.depth.input = B.host;
    set_weights(k, &v.c);
    if (in != &v.c) set_weights(k, &v.depth);
    if (v.adds) {
        more = input_view(k, SLOT_TRIAL_MORE, FROM, outputs_of(&v.c, gemm_conv_places(&v.c)));
        add_shortcut(&v, more.host);
    }
    run_conv(k, &v, &B, &more, 1);
    if (cuts(k)) run_conv(k, &v, &B, &more, 2);
}

/* ---- a convolution in 8 bits ---- */

/* Two groups, each of a tile and a filter. Places fill more than one group of items. */
static void try_int8(gemm_cl_kit *k)
{
    enum { ZERO = 5 };
    const bool wide = !k->row.wx;
    const int across = wide ? k->row.cols + 1 : (k->row.wx / 2 + 2) & ~1;
    k->row.rows = gemm_cl_kit_number(k, "-DROWS", 8);
    k->row.cols = gemm_cl_kit_number(k, "-DCOLS", 4);
    k->row.wx = max_int(k->row.wx, 1);
    k->row.wy = max_int(k->row.wy, 1);
    conv_call c = {.batch = 1, .groups = 2, .size = 3, .pad = 1, .activation = CONV_LEAKY,
                   .stride = gemm_cl_kit_number(k, "-DSTRIDE", wide ? 1 : 2), .out_w = across,
                   .out_h = wide ? 2 : 8, .pool = gemm_cl_kit_has(k, "-DPOOL")};
    c.c = 2 * (wide ? 11 : 47);
    c.n = 2 * (k->row.rows + 1);
    c.h = (c.out_h - 1) * c.stride + 1;
    c.w = (c.out_w - 1) * c.stride + 1;
    const gemm_cl_view B = input_view(k, SLOT_TRIAL_B, FROM, (size_t)(c.c * c.h * c.w));
    const size_t n = outputs_of(&c, gemm_conv_outputs(&c));
    const gemm_cl_output o = gemm_cl_kit_output(k, (int)n);
    const gemm_scale scale = {.scale = .01f, .zero = ZERO};
    gemm_cl_work w = begin(k, 1);
    gemm_error worst;
    c.input = B.host;
    set_weights(k, &c);
    w.B = B;
    w.C = output_view(&o);
    if (!k->unfinished) k->unfinished = gemm_cl_try_int8(&w, &c, &scale);
    c.output = take(k, &o, n);
    gemm_cl_end_work(&w, k->unfinished, &(gemm_note){.decided = 0});
    if (!k->unfinished)
        gemm_cl_kit_judge(k, gemm_int8_compare(&c, scale.scale, scale.zero, &worst), &worst);
}

void gemm_cl_try_op(gemm_cl_kit *k)
{
    const gemm_cl_family *f = k->row.family;
    const bool convolves = gemm_cl_kit_has(k, "-DCONV") || f->conv == GEMM_CL_ONLY_CONV;
    const bool adds = gemm_cl_kit_has(k, "-DSHORTCUT");
    if (try_layers(k)) return;
    if (!strncmp(k->p->name, "cl_int8", 7)) try_int8(k);
    else if (convolves || f->direct) try_conv(k, gemm_cl_kit_has(k, "-DPOOL"), adds);
    else try_multiply(k);
    if (transforms(k)) try_conv(k, true, false);
    if (adds && gemm_cl_kit_has(k, "-DDEPTHWISE")) try_conv(k, false, false);
}
