/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL rows as data: a kernel of kernels/, the options that it is compiled with, and its
 * tile. A new OpenCL variant is such a row and a line in driver/table.c. Where no kernel fits, it
 * is a .cl file too. A new tile of `cl` is a row of gemm_cl_choices and its name in the enum.
 *
 * Needs no OpenCL header, because the table names the rows in a build with OPENCL=0 too.
 */
#ifndef GEMM_CL_ROWS_H
#define GEMM_CL_ROWS_H

#include "gemm_variant.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum gemm_cl_kind {
    GEMM_CL_PLAIN,              /* A, B and C where they lie, by strides */
    GEMM_CL_PADDED,             /* A and transposed B in copies, padded to multiples of `cols` */
    GEMM_CL_IMAGE,              /* B as an image of four columns a pixel */
    GEMM_CL_CHOOSE,             /* a row chosen by device and shape (cl/op/ways.c) */
    GEMM_CL_CLBLAST             /* the library, not a kernel of kernels/ */
} gemm_cl_kind;

typedef enum gemm_cl_conv_use {
    GEMM_CL_NO_CONV,
    GEMM_CL_CONV,               /* with -DCONV the kernel computes whole convolutions */
    GEMM_CL_ONLY_CONV           /* the kernel computes nothing else */
} gemm_cl_conv_use;

typedef enum gemm_cl_half_use {
    GEMM_CL_SINGLE,
    GEMM_CL_HALF_B,             /* B's image has 16 bits an element; of cl_direct A's image */
    GEMM_CL_HALF_SUMS           /* A too, and -DHALF_SUMS adds short runs in 16 bits */
} gemm_cl_half_use;

/* What all rows of a kernel have in common. */
typedef struct gemm_cl_family {
    const char *kernel;         /* kernels/<kernel>.cl and its entry; NULL: rows that choose */
    const char *discrete;       /* more options where the GPU has memory of its own, or NULL */
    gemm_cl_kind kind;
    gemm_cl_conv_use conv;
    bool any_group;             /* the kernel runs in a group of fewer items too */
    bool shares;                /* a group is one item, and takes a share of the rows of C */
    bool one_column;            /* computes only a C of one column, whose B lies as it is needed */
    bool splits;                /* can cut K into parts (split-K), as gemm_cl_splits says */
    bool by_channel;            /* with -DTAPS, parts of K are whole channels */
    bool stores;                /* with -DSTORE a multiply stores C instead of adding to it */
    bool pools;                 /* with -DPOOL a convolution stores the maxima of 2x2 blocks */
    bool adds;                  /* with -DSHORTCUT a convolution adds another map to its output, and
                                   with -DPACKED it has one argument for all numbers */
    bool direct;                /* the kernel reads the input itself and takes packed weights
                                   (cl/op/direct.h) */
    bool int8;                  /* whole numbers of 8 bits, with packed weights (cl/op/int8.h) */
} gemm_cl_family;

typedef struct gemm_cl_row {
    const gemm_cl_family *family;
    const char *defines;        /* more options for the compiler, or NULL */
    int rows, cols;             /* of C, for a work-item: -DROWS -DCOLS */
    int wx, wy;                 /* items of a group: -DWX -DWY; 0: by the device and the shape */
    int depth;                  /* steps of K in local memory at once: -DBK; 0: none. Such a kernel
                                   is told which operands are transposed: -DA_TRANSPOSED
                                   -DB_TRANSPOSED */
    int slices;                 /* of these steps, each for other items of the group: -DSLICES; 0:
                                   one. All rows with slices have the same number and the same
                                   depth, so that C has the same bits under each of them */
    int local;                  /* bytes of local memory, where limits alone decide whether the row
                                   can run (gemm_cl_limits); 0: asked from the built kernel */
    int parts;                  /* of K, where the row can cut it; 0: `cl` chooses, other rows do
                                   not cut */
    gemm_cl_half_use half;
    bool texture;               /* of `direct`: the packed weights are an image: -DTEXTURE */
    int winograd;               /* m of Winograd's algorithm (cl/op/winograd.h; with `direct`, in
                                   kernels/cl_direct.cl; with `depth`, this kernel has the
                                   multiplies); 0: another one */
    const char *way;            /* of GEMM_CL_CHOOSE: as GEMM_WAY of this name (cl/op/ways.c), or
                                   NULL */
    const struct gemm_cl_row *instead;  /* the next choice of `cl` where a program of this one is
                                   left out or spills registers; NULL: there is none */
} gemm_cl_row;

/* Whether the row leaves the choice to `cl`. */
static inline bool gemm_cl_chooses(const gemm_cl_row *row)
{
    return row->family->kind == GEMM_CL_CHOOSE;
}

/* Whether the row can cut K into parts. Slices and points of Winograd's algorithm are no parts. */
static inline bool gemm_cl_splits(const gemm_cl_row *row)
{
    return row->family->splits && !row->slices && !(row->winograd && row->depth);
}

/* Whether a convolution of the row adds the map of a shortcut. The multiplies of points do not. */
static inline bool gemm_cl_adds(const gemm_cl_row *row)
{
    return row->family->adds && !row->winograd;
}

/*
 * The search of the paper: F(name, side of a block, floats of a vector, unrolling). A name leaves
 * out what is as in cl_local: b32, v1, u1. A loop over a block has side / floats steps, and it is
 * not unrolled further.
 */
#define GEMM_CL_SEARCH(F) \
    F(b8, 8, 1, 1) F(b8_u2, 8, 1, 2) F(b8_u4, 8, 1, 4) F(b8_u8, 8, 1, 8) \
    F(b8_v4, 8, 4, 1) F(b8_v4_u2, 8, 4, 2) F(b8_v8, 8, 8, 1) \
    F(b16, 16, 1, 1) F(b16_u2, 16, 1, 2) F(b16_u4, 16, 1, 4) F(b16_u8, 16, 1, 8) \
    F(b16_u16, 16, 1, 16) F(b16_v4, 16, 4, 1) F(b16_v4_u2, 16, 4, 2) F(b16_v4_u4, 16, 4, 4) \
    F(b16_v8, 16, 8, 1) F(b16_v8_u2, 16, 8, 2) F(b16_v16, 16, 16, 1) \
    F(u2, 32, 1, 2) F(u4, 32, 1, 4) F(u8, 32, 1, 8) F(u16, 32, 1, 16) \
    F(v4, 32, 4, 1) F(v4_u2, 32, 4, 2) F(v4_u4, 32, 4, 4) F(v4_u8, 32, 4, 8) \
    F(v8, 32, 8, 1) F(v8_u2, 32, 8, 2) F(v8_u4, 32, 8, 4) \
    F(v16, 32, 16, 1) F(v16_u2, 32, 16, 2) \
    F(b64, 64, 1, 1) F(b64_u2, 64, 1, 2) F(b64_u4, 64, 1, 4) F(b64_u8, 64, 1, 8) \
    F(b64_u16, 64, 1, 16) F(b64_v4, 64, 4, 1) F(b64_v4_u2, 64, 4, 2) F(b64_v4_u4, 64, 4, 4) \
    F(b64_v4_u8, 64, 4, 8) F(b64_v4_u16, 64, 4, 16) F(b64_v8, 64, 8, 1) F(b64_v8_u2, 64, 8, 2) \
    F(b64_v8_u4, 64, 8, 4) F(b64_v8_u8, 64, 8, 8) F(b64_v16, 64, 16, 1) \
    F(b64_v16_u2, 64, 16, 2) F(b64_v16_u4, 64, 16, 4)

/* cl_block with blocks of other sides than 32: F(name, side). */
#define GEMM_CL_BLOCKS(F) F(b8, 8) F(b16, 16) F(b64, 64)

#define GEMM_CL_DECLARE_LOCAL(name, side, floats, unrolling) \
    extern const gemm_cl_row gemm_cl_local_##name;
#define GEMM_CL_DECLARE_BLOCK(name, side) extern const gemm_cl_row gemm_cl_block_##name;
GEMM_CL_SEARCH(GEMM_CL_DECLARE_LOCAL)
GEMM_CL_BLOCKS(GEMM_CL_DECLARE_BLOCK)

extern const gemm_cl_row gemm_cl_naive, gemm_cl_block, gemm_cl_local, gemm_cl_image, gemm_cl_best,
    gemm_cl_direct, gemm_cl_direct_image, gemm_cl_direct_winograd, gemm_cl_clblast, gemm_cl_half,
    gemm_cl_half_fast;

/* How the last two of them round. */
extern const gemm_rounding gemm_cl_half_rounding, gemm_cl_half_fast_rounding;

/*
 * The rows that `cl` chooses from. A name has rows x columns of C: of GEMM_CL_IMAGE for a
 * work-item, of GEMM_CL_TILE, GEMM_CL_SLICED and GEMM_CL_POINTS for a group. Runs of names:
 *
 *   SLICED      from the largest tile to the smallest one, as choice.c tries them
 *   WIDE, CONV_WIDE, WINOGRAD    for CPUs, by the device's vector in the order of
 *               gemm_cl_vector_choice: one tile; four from low to high; m = 2 and m = 4
 *   GEMV        of convolutions that multiply a matrix by a vector
 *   DIRECT      the kernel reads the input itself: 8 filters an item, or 4 where the window of 8
 *               would spill registers, or 1 of a depthwise layer. Forms of the first: weights as
 *               an image, in 32 or in 16 bits, and Winograd's algorithm
 *   POINTS      Winograd's algorithm on GPUs: a tile of cl_tile, with m = 2 or 4
 */
enum { GEMM_CL_CONV_TILES = 4 };
enum {
    GEMM_CL_IMAGE_8x4, GEMM_CL_IMAGE_4x4, GEMM_CL_IMAGE_8x8, GEMM_CL_WIDE_16, GEMM_CL_WIDE_8,
    GEMM_CL_WIDE_4, GEMM_CL_THIN_1, GEMM_CL_THIN_2, GEMM_CL_THIN_4, GEMM_CL_THIN_8,
    GEMM_CL_TILE_16x128, GEMM_CL_TILE_32x64, GEMM_CL_TILE_32x64_DEEP, GEMM_CL_TILE_64x64,
    GEMM_CL_SLICED_64x16, GEMM_CL_SLICED_32x32, GEMM_CL_SLICED_64x8, GEMM_CL_SLICED_32x16,
    GEMM_CL_SLICED_16x32, GEMM_CL_SLICED_16x16,
    GEMM_CL_MULTIPLIES,         /* all before this one multiply, too */
    GEMM_CL_CONV_WIDE = GEMM_CL_MULTIPLIES,
    GEMM_CL_GEMV = GEMM_CL_CONV_WIDE + 3 * GEMM_CL_CONV_TILES, GEMM_CL_GEMV_HALF, GEMM_CL_GEMV_CPU,
    GEMM_CL_DIRECT_8, GEMM_CL_DIRECT_4, GEMM_CL_DIRECT_1, GEMM_CL_DIRECT_IMAGE, GEMM_CL_DIRECT_HALF,
    GEMM_CL_DIRECT_WINOGRAD,
    GEMM_CL_WINOGRAD,
    GEMM_CL_POINTS_64x64_2 = GEMM_CL_WINOGRAD + 3 * 2, GEMM_CL_POINTS_64x64_4,
    GEMM_CL_POINTS_32x64_2, GEMM_CL_POINTS_32x64_4,
    GEMM_CL_CHOICES
};
extern const gemm_cl_row gemm_cl_choices[GEMM_CL_CHOICES];

/* Of a chain whose 16x128 spills registers: 16x64 for a group, and four steps of K at once. So an
   item looks up half as many elements at once, and adds in the same order. */
extern const gemm_cl_row gemm_cl_tile_short;

/* Which tile of cl_image is for which GPU with unified memory, and for which multiply. The first
   rule that fits counts. */
typedef struct gemm_cl_image_rule {
    int first, last;            /* Adreno's model numbers; other GPUs are 0 */
    int items;                  /* each compute unit gets at least so many work-items */
    int choice;                 /* of gemm_cl_choices */
} gemm_cl_image_rule;
extern const gemm_cl_image_rule gemm_cl_image_rules[];

/* What the rows of the kernel have in common; of a kernel without rows all is 0. */
const gemm_cl_family *gemm_cl_family_of(const char *kernel);

/* Bytes of local memory that the row's M takes for a tile; it needs `rows` of them. 0: the row is
   not cl_winograd's. */
int gemm_cl_winograd_tile(const gemm_cl_row *);

#endif
