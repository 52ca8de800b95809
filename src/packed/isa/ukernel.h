/* SPDX-License-Identifier: MIT */
/*
 * The contract between the loops of `packed` and the micro-kernels: one struct for each instruction
 * set.
 *
 * The micro-kernel multiplies a panel of A (mr rows) by a strip of B (nr columns) in kc steps of k.
 * It adds the mr x nr tile to C. Cache blocks, threads and transposes are written once, in the
 * loops, and know no instruction set.
 *
 * A new instruction set is one file ukernel_<isa>.c and one line in gemm_ukernels[]. The file
 * defines constants and vector operations, which ukernel_body.h lists, and includes that file. VL
 * is a constant of it, at most 16.
 */
#ifndef GEMM_UKERNEL_H
#define GEMM_UKERNEL_H

#include "gemm_variant.h"
#include "util/caches.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For the parts of a tile function. */
#ifndef INLINE
#define INLINE static inline __attribute__((always_inline))
#endif

/*
 * Work for later strips of a B by rows that the tiles of this strip do between their steps of k:
 * copy the next strip, prefetch the one after it or a part of the next group. A piece of it is one
 * row of the strip. A tile does one piece before its first step and then one every `every` steps.
 * The next tile goes on where this one ended.
 */
typedef struct gemm_moves {
    int left, every;            /* left: pieces to be done */
    size_t ld;                  /* distance between two rows of B */
    int width;                  /* floats in a row of the strip: nr or wide */
    int cols;                   /* columns to be copied; zeroes fill the last vector */
    const float *copy;          /* the strip to be copied, or NULL */
    float *to;                  /* where it goes, rows `width` apart */
    const float *fetch;         /* what is prefetched to L2 next, or NULL */
    int run, ahead;             /* `run` parts of a row are fetched before the next row. `ahead` of
                                   them are left in this row. */
    bool once;                  /* prefetch without a copy in L3, where the processor can */
} gemm_moves;

/*
 * One tile: C (rows x cols) = alpha * A (rows x kc) * B (kc x cols), plus the old C when `add`.
 *
 * `tail` columns may follow the last strip: too few for a vector, so they are multiplied with
 * vectors along k instead. The tile does not include them.
 */
typedef struct gemm_tile {
    int rows, cols, kc;         /* 1..mr, 1..wide, 1.. */
    const float *a;             /* element (i, p) is a[i * a_row + p * a_step] */
    size_t a_row, a_step;
    const float *a_next;        /* the panel of the next tile, for prefetching */
    const float *b;             /* row p starts at b + p * b_row; whole vectors are read */
    size_t b_row;
    gemm_moves *moves;
    float *c;
    const float *c_next;        /* C of the next tile, for prefetching */
    size_t c_row;
    float alpha;
    bool add;
    /*
     * With shift not NULL, row i of C becomes f(scale[i] * C + shift[i]), where scale NULL is 1 and
     * f(x) is x > 0 ? x : slope * x. So f(NaN) is NaN, and with slope 0 f(-inf) is NaN.
     */
    const float *shift, *scale;
    float slope;
    /*
     * For panels alone, and there NULL unless panels_add: the other input of a shortcut, with rows
     * that are c_row floats apart too. slope is 1, and `add` is false. C becomes g(C + shortcut),
     * with shortcut_slope in g as slope in f.
     */
    const float *shortcut;
    const float *shortcut_next; /* of the next tile, for prefetching */
    float shortcut_slope;
    int tail;
    const float *tail_a;        /* the rows of A, kc floats each, from tail_a + i * tail_a_row on */
    size_t tail_a_row;
    const float *tail_b;        /* column j starts at tail_b + j * tail_ld; zeroes fill its last */
    size_t tail_ld;             /* vector */
} gemm_tile;

/*
 * All tiles of a strip, from the first row to the last: C = f(scale[i] * A * B + shift[i]), f as
 * in gemm_tile. Where K is one block, this takes less than to begin each tile anew.
 */
typedef struct gemm_sweep {
    int rows, cols, kc;         /* 1.., 1..nr, 1.. */
    const float *a;             /* element (i, p) is a[i * a_row + p] */
    size_t a_row;
    const float *b;             /* as in gemm_tile */
    size_t b_row;
    const float *b_next;        /* the next strip, for prefetching, or NULL */
    float *c;
    const float *c_next;        /* C of the next strip */
    size_t c_row;
    const float *shift, *scale; /* scale may be NULL */
    float slope;
} gemm_sweep;

/*
 * The taps of a filter as shifts of an image. Element j of tap q is src[offset[q] + j] when bit
 * j % vl of valid[j / vl * count + q] is set. Else it is 0, and the memory is not read.
 */
typedef struct gemm_taps {
    int count;
    const ptrdiff_t *offset;    /* count */
    const uint16_t *valid;      /* count for each vector of places */
} gemm_taps;

/* A channel and its filters in a depthwise convolution. */
typedef struct gemm_depthwise {
    int h, w, out_h, out_w, size, pad;
    int stride;
    bool pairs;                 /* stride 1: even and odd places are read apart, so columns are
                                   split as with stride 2; out_w is even */
    int pitch;                  /* gemm_depthwise_pitch() */
    int filters;
    const float *src;           /* the channel */
    const float *weights;       /* size * size for each filter */
    const float *scale, *shift; /* one for each filter; scale NULL is 1 */
    float slope;
    float *y;                   /* an image of out_h x out_w for each filter */
} gemm_depthwise;

/*
 * A row of the output of all filters. The pixels are read from a band.
 *
 * Pooled: a row of maxima, each of four places: even and odd ones of a row and of the row below.
 */
typedef struct gemm_band_row {
    int filters, places, K;     /* K: the taps of a filter; pooled: places are maxima */
    const float *weights;       /* filter i and tap k: weights[i * K + k] */
    const float *pixels;        /* tap k and place x: pixels[taps[k] + x]. A whole vector is read
                                   even where there are fewer places. */
    const float *below;         /* pooled: the same for the row below */
    const int *taps;            /* pooled: taps[2 * k] for the even place of maximum x, and
                                   taps[2 * k + 1] for the odd one */
    const float *scale, *shift; /* one for each filter; scale NULL is 1 */
    float slope;
    float *y;                   /* the row of the first filter */
    size_t y_row;               /* floats from filter to filter */
} gemm_band_row;

/* So many rows of the output are computed together if there are as many. */
enum { GEMM_DEPTHWISE_ROWS = 4 };

/* A row of a band is split into so many parts: column x, counted from the padding on, lies in part
   x % parts. So the pixels of neighbouring places are neighbours. */
static inline int gemm_depthwise_parts(const gemm_depthwise *d)
{
    return d->pairs ? 2 : d->stride;
}

/* Floats in a row of a band: a multiple of 2 * vl, or of vl in each part. It holds what the taps of
   out_w places need. */
static inline int gemm_depthwise_pitch(const gemm_depthwise *d, int vl)
{
    const int across = d->pairs ? d->out_w / 2 : d->out_w, places = across > vl ? across : vl;
    const int parts = gemm_depthwise_parts(d), unit = parts > 1 ? vl : 2 * vl;
    const int needed = parts > 1 ? places + d->size / parts + 1 : places + d->size;
    return parts * ((needed + unit - 1) / unit * unit);
}

/* Where column x lies in a row of a band. */
static inline int gemm_depthwise_column(const gemm_depthwise *d, int x)
{
    const int parts = gemm_depthwise_parts(d);
    return x % parts * (d->pitch / parts) + x / parts;
}

/* Floats in a band for so many rows of the output. */
static inline size_t gemm_depthwise_floats(const gemm_depthwise *d, int rows)
{
    return (size_t)((rows - 1) * d->stride + d->size) * (size_t)d->pitch;
}

/*
 * Maps in nchwc: channels are cut into groups of vl, and vl floats behind each other are the
 * channels of one place. What lies behind the last channel does not matter.
 *
 * The product of a layer: C (places x channels) = f(scale * A * B + shift), f as in gemm_tile. Each
 * sum goes over k from the first to the last, and C is in nchwc.
 */
typedef enum gemm_nchwc_source {
    GEMM_ROWS,                  /* place i and k: a[k * a_ld + i] */
    GEMM_NCHWC,                 /* a[k / vl * a_ld + i * vl + k % vl] */
} gemm_nchwc_source;

typedef struct gemm_nchwc {
    int places, channels, K;
    gemm_nchwc_source source;
    const float *a;
    size_t a_ld;
    const float *b;             /* strips of nr channels, K x nr each; the last strip has as many
                                   whole groups as are left */
    const float *scale, *shift; /* a float a channel; scale may be NULL */
    float slope;
    float *c;                   /* place i of group g begins at c[g * c_ld + at[i]] */
    size_t c_ld;
    const int *at;
} gemm_nchwc;

/* Rows of the output of a group of channels in a depthwise layer, in nchwc. */
typedef struct gemm_nchwc_depthwise {
    int size, stride, rows, out_w;
    int channels;               /* 1 .. vl */
    const float *src;           /* the pixel under the first tap of the first place */
    int pitch;                  /* floats from row to row of src */
    const float *weights;       /* size * size vectors */
    const float *scale, *shift; /* a float a channel; scale may be NULL */
    float slope;
    float *y;                   /* rows x out_w x vl */
} gemm_nchwc_depthwise;

enum { GEMM_ADD_ROWS = 9, GEMM_DOT_ROWS = 4 };

/*
 * Of reproducible kernels, the same for all instruction sets. K is cut into steps of
 * GEMM_SAME_KC. What is added with vectors along k is added as GEMM_PARTS sums: element p belongs
 * to sum p % GEMM_PARTS. Then sum i takes sum i + 8, i + 4, i + 2 and i + 1, in this order.
 */
enum { GEMM_SAME_KC = 384, GEMM_PARTS = 16 };

/* With fewer steps a tile has no turns left for pieces of B. */
enum { GEMM_LEAST_PANELS_KC = 64 };

/* ---- Winograd's algorithm: see ukernel_winograd.h ---- */

/* A strip of the tiles of a layer: m x m outputs each, by rows of tiles, image by image. */
typedef struct gemm_tiles {
    int m;                      /* 2 or 4 */
    int h, w, pad;              /* an image of the input */
    int out_h, out_w;
    int across, down;           /* tiles in a row of tiles; rows in an image */
    size_t in_image, out_image; /* floats from image to image */
    int y, x, count;            /* the strip: the place of its first tile, y of all images' rows */
} gemm_tiles;

/* How the outputs of up to vl filters are finished: f(scale * y + shift), as in gemm_tile. */
typedef struct gemm_finish {
    int filters;
    const float *scale, *shift; /* a float a filter; scale may be NULL */
    float slope;
    bool pool;                  /* then the maximum of each 2x2 block */
} gemm_finish;

/* The multiply: a strip by panels of A. */
typedef struct gemm_multiply_kernels {
    void (*tile)(const gemm_tile *);    /* all of it but the tail columns */
    void (*along_k)(const gemm_tile *); /* the tail columns alone, along K; NULL: tail_most is 0 */
    /* `count` tiles of mr rows and whole vectors, one below the other (way = 1) or one above the
       other (-1). The tile is the first of them, and its a_next and c_next belong to what follows
       the last. Panels are a_panel floats apart. kc is GEMM_LEAST_PANELS_KC or more. NULL: the
       tiles are called one by one. */
    void (*panels)(const gemm_tile *, int count, int way, ptrdiff_t a_panel);
    bool panels_add;                    /* panels take a shortcut */
    void (*sweep)(const gemm_sweep *);  /* all tiles of a strip; NULL: A comes in panels */
} gemm_multiply_kernels;

/* Panels and strips. */
typedef struct gemm_pack_kernels {
    /*
     * Pack a panel: kc rows, `width` floats apart, of n elements and zeroes behind them. Element
     * (p, i) comes from src[p * ld + i] for copy, from src[i * ld + p] for transpose.
     */
    void (*copy)(const float *src, size_t ld, int n, int kc, float *dst, int width);
    void (*transpose)(const float *src, size_t ld, int n, int kc, float *dst, int width);
} gemm_pack_kernels;

/* A vector times a matrix. */
typedef struct gemm_skinny_kernels {
    /* y[j] += sum over p < rows of x[p] * m[p * ld + j], j < n; rows is 1 .. GEMM_ADD_ROWS. */
    void (*add_rows)(int rows, int n, const float *x, const float *m, size_t ld, float *y);
    /* y[r] = sum over p < n of x[p] * m[r * ld + p], r < rows; rows is 1 .. GEMM_DOT_ROWS and
       changes no bit of a y[r] */
    void (*dots)(int rows, int n, const float *x, const float *m, size_t ld, float *y);
    /* The same by GEMM_PARTS sums, see there. */
    void (*dots_by_parts)(int rows, int n, const float *x, const float *m, size_t ld, float *y);
} gemm_skinny_kernels;

/* Convolutions that read the image itself, and bands of it. */
typedef struct gemm_conv_kernels {
    /*
     * Packs kc rows of a strip of nr columns from an image. Row 0 is tap `first` of the channel at
     * src, row 1 the next tap. After the last tap comes tap 0 of the next channel, `area` floats
     * on.
     */
    void (*pack_taps)(const gemm_taps *, const float *src, size_t area, int first, int kc,
                      float *strip);
    /* Writes to a band the pixels that rows y0 .. y1-1 of the output need. It has
       gemm_depthwise_floats(), all 0 before the first call. After that it may be used again for
       channels of the same sizes. */
    void (*fill_band)(const gemm_depthwise *, int y0, int y1, float *band);
    /*
     * Packs n places, 1 .. nr, of kc rows of a strip: those from column x on of a row of the
     * output. `band` begins with the rows that this row of the output needs. Channels are `apart`
     * floats apart. Row 0 is tap `first`; after the last tap of a channel comes tap 0 of the next.
     */
    void (*pack_band)(const gemm_depthwise *, const float *band, size_t apart, int first, int kc,
                      int x, int n, float *strip);
    /* y = f(scale * (the sums) + shift), f as in gemm_tile. Each sum goes over the taps from the
       first to the last. */
    void (*band_row)(const gemm_band_row *);
    /* The same, pooled: the maxima are those of max_pairs. */
    void (*band_pooled)(const gemm_band_row *);
    /* These rows of y = f(scale * (the convolution) + shift), f as in gemm_tile. They are at least
       GEMM_DEPTHWISE_ROWS, or all. */
    void (*depthwise)(const gemm_depthwise *, const float *band, int y0, int y1);
} gemm_conv_kernels;

/* The time of an element of a product of K steps is element + step * K. The unit is that of a
   multiply-add by an FMA. */
typedef struct gemm_product_cost {
    double element, step;
} gemm_product_cost;

/* The product of a layer and a depthwise layer, in nchwc. */
typedef struct gemm_nchwc_kernels {
    void (*product)(const gemm_nchwc *);
    gemm_product_cost cost;
    void (*depthwise)(const gemm_nchwc_depthwise *);
} gemm_nchwc_kernels;

/* Places in another order. */
typedef struct gemm_reorder_kernels {
    /* Place i of channel c goes from src[c / vl * ld + i * vl + c % vl] to dst[c * dst_ld + i]. */
    void (*from_nchwc)(int places, int channels, const float *src, size_t ld, float *dst,
                       size_t dst_ld);
    /* The way back: from src[c * ld + i] to dst[c / vl * dst_ld + i * vl + c % vl]. */
    void (*to_nchwc)(int places, int channels, const float *src, size_t ld, float *dst,
                     size_t dst_ld);
    /* dst[i] = src[2 * i], i < n; dst may be src, or lie before it */
    void (*take_even)(const float *src, int n, float *dst);
} gemm_reorder_kernels;

/* Winograd's algorithm (ukernel_winograd.h). */
typedef struct gemm_winograd_kernels {
    /*
     * Transforms a channel. Element t of point q, 0 .. n * n - 1, goes to
     * V[q * point + t / mr * panel + t % mr]; panel_row floats are written for each mr tiles. Needs
     * 96 floats of scratch for each tile, and 4096 more.
     */
    void (*input)(const gemm_tiles *, const float *channel, float *V, size_t point,
                  size_t panel, float *scratch);
    /* Transforms up to vl filters, channels x 9 each, `apart` floats apart. Point q of channel c
       and filter f goes to U[q * point + c * step + f]; behind the last filter come zeroes. */
    void (*filters)(int m, const float *g, size_t apart, int filters, int channels,
                    float *U, size_t point, size_t step);
    /* Transforms the sums of these filters back and writes their outputs. M[q * point + t * ld + f]
       is the sum of tile t at point q. `output` is the first filter's. */
    void (*output)(const gemm_tiles *, const float *M, size_t point, size_t ld,
                   const gemm_finish *, float *output);
} gemm_winograd_kernels;

/*
 * Layers without weights, and activations. A maximum is m = -FLT_MAX, then m = x > m ? x : m for
 * one float after the other. So NaN does not count, and of several zeroes the first one is taken.
 */
typedef struct gemm_layers_kernels {
    /* max[i] of a[i] and b[i], i < n; max may be a, and then b may lie behind a in the same array;
       else max overlaps neither */
    void (*max_rows)(int n, const float *a, const float *b, float *max);
    /* max[i] of top[2 * i], top[2 * i + 1], bottom[2 * i], bottom[2 * i + 1], i < n */
    void (*max_pairs)(int n, const float *top, const float *bottom, float *max);
    /* y[i] = x, i < n */
    void (*fill)(int n, float x, float *y);
    /* alpha * x[i] goes to y[i * times] and to the times - 1 floats behind it, i < n */
    void (*repeat)(int n, const float *x, float alpha, int times, float *y);
    /* sum over i < n of x[i] */
    float (*sum)(int n, const float *x);
    /* The same by GEMM_PARTS sums, see there. */
    float (*sum_by_parts)(int n, const float *x);
    /* y[i] = f(alpha * x[i] + beta * z[i]), i < n, without an FMA; f as in gemm_tile */
    void (*add_scaled)(int n, float alpha, const float *x, float beta, const float *z, float slope,
                       float *y);
    /* y[i] = f(x[i]), i < n, for an activation behind the kernel (gemm_activation_is_behind); y may
       be x. The logistic is off by at most 3 * FLT_EPSILON times y[i], or by FLT_TRUE_MIN where
       y[i] is a denormal. NaN stays NaN there. */
    void (*activate)(conv_activation, int n, const float *x, float *y);
} gemm_layers_kernels;

/* Where a block of A stays while strips of B pass. */
typedef enum gemm_a_home {
    GEMM_A_IN_L3,               /* L3 is fast enough for the micro-kernel */
    GEMM_A_IN_L2,               /* but in L3 if the caller packs B, which is then packed once */
    GEMM_A_ONLY_IN_L2           /* such a B is packed again for each block of A */
} gemm_a_home;

typedef struct gemm_ukernel {
    const char *name;           /* the value of GEMM_ISA */
    int mr, nr, vl;             /* the tile, and the floats in a vector; nr is a multiple of vl */
    int wide;                   /* columns of a wide strip, a multiple of nr: several tiles side by
                                   side */
    int wide_rows;              /* with up to so many rows of A memory is the limit. Strips are then
                                   wide, because it sends long pieces of a row faster */
    int mc, kc;                 /* cache blocks; mc is a multiple of mr */
    int k_unit;                 /* kc of a plan is a multiple, where K has several blocks */
    gemm_a_home a_home;         /* of an A that is not packed */
    int tail_unit, tail_most;   /* N % tail_unit columns, if at most tail_most, go along K */
    int panel_row;              /* mr, or more: whole vectors or halves of them */
    gemm_multiply_kernels gemm;
    gemm_pack_kernels pack;
    gemm_skinny_kernels skinny;
    gemm_conv_kernels conv;
    gemm_nchwc_kernels nchwc;
    gemm_reorder_kernels reorder;
    gemm_winograd_kernels winograd;
    gemm_layers_kernels layers;
    const struct gemm_pairs *pairs;     /* its products are of pairs (pairs.h); NULL: of floats */
    bool (*supported)(void);    /* by the processor and the system it runs on */
    bool reproducible;          /* the bits are those of all other reproducible kernels */
} gemm_ukernel;

/* Fastest first, NULL at the end. Holds only what this binary was compiled for. */
extern const gemm_ukernel *const gemm_ukernels[];

/* The micro-kernels called `name` if this processor runs them, else NULL. With name NULL: the
   fastest that it runs. */
const gemm_ukernel *gemm_ukernel_find(const char *name);

/* The reproducible form of one of gemm_ukernels. For one without a fused multiply-add these are the
   kernels `generic`, with a slow one. */
const gemm_ukernel *gemm_ukernel_reproducible(const gemm_ukernel *);

extern const gemm_ukernel gemm_ukernel_avx512, gemm_ukernel_avx2, gemm_ukernel_neon,
    gemm_ukernel_neon32_fma, gemm_ukernel_neon32, gemm_ukernel_generic,
    gemm_ukernel_generic_fused;

#endif
