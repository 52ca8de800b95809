/*
 * Winograd's algorithm: a 3x3 convolution of stride 1 as n * n multiplies, n = m + 2.
 *
 *   U = G g GT     each filter and channel, once for a layer: kept in its plan
 *   V = BT d B     each channel and tile: n x n pixels d become n x n points
 *   M = U V        at each point a gemm: filters x channels times channels x tiles
 *   Y = AT M A     each filter and tile: m x m outputs; then scale, shift, activation, maximum
 *
 * A tile of the direct way takes 9 m * m multiplications for each channel and filter, here n * n:
 * 36 to 16 for m = 2, 144 to 36 for m = 4.
 *
 * Layouts, so that the packed gemm multiplies a point as it multiplies anything else:
 *   U [point][filter][channel]    V [point][channel][tile]    M [point][filter][tile]
 * Points are a line further apart than these say. Else all points of an element would often share
 * one set of L1, and a transform writes or reads them together.
 *
 * Two ways through a layer. They give the same bits, so the number of threads may decide:
 *   strips    a chunk is a strip of tiles. Its V and M stay in L2 and never exist whole
 *   phases    V, then M, then Y of the whole image, each cut into chunks. For small maps, whose
 *             tiles are too few for strips but whose U is large
 *
 * Source: Lavin, Gray, "Fast algorithms for convolutional neural networks", 2015. Strips of tiles:
 * Maji et al., "Efficient Winograd or Cook-Toom convolution kernel implementation on widely used
 * mobile CPUs", 2019. The points of m = 4: docs/convolution.md.
 */
#include "packed/winograd.h"

#include "packed/loops.h"
#include "packed/packed.h"
#include "packed/plan.h"
#include "util/ints.h"
#include "util/threads.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define P GEMM_WINOGRAD_P
#define Q GEMM_WINOGRAD_Q
#define GP GEMM_WINOGRAD_G(P, Q)
#define GQ GEMM_WINOGRAD_G(Q, P)

const gemm_transform *packed_winograd_transform(int m)
{
    static const float BT2[] = {1, 0, -1, 0,   0, 1, 1, 0,   0, -1, 1, 0,   0, 1, 0, -1};
    static const float G2[] = {1, 0, 0,   .5f, .5f, .5f,   .5f, -.5f, .5f,   0, 0, 1};
    static const float AT2[] = {1, 1, 1, 0,   0, 1, -1, -1};
    static const float BT4[] = {
        P * P * Q * Q, 0, -(P * P + Q * Q), 0, 1, 0,
        0, -P * Q * Q, -Q * Q, P, 1, 0,
        0, P * Q * Q, -Q * Q, -P, 1, 0,
        0, -Q * P * P, -P * P, Q, 1, 0,
        0, Q * P * P, -P * P, -Q, 1, 0,
        0, P * P * Q * Q, 0, -(P * P + Q * Q), 0, 1,
    };
    static const float G4[] = {
        1 / (P * P * Q * Q), 0, 0,
        GP, P * GP, P * P * GP,
        GP, -P * GP, P * P * GP,
        GQ, Q * GQ, Q * Q * GQ,
        GQ, -Q * GQ, Q * Q * GQ,
        0, 0, 1,
    };
    static const float AT4[] = {
        1, 1, 1, 1, 1, 0,
        0, P, -P, Q, -Q, 0,
        0, P * P, P * P, Q * Q, Q * Q, 0,
        0, P * P * P, -P * P * P, Q * Q * Q, -Q * Q * Q, 1,
    };
    static const gemm_transform two = {2, BT2, G2, AT2}, four = {4, BT4, G4, AT4};
    return m == 2 ? &two : &four;
}

/* ---- which way is fastest ---- */

/* The costs are in multiplications of a vector, as fast as the processor can do them. */
typedef struct cost {
    double direct, two, four;
} cost;

/*
 * The direct way does the multiplications alone. The others add the transforms, which are about 8
 * instructions an element, and reading U, which is longer than the filters. U comes from L3, or from
 * memory where it is large.
 */
static double cost_of(const conv_call *c, int m, const gemm_ukernel *u)
{
    enum { LARGE = 4 * 1024 * 1024 };
    const double vl = u->vl, channels = c->c, filters = c->n;
    if (m == 0) return (double)c->out_h * c->out_w * channels * filters * 9 / vl * 1.1;
    const double points = (m + 2) * (m + 2), across = ceil_div(c->out_w, m);
    const double tiles = across * ceil_div(c->out_h, m);
    const double columns = round_up((int)tiles, u->vl);
    const double multiply = points * (.5 * tiles + .5 * columns) * channels * filters / vl * 1.2;
    const double transform = 8 * points * columns / vl * (channels + filters);
    const double bytes = points * channels * filters * sizeof(float);
    return multiply + transform + bytes / (bytes > LARGE ? 2 : 8);
}

bool packed_winograd_can(const conv_call *c)
{
    return c->size == 3 && c->stride == 1 && c->groups == 1 && c->activation != CONV_LOGISTIC &&
           c->out_h == c->h + 2 * c->pad - 2 && c->out_w == c->w + 2 * c->pad - 2;
}

int packed_winograd_m(const conv_call *c, const gemm_ukernel *u)
{
    enum { FEW = 8 };           /* channels or filters: the transforms cost more than they save */
    if (!packed_winograd_can(c) || c->c < FEW || c->n < FEW) return 0;
    const double direct = cost_of(c, 0, u), two = cost_of(c, 2, u), four = cost_of(c, 4, u);
    if (direct <= two && direct <= four) return 0;
    return two <= four ? 2 : 4;
}

/* ---- U ---- */

typedef struct filters {
    const gemm_ukernel *u;
    int m;
    float U[];                  /* [point][filter][channel] */
} filters;

typedef struct filter_job {
    const conv_call *c;
    filters *to;
} filter_job;

/* From one point to the next, where a point has rows x columns floats. */
static size_t apart(int rows, int columns)
{
    return (size_t)rows * columns + LINE;
}

static size_t bytes_of_filters(const conv_call *c, int m)
{
    return sizeof(filters) + (m + 2) * (m + 2) * apart(c->n, c->c) * sizeof(float);
}

static void transform_filter(void *arg, int filter, void *scratch)
{
    (void)scratch;
    const filter_job *j = arg;
    const conv_call *c = j->c;
    filters *to = j->to;
    to->u->winograd_filter(to->m, c->weights + (size_t)filter * c->c * 9, c->c,
                           to->U + (size_t)filter * c->c, apart(c->n, c->c));
}

/* NULL without memory. */
static filters *make_filters(const conv_call *c, int m, const gemm_context *context)
{
    filters *f = malloc(bytes_of_filters(c, m));
    if (!f) return NULL;
    f->u = context->isa;
    f->m = m;
    filter_job job = {c, f};
    if (gemm_parallel(context->threads, c->n, transform_filter, &job)) {
        free(f);
        return NULL;
    }
    return f;
}

/* From the plan, or made for it. The caller frees what is not kept: *own is then true. */
static filters *get_filters(const conv_call *c, int m, const gemm_context *context, bool *own)
{
    gemm_kept *kept = context->kept;
    filters *f = kept ? kept->data : NULL;
    *own = false;
    if (f && f->u == context->isa && f->m == m) return f;
    if (f) free(f), kept->data = NULL;
    f = make_filters(c, m, context);
    const size_t bytes = bytes_of_filters(c, m);
    if (f && kept && bytes <= kept->room) {
        kept->data = f, kept->bytes = bytes, kept->free = free;
    } else {
        *own = true;
    }
    return f;
}

/* ---- a layer ---- */

typedef struct layer {
    const conv_call *c;
    const gemm_ukernel *u;
    const float *U;
    int m, points, image;
    int across, tiles;          /* in a row, and in an image */
    int strip, strips;          /* strips way: tiles in a strip, and strips in an image */
    int block, blocks;          /* filters that are multiplied at once, and how many such blocks */
    float *V, *M;               /* phases way */
} layer;

static gemm_tiles tiles_of(const layer *l, int first, int count)
{
    const conv_call *c = l->c;
    return (gemm_tiles){l->m, c->h, c->w, c->pad, c->out_h, c->out_w, l->across, first, count};
}

static const float *channel_of(const layer *l, int image, int channel)
{
    const conv_call *c = l->c;
    return c->input + ((size_t)image * c->c + channel) * c->h * c->w;
}

/* M = U V at one point, for `count` filters from `first` on. Rows of V and M are ld apart. */
static void multiply(const layer *l, int point, int first, int count, int tiles, int ld,
                     const float *V, float *M, void *scratch)
{
    const int channels = l->c->c;
    const packed_job job = {
        .M = count, .N = tiles, .K = channels,
        .A = l->U + point * apart(l->c->n, channels) + (size_t)first * channels,
        .a_row = channels,
        .a_step = 1,
        .B = {.rows = V, .ld = ld},
        .C = M,
        .ldc = ld,
        .epilogue = {.alpha = 1, .overwrite = true},
    };
    packed_run_here(&job, l->u, scratch);
}

static void write_filter(const layer *l, const gemm_tiles *t, int image, int filter, const float *M,
                         size_t point, float *scratch)
{
    const conv_call *c = l->c;
    const size_t outputs = (size_t)c->out_h * c->out_w / (c->pool ? 4 : 1);
    const gemm_finish finish = {
        .scale = c->scale ? c->scale[filter] : 1,
        .shift = c->shift[filter],
        .slope = packed_slope(c->activation),
        .pool = c->pool,
    };
    l->u->winograd_output(t, M, point, &finish,
                          c->output + ((size_t)image * c->n + filter) * outputs, scratch);
}

/* ---- by strips ---- */

/* The parts of a thread's scratch: for packed_run_here and the transforms, then V, then M. */
enum { V_AT = PACKED_SCRATCH_BYTES / sizeof(float) };

static void compute_strip(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const conv_call *c = l->c;
    const int image = chunk / l->strips, first = chunk % l->strips * l->strip;
    const bool last = chunk % l->strips == l->strips - 1;
    const gemm_tiles t = tiles_of(l, first, last ? l->tiles - first : l->strip);
    const int ld = round_up(t.count, LINE);
    float *const V = (float *)scratch + V_AT;
    const size_t v_point = apart(c->c, ld), m_point = apart(l->block, ld);
    float *const M = V + l->points * v_point;
    for (int k = 0; k < c->c; ++k)
        l->u->winograd_input(&t, channel_of(l, image, k), V + (size_t)k * ld, v_point, scratch);
    for (int f = 0; f < c->n; f += l->block) {
        const int filters = min_int(l->block, c->n - f);
        for (int p = 0; p < l->points; ++p)
            multiply(l, p, f, filters, t.count, ld, V + p * v_point, M + p * m_point, scratch);
        for (int i = 0; i < filters; ++i)
            write_filter(l, &t, image, f + i, M + (size_t)i * ld, m_point, scratch);
    }
}

/* ---- by phases ---- */

static int phase_ld(const layer *l)
{
    return round_up(l->tiles, LINE);
}

static void compute_v(void *arg, int channel, void *scratch)
{
    const layer *l = arg;
    const gemm_tiles t = tiles_of(l, 0, l->tiles);
    const int ld = phase_ld(l);
    l->u->winograd_input(&t, channel_of(l, l->image, channel), l->V + (size_t)channel * ld,
                         apart(l->c->c, ld), scratch);
}

static void compute_m(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const conv_call *c = l->c;
    const int point = chunk / l->blocks, first = chunk % l->blocks * l->block, ld = phase_ld(l);
    multiply(l, point, first, min_int(l->block, c->n - first), l->tiles, ld,
             l->V + point * apart(c->c, ld), l->M + point * apart(c->n, ld) + (size_t)first * ld,
             scratch);
}

static void compute_y(void *arg, int filter, void *scratch)
{
    const layer *l = arg;
    const gemm_tiles t = tiles_of(l, 0, l->tiles);
    const int ld = phase_ld(l);
    write_filter(l, &t, l->image, filter, l->M + (size_t)filter * ld, apart(l->c->n, ld), scratch);
}

/* V and M of the last call, kept because the first touch of a page is slow. A call takes it out and
   puts it back, as taps.c does. */
typedef struct workspace {
    size_t floats;
    float *data;
} workspace;

static _Atomic(workspace *) kept_workspace;

static void free_workspace(workspace *w)
{
    if (w) free(w->data);
    free(w);
}

__attribute__((destructor)) static void free_kept(void)
{
    free_workspace(atomic_exchange(&kept_workspace, NULL));
}

static workspace *take_workspace(size_t floats)
{
    workspace *w = atomic_exchange(&kept_workspace, NULL);
    if (w && w->floats >= floats) return w;
    free_workspace(w);
    w = malloc(sizeof *w);
    if (!w) return NULL;
    w->floats = round_up(floats, PAGE);
    w->data = aligned_alloc(PAGE * sizeof(float), w->floats * sizeof(float));
    if (w->data) return w;
    free(w);
    return NULL;
}

static void give_workspace(workspace *w)
{
    free_workspace(atomic_exchange(&kept_workspace, w));
}

static size_t phase_floats(const layer *l)
{
    return l->points * (apart(l->c->c, phase_ld(l)) + apart(l->c->n, phase_ld(l)));
}

static int run_phases(layer *l, int threads)
{
    const conv_call *c = l->c;
    workspace *w = take_workspace(phase_floats(l));
    if (!w) return -1;
    l->V = w->data;
    l->M = l->V + l->points * apart(c->c, phase_ld(l));
    int status = 0;
    for (l->image = 0; l->image < c->batch && !status; ++l->image) {
        status = gemm_parallel(threads, c->c, compute_v, l);
        if (!status) status = gemm_parallel(threads, l->points * l->blocks, compute_m, l);
        if (!status) status = gemm_parallel(threads, c->n, compute_y, l);
    }
    give_workspace(w);
    return status;
}

/* ---- the sizes of strips and blocks ---- */

/*
 * An element must be summed up in the same order in any strip and any block of filters. The packed
 * gemm has two ways that depend on M and N: it multiplies tail columns along K where M is large, and
 * it packs A where N is. So blocks are not smaller than LEAST_BLOCK, strips are not longer than
 * MOST_STRIPS of the gemm, and no strip consists of tail columns alone.
 */
enum { LEAST_BLOCK = 64, MOST_STRIPS = 15 };

/* Strips of whole nr tiles whose V and M fit L2, but at least nr tiles. Returns false if these do
   not fit the scratch. */
static bool cut_strips(layer *l)
{
    enum { IN_L2 = 768 * 1024 / sizeof(float) };
    const conv_call *c = l->c;
    const int nr = l->u->nr, unit = l->u->rest_unit;
    l->block = c->n % LEAST_BLOCK ? c->n : LEAST_BLOCK;
    const int room = (int)(GEMM_SCRATCH_BYTES / sizeof(float)) - V_AT - 2 * l->points * LINE;
    const int tile = l->points * (c->c + l->block);
    if ((int)round_up(nr + unit, LINE) > room / tile) return false;
    l->strip = min_int(max_int(nr, IN_L2 / tile / nr * nr), MOST_STRIPS * nr);
    while (l->strip > nr && (int)round_up(l->strip + unit, LINE) > room / tile) l->strip -= nr;
    /* The last strip takes a tail that is too short for a strip of its own. */
    l->strips = max_int(1, (l->tiles + l->strip - unit) / l->strip);
    return l->tiles - (l->strips - 1) * l->strip <= l->strip + unit;
}

static bool cut_phases(layer *l, int threads)
{
    enum { MOST_BYTES = 8 * 1024 * 1024, CHUNKS_OF_A_THREAD = 4 };
    const conv_call *c = l->c;
    if (l->tiles > MOST_STRIPS * l->u->nr || phase_floats(l) * sizeof(float) > MOST_BYTES)
        return false;
    const int parts = c->n % LEAST_BLOCK ? 1 : c->n / LEAST_BLOCK;
    const int wanted = ceil_div(CHUNKS_OF_A_THREAD * threads, l->points);
    l->block = c->n / parts * ceil_div(parts, min_int(parts, wanted));
    l->blocks = ceil_div(c->n, l->block);
    return true;
}

static layer make_layer(const conv_call *c, int m, const gemm_ukernel *u)
{
    layer l = {.c = c, .u = u, .m = m, .points = (m + 2) * (m + 2)};
    l.across = ceil_div(c->out_w, m);
    l.tiles = l.across * ceil_div(c->out_h, m);
    return l;
}

int packed_winograd(const conv_call *c, int m, const gemm_context *context)
{
    const int threads = context->threads;
    layer by_strips = make_layer(c, m, context->isa), by_phases = by_strips;
    const bool has_strips = cut_strips(&by_strips), has_phases = cut_phases(&by_phases, threads);
    if (!has_strips && !has_phases) return -1;
    bool own;
    filters *f = get_filters(c, m, context, &own);
    if (!f) return -1;
    by_strips.U = by_phases.U = f->U;
    const int chunks = has_strips ? c->batch * by_strips.strips : 0;
    const bool enough = has_strips && by_strips.strips > 1 &&
                        (threads == 1 || chunks >= 2 * threads);
    const int status = has_phases && !enough ? run_phases(&by_phases, threads)
                                             : gemm_parallel(threads, chunks, compute_strip,
                                                             &by_strips);
    if (own) free(f);
    return status;
}
