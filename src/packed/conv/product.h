/* SPDX-License-Identifier: MIT */
/*
 * A convolution as products of matrices, one for each image and group: M filters, N places of the
 * output, K taps. The columns of B are packed straight from the image.
 */
#ifndef PACKED_PRODUCT_H
#define PACKED_PRODUCT_H

#include "packed/gemm/plan.h"
#include "util/ints.h"

/* ---- taps.c ---- */

/*
 * The taps of a filter as shifts of the image.
 *
 * A tap (ky, kx) is one weight of a filter in one channel. Row p of im2col's matrix holds, for each
 * place of the output, the pixel under tap p. If the output has one place for every pixel, this row
 * is the channel itself from a constant offset on. Only the pixels that fall off an edge differ:
 * they are 0. So a tap is an offset and a mask with one bit for each place.
 */
typedef struct packed_shifts packed_shifts;

/* Whether the taps of this convolution are shifts. */
bool packed_has_shifts(const conv_call *);

/*
 * The shifts of a convolution for which packed_has_shifts(). They cover the whole output, and a
 * strip of nr columns that starts at any of its vectors. NULL when there is no memory. The caller
 * has them alone until packed_give_shifts(), which takes NULL too.
 */
packed_shifts *packed_take_shifts(const conv_call *, const gemm_ukernel *);
void packed_give_shifts(packed_shifts *);

const gemm_taps *packed_taps_of(const packed_shifts *);

typedef struct packed_range {
    int from, to;
} packed_range;

/* The x of 0 .. out-1 for which x * stride + d lies in 0 .. n-1. Empty: from = to. */
static inline packed_range packed_inside(int stride, int d, int n, int out)
{
    const int from = min_int(out, d < 0 ? ceil_div(-d, stride) : 0);
    const int to = d < n ? min_int(out, ceil_div(n - d, stride)) : 0;
    return (packed_range){from, max_int(from, to)};
}

/* ---- product.c ---- */

typedef struct packed_layer {
    const conv_call *c;
    const gemm_ukernel *u;
    const packed_shifts *shifts; /* NULL: taps are not shifts */
    const layer_call *shortcut;  /* NULL: none; added to the output */
    bool by_channels;            /* rows in parts, channel by channel, where taps are not shifts */
} packed_layer;

/*
 * A layer whose products are cut into chunks of whole rows of the output. The threads share it, and
 * its plans: a chunk has that of its size.
 */
typedef struct packed_chunked {
    packed_layer l;
    int rows, count;             /* in a chunk, and chunks of a product */
    packed_plan whole, last;     /* the last chunk of a product may have fewer rows */
} packed_chunked;

/* One chunk: rows y .. y+rows of the output of a product. */
typedef struct packed_chunk {
    int product, y, rows;
    const packed_plan *plan;     /* for packed_run_here */
} packed_chunk;

/* The channels of a group in an image: the source of a packed_b. */
typedef struct packed_channels {
    const conv_call *c;
    const packed_shifts *shifts;
    const float *first;
} packed_channels;

/* The multiply-adds of a convolution. */
double packed_multiply_adds(const conv_call *);

/* Product `index` of batch * groups. The job refers to *source. */
packed_job packed_product(const packed_layer *, packed_channels *source, int index);

/* How the layer's taps become strips, but for the shifts. */
packed_layer packed_plan_layer(const conv_call *, const gemm_ukernel *);

/* Cuts the products. A chunk has `rows` rows. */
packed_chunked packed_cut_products(const packed_layer *, int rows);

/* Chunk `index` of batch * groups * count. */
packed_chunk packed_get_chunk(const packed_chunked *, int index);

/* The threads for a layer whose products are not shared but taken whole: at most `threads`. */
int packed_product_threads(const conv_call *, int threads);

/* Whether a filter reads each part of a row. Layers of stride S have rows of the image in S parts,
   so that pixels under a tap are neighbours. */
static inline bool packed_reads_all_parts(const conv_call *c)
{
    return c->stride > 1 && c->size >= c->stride;
}

/* The geometry of a channel's band. */
gemm_depthwise packed_band_of(const conv_call *, const gemm_ukernel *);

/* Packs nc places of kc rows of a strip, those from place j0 of the band's first row on. Channels
   lie `apart` floats apart in the band. */
void packed_pack_places(const gemm_depthwise *, const gemm_ukernel *, const float *band,
                        size_t apart, int first, int kc, int j0, int nc, float *strip);

#endif
