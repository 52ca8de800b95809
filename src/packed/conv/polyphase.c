/* SPDX-License-Identifier: MIT */
/*
 * Layers of stride S > 1 with large maps, as products of matrices. A chunk is some rows of the
 * output. Their band of the image has all channels, with rows in S parts, and serves many
 * strips of B.
 */
#include "packed/conv/product.h"
#include "packed/conv/way.h"
#include "packed/gemm/loops.h"
#include "util/ints.h"
#include "util/threads.h"

#include <string.h>

/* A band of the image with split rows of all channels: the source of a packed_b. */
typedef struct polyphase_rows {
    gemm_depthwise d;
    const float *band;          /* what fill_band wrote for each channel */
    size_t apart;               /* floats from channel to channel */
} polyphase_rows;

/* Place 0 is the first one of the band's rows of the output. */
static void pack_polyphase(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                       float *strip)
{
    const polyphase_rows *s = b->source;
    packed_pack_places(&s->d, u, s->band, s->apart, p0, kc, j0, nc, strip);
}

/*
 * Rows of the output in a chunk. Their band of the image is a quarter of a small L2, and they fill
 * a few strips. They depend on the shape of one image alone, because the number of columns of a
 * product decides its last bits. 0: there are too few chunks for several threads, or the band is
 * too large.
 */
static int rows_of_chunk(const conv_call *c, const gemm_ukernel *u)
{
    enum { FEW_CHUNKS = 8, MANY_CHUNKS = 16, FEW_STRIPS = 4, BAND = 64 * 1024 / sizeof(float),
           MOST = (GEMM_SCRATCH_BYTES - PACKED_SCRATCH_BYTES) / sizeof(float) };
    const int channels = c->c / c->groups;
    const gemm_depthwise d = packed_band_of(c, u);
    const int fits = (BAND / channels / d.pitch - c->size) / c->stride + 1;
    const int least = ceil_div(FEW_STRIPS * u->nr, c->out_w);
    const int rows = max_int(least, min_int(fits, ceil_div(c->out_h, MANY_CHUNKS)));
    if (channels * gemm_depthwise_floats(&d, rows) > MOST) return 0;
    return c->groups * ceil_div(c->out_h, rows) < FEW_CHUNKS ? 0 : rows;
}

static void convolve_polyphase(void *arg, int index, void *scratch)
{
    const packed_chunked *p = arg;
    const packed_layer *l = &p->l;
    const conv_call *c = l->c;
    const packed_chunk chunk = packed_get_chunk(p, index);
    const int in = c->c / c->groups;
    polyphase_rows s = {.d = packed_band_of(c, l->u)};
    packed_channels source;
    packed_job job = packed_product(l, &source, chunk.product);
    float *const band = (float *)scratch + PACKED_SCRATCH_BYTES / sizeof(float);
    s.band = band;
    s.apart = gemm_depthwise_floats(&s.d, chunk.rows);
    memset(band, 0, in * s.apart * sizeof *band);
    for (int i = 0; i < in; ++i) {
        s.d.src = source.first + (size_t)i * c->h * c->w;
        l->u->conv.fill_band(&s.d, chunk.y, chunk.y + chunk.rows, band + i * s.apart);
    }
    job.B = (packed_b){.source = &s, .pack = pack_polyphase};
    job.N = chunk.rows * c->out_w;
    job.C += (size_t)chunk.y * c->out_w;
    packed_run_here(&job, chunk.plan, scratch);
}

/* What the way plans. */
typedef struct polyphase {
    packed_chunked p;
    int threads;
} polyphase;

static const char *plan_polyphase(const conv_call *c, const gemm_context *context,
                                  packed_choice *choice)
{
    if (c->pool) return "pool";
    if (!packed_reads_all_parts(c)) return c->stride == 1 ? "stride 1" : "smaller than the stride";
    const int rows = rows_of_chunk(c, context->isa);
    if (!rows) return "few chunks or no room in scratch";
    const packed_layer l = {.c = c, .u = context->isa};
    const polyphase way = {packed_cut_products(&l, rows),
                           packed_product_threads(c, context->threads)};
    packed_put(choice, &way, sizeof way);
    return NULL;
}

static int run_polyphase(const conv_call *c, const layer_call *shortcut,
                         const packed_choice *choice, const gemm_context *context)
{
    (void)shortcut, (void)context;
    polyphase way;
    packed_get(choice, &way, sizeof way);
    way.p.l.c = c;
    return gemm_parallel(way.threads, c->batch * c->groups * way.p.count, convolve_polyphase,
                         &way.p);
}

const packed_way packed_way_polyphase = {"polyphase", false, false, plan_polyphase, run_polyphase};
