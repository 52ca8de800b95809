/* SPDX-License-Identifier: MIT */
/*
 * What a device is, and which tile `cl` chooses for it and a shape (cl/op/ways.h).
 */
#ifndef GEMM_CL_CHOICE_H
#define GEMM_CL_CHOICE_H

#include "cl/rows.h"
#include "gemm_variant.h"

/* What the choice depends on, apart from the shape. */
typedef struct gemm_cl_traits {
    bool cpu, unified, images;  /* unified: the device shares its memory with the CPU */
    int units, vector;          /* compute units; floats in the device's own vector */
    int group, local;           /* the most items of a group; bytes of local memory */
    size_t image_width, image_height;       /* the most; pixels */
    bool half_images, fp16;     /* images of 16-bit floats; arithmetic on them */
    bool dot;                   /* dot products of packed bytes: cl_khr_integer_dot_product, or
                                   NVIDIA's compiler, which takes instructions */
    bool is_adreno;
    int adreno;                 /* 640 for an Adreno 640; 0: none, or its number is not known */
} gemm_cl_traits;

/* Whether the device's local memory holds two tiles of A and of B, each row padded by 4 floats, and
   its groups have the items. Of rows with `depth`. */
bool gemm_cl_fits_local(const gemm_cl_row *, const gemm_cl_traits *);

/* Which of three rows for vectors of 16, 8 and 4 floats a CPU takes. */
int gemm_cl_vector_choice(const gemm_cl_traits *);

/* The row for a shape, and the number of parts that K is cut into. */
const gemm_cl_row *gemm_cl_choose(const gemm_cl_traits *, const gemm_call *, int *parts);

/* The same for `products` multiplies of this shape in one launch, which make a convolution. */
const gemm_cl_row *gemm_cl_choose_conv(const gemm_cl_traits *, const gemm_call *, int products,
                                       int *parts);

/* Parts of K where an item has a tile of its own, and so `items` of them make C. About `enough`
   groups are wanted, and no part is shorter than `shortest`. */
int gemm_cl_parts_of_items(double items, int enough, const gemm_call *, int shortest);

/* The row for a depthwise convolution and the 1x1 behind it as one launch: the one asked for, or
   the choice of `cl`. It adds in the order of the 1x1 alone, so it gives the same bits. `g` is
   one product of the 1x1. NULL: the row cannot run the pair, or two launches are better. */
const gemm_cl_row *gemm_cl_choose_chain(const gemm_cl_traits *, const gemm_cl_row *asked,
                                        const conv_call *depth, const conv_call *point,
                                        const gemm_call *g);

/* The row for a convolution that multiplies a matrix by a vector: the filters are as large as the
   image. NULL: it is none, or K is so short that most items would idle, or the device's groups are
   too small. */
const gemm_cl_row *gemm_cl_choose_gemv(const gemm_cl_traits *, const conv_call *,
                                       gemm_cl_half_use);

/* A filter for each channel. */
bool gemm_cl_is_depthwise(const conv_call *);

/* The blocks of places that an item of cl_direct computes: 2x2, or four in a row of a 1x1. */
int gemm_cl_direct_blocks(const conv_call *);

/* Whether cl_direct can compute a convolution: 3x3 with stride 1 or 2, 1x1 or 5x5 with stride 1.
   Only a 1x1 is not pooled. */
bool gemm_cl_can_direct(const conv_call *);

/* Whether it can do so by Winograd's algorithm: 3x3 with stride 1, not depthwise. */
bool gemm_cl_can_transform(const conv_call *);

#endif
