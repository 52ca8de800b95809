/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL rows as data.
 *
 *   the ladder of the paper (Adreno 330)    cl_naive, cl_block, cl_local
 *   Qualcomm's kernel                       cl_image
 *   this project's                          cl_tile for desktop GPUs, cl_wide for CPUs, cl_thin for
 *                                           a C of few rows
 *   its own for convolutions alone          cl_gemv for connected layers; cl_direct where memory is
 *                                           shared; on CPUs cl_conv_wide and cl_winograd; tiles of
 *                                           cl_tile with `winograd`
 *
 * The arguments of a macro are members of gemm_cl_row, in the order of rows.h.
 */
#include "cl/rows.h"

#include <limits.h>
#include <string.h>

/* ---- what the rows of a kernel share ---- */

enum { NAIVE, BLOCKS, LOCALS, IMAGES, WIDES, THINS, TILES, CONV_WIDES, GEMVS, DIRECTS, WINOGRADS,
       KERNELS };

/* A discrete GPU has registers to spare, and more latency to hide. */
static const gemm_cl_family families[KERNELS] = {
    [NAIVE] = {.kernel = "cl_naive"},
    [BLOCKS] = {.kernel = "cl_block", .kind = GEMM_CL_PADDED},
    [LOCALS] = {.kernel = "cl_local", .kind = GEMM_CL_PADDED},
    [IMAGES] = {.kernel = "cl_image", .discrete = "-DAHEAD -DUNROLL=2", .kind = GEMM_CL_IMAGE,
                .conv = GEMM_CL_CONV, .splits = true, .pools = true},
    [WIDES] = {.kernel = "cl_wide", .shares = true},
    [THINS] = {.kernel = "cl_thin", .conv = GEMM_CL_CONV, .any_group = true, .splits = true,
               .by_channel = true, .stores = true, .adds = true},
    [TILES] = {.kernel = "cl_tile", .conv = GEMM_CL_CONV, .splits = true, .stores = true,
               .pools = true, .adds = true},
    [CONV_WIDES] = {.kernel = "cl_conv_wide", .conv = GEMM_CL_ONLY_CONV, .shares = true,
                    .pools = true},
    [GEMVS] = {.kernel = "cl_gemv", .conv = GEMM_CL_CONV, .one_column = true},
    [DIRECTS] = {.kernel = "cl_direct", .conv = GEMM_CL_CONV, .any_group = true, .splits = true,
                 .by_channel = true, .pools = true, .direct = true},
    [WINOGRADS] = {.kernel = "cl_winograd", .conv = GEMM_CL_ONLY_CONV, .pools = true},
};

static const gemm_cl_family chooses = {.kind = GEMM_CL_CHOOSE, .splits = true},
                            library = {.kind = GEMM_CL_CLBLAST};

const gemm_cl_family *gemm_cl_family_of(const char *kernel)
{
    static const gemm_cl_family none;
    for (int i = 0; i < KERNELS; ++i)
        if (!strcmp(families[i].kernel, kernel)) return &families[i];
    return &none;
}

/* ---- the rows ---- */

#define LADDER(number, defines_, side, local_) \
    {.family = &families[number], .defines = defines_, .rows = 1, .cols = side, .wx = 1, \
     .wy = side, .local = local_}
#define BLOCK(side) LADDER(BLOCKS, "", side, 0)
#define LOCAL(side, floats, unrolling) \
    LADDER(LOCALS, "-DVECTOR=" #floats " -DUNROLL=" #unrolling, side, \
           2 * side * side * sizeof(float))
#define IMAGE(rows_, cols_, instead_) \
    {.family = &families[IMAGES], .defines = "", .rows = rows_, .cols = cols_, .instead = instead_}

/* Named by the user, so always the same tile: 8x4. */
#define HALF(defines_, half_) \
    {.family = &families[IMAGES], .defines = defines_, .rows = 8, .cols = 4, .half = half_}

/*
 * 16 bits hold 11 binary digits, so rounding to nearest is off by u = 2^-11 of the element at most.
 * An element below 2^-14 may become 0. One over 65504 becomes infinite, or 65504.
 *
 * With both operands rounded, a product is off by 2 u + u^2. A run of 32 products is off by about
 * 33 u more, because each product and each sum is rounded. 36 u covers both, and the products of
 * roundings. A product and a sum below 2^-14 may become 0. Source: Higham, Accuracy and Stability
 * of Numerical Algorithms, chapter 3.
 */
const gemm_rounding gemm_cl_half_rounding = {.product = 0x1p-11, .a = 0x1p-14, .b = 0x1p-14};
const gemm_rounding gemm_cl_half_fast_rounding = {
    .product = 36 * 0x1p-11, .a = 0x1p-14, .b = 0x1p-14, .sum = 3 * 0x1p-14};

const gemm_cl_row gemm_cl_naive = LADDER(NAIVE, "", 1, 0);
const gemm_cl_row gemm_cl_block = BLOCK(32);
const gemm_cl_row gemm_cl_local = LOCAL(32, 1, 1);
#define DEFINE_LOCAL(name, side, floats, unrolling) \
    const gemm_cl_row gemm_cl_local_##name = LOCAL(side, floats, unrolling);
#define DEFINE_BLOCK(name, side) const gemm_cl_row gemm_cl_block_##name = BLOCK(side);
GEMM_CL_SEARCH(DEFINE_LOCAL)
GEMM_CL_BLOCKS(DEFINE_BLOCK)
const gemm_cl_row gemm_cl_image = IMAGE(8, 4, &gemm_cl_choices[GEMM_CL_IMAGE_4x4]);
const gemm_cl_row gemm_cl_half = HALF("", GEMM_CL_HALF_B);
const gemm_cl_row gemm_cl_half_fast = HALF("-DHALF_SUMS", GEMM_CL_HALF_SUMS);
const gemm_cl_row gemm_cl_best = {.family = &chooses, .defines = ""};
const gemm_cl_row gemm_cl_direct = {.family = &chooses, .defines = "", .way = "direct"};
const gemm_cl_row gemm_cl_direct_image = {.family = &chooses, .defines = "", .way = "direct_image"};
const gemm_cl_row gemm_cl_direct_winograd = {
    .family = &chooses, .defines = "", .way = "direct_winograd"};
const gemm_cl_row gemm_cl_clblast = {.family = &library, .defines = ""};

#define CHOICE(name) &gemm_cl_choices[GEMM_CL_##name]
#define WIDE(vector, rows_, cols_, instead_) \
    {.family = &families[WIDES], .defines = "-DVECTOR=" #vector, .rows = rows_, .cols = cols_, \
     .wx = 1, .wy = 1, .instead = instead_}
#define THIN(rows_) \
    {.family = &families[THINS], .defines = "", .rows = rows_, .cols = 1, .wx = 64, .wy = 1, \
     .instead = &gemm_cl_naive}
#define TILE(rows_, cols_, wx_, wy_, depth_, instead_) \
    {.family = &families[TILES], .defines = "", .rows = rows_, .cols = cols_, .wx = wx_, \
     .wy = wy_, .depth = depth_, .instead = instead_}
#define SLICED(rows_, cols_, wx_, wy_) \
    {.family = &families[TILES], .defines = "", .rows = rows_, .cols = cols_, .wx = wx_, \
     .wy = wy_, .depth = 64, .slices = 8, .instead = CHOICE(TILE_16x128)}

/* One with narrower vectors, because a fault of the compiler is likely the vector's. */
#define WIDE_CONV(vector, rows_, cols_, instead_) \
    {.family = &families[CONV_WIDES], .defines = "-DVECTOR=" #vector, .rows = rows_, \
     .cols = cols_, .wx = 1, .wy = 1, .instead = instead_}
#define WIDE_CONV_16(rows_) WIDE_CONV(16, rows_, 32, CHOICE(CONV_WIDE + GEMM_CL_CONV_TILES + 2))
#define WIDE_CONV_8(rows_) \
    WIDE_CONV(8, rows_, 16, CHOICE(CONV_WIDE + 2 * GEMM_CL_CONV_TILES + 2))
#define WIDE_CONV_4(rows_) WIDE_CONV(4, rows_, 8, CHOICE(THIN_8))

#define GEMV(defines_, half_, rows_, wx_) \
    {.family = &families[GEMVS], .defines = defines_, .rows = rows_, .cols = 1, .wx = wx_, \
     .wy = 1, .half = half_}

/* 2x2 places and 8 filters are 32 sums, which every Adreno keeps in registers. */
#define DIRECT_FORM(rows_, defines_, texture_, half_, m) \
    {.family = &families[DIRECTS], .defines = defines_, .rows = rows_, .cols = 4, .wx = 64, \
     .wy = 1, .texture = texture_, .half = half_, .winograd = m}
#define DIRECT(rows_) DIRECT_FORM(rows_, "", false, GEMM_CL_SINGLE, 0)
#define DIRECT_IMAGE(rows_, half_) DIRECT_FORM(rows_, "-DTEXTURE", true, half_, 0)

#define WINOGRAD(vector, rows_, cols_, m) \
    {.family = &families[WINOGRADS], .defines = "-DVECTOR=" #vector, .rows = rows_, \
     .cols = cols_, .wx = 1, .wy = 1, .winograd = m}

#define POINTS(rows_, m) \
    {.family = &families[TILES], .defines = "", .rows = rows_, .cols = 4, .wx = 16, .wy = 8, \
     .depth = 16, .winograd = m}

const gemm_cl_row gemm_cl_choices[GEMM_CL_CHOICES] = {
    [GEMM_CL_IMAGE_8x4] = IMAGE(8, 4, CHOICE(IMAGE_4x4)),
    [GEMM_CL_IMAGE_4x4] = IMAGE(4, 4, CHOICE(THIN_8)),
    [GEMM_CL_IMAGE_8x8] = IMAGE(8, 8, CHOICE(IMAGE_8x4)),
    [GEMM_CL_WIDE_16] = WIDE(16, 8, 32, CHOICE(WIDE_8)),
    [GEMM_CL_WIDE_8] = WIDE(8, 6, 16, CHOICE(WIDE_4)),
    [GEMM_CL_WIDE_4] = WIDE(4, 4, 8, &gemm_cl_naive),
    [GEMM_CL_THIN_1] = THIN(1),
    [GEMM_CL_THIN_2] = THIN(2),
    [GEMM_CL_THIN_4] = THIN(4),
    [GEMM_CL_THIN_8] = THIN(8),
    [GEMM_CL_TILE_16x128] = TILE(4, 4, 32, 4, 8, CHOICE(THIN_8)),
    [GEMM_CL_TILE_32x64] = TILE(4, 4, 16, 8, 16, CHOICE(TILE_16x128)),
    [GEMM_CL_TILE_32x64_DEEP] = TILE(4, 4, 16, 8, 32, CHOICE(TILE_32x64)),
    [GEMM_CL_TILE_64x64] = TILE(8, 4, 16, 8, 16, CHOICE(TILE_32x64)),
    [GEMM_CL_SLICED_64x16] = SLICED(8, 4, 4, 8),
    [GEMM_CL_SLICED_32x32] = SLICED(4, 8, 4, 8),
    [GEMM_CL_SLICED_64x8] = SLICED(4, 4, 2, 16),
    [GEMM_CL_SLICED_32x16] = SLICED(4, 4, 4, 8),
    [GEMM_CL_SLICED_16x32] = SLICED(4, 4, 8, 4),
    [GEMM_CL_SLICED_16x16] = SLICED(4, 4, 4, 4),
    [GEMM_CL_CONV_WIDE] =
    WIDE_CONV_16(1), WIDE_CONV_16(2), WIDE_CONV_16(4), WIDE_CONV_16(8),
    WIDE_CONV_8(1), WIDE_CONV_8(2), WIDE_CONV_8(4), WIDE_CONV_8(6),
    WIDE_CONV_4(1), WIDE_CONV_4(2), WIDE_CONV_4(4), WIDE_CONV_4(4),
    [GEMM_CL_GEMV] = GEMV("", GEMM_CL_SINGLE, 4, 128),
    [GEMM_CL_GEMV_HALF] = GEMV("-DHALF_A", GEMM_CL_HALF_SUMS, 4, 128),
    [GEMM_CL_GEMV_CPU] = GEMV("", GEMM_CL_SINGLE, 8, 1),
    [GEMM_CL_DIRECT_8] = DIRECT(8),
    [GEMM_CL_DIRECT_4] = DIRECT(4),
    [GEMM_CL_DIRECT_1] = DIRECT(1),
    [GEMM_CL_DIRECT_IMAGE] = DIRECT_IMAGE(8, GEMM_CL_SINGLE),
    [GEMM_CL_DIRECT_HALF] = DIRECT_IMAGE(8, GEMM_CL_HALF_B),
    [GEMM_CL_DIRECT_WINOGRAD] = DIRECT_FORM(8, "-DWINOGRAD", false, GEMM_CL_SINGLE, 2),
    [GEMM_CL_WINOGRAD] =
    WINOGRAD(16, 8, 32, 2), WINOGRAD(16, 8, 32, 4),
    WINOGRAD(8, 6, 16, 2), WINOGRAD(8, 6, 16, 4),
    WINOGRAD(4, 4, 8, 2), WINOGRAD(4, 4, 8, 4),
    [GEMM_CL_POINTS_64x64_2] = POINTS(8, 2),
    [GEMM_CL_POINTS_64x64_4] = POINTS(8, 4),
    [GEMM_CL_POINTS_32x64_2] = POINTS(4, 2),
    [GEMM_CL_POINTS_32x64_4] = POINTS(4, 4),
};

const gemm_cl_row gemm_cl_tile_short = TILE(4, 4, 16, 4, 4, NULL);

/* By the registers that a compiler needs. An A61x keeps only one wave of 8x4. An A7xx keeps as many
   waves of 8x8 as an A6xx keeps of 8x4: 512 items on a unit's two processors. A702 is an A6xx. A
   model that is not known, or newer than these, gets at most 32 sums an item. */
const gemm_cl_image_rule gemm_cl_image_rules[] = {
    {710, 899, 512, GEMM_CL_IMAGE_8x8},
    {600, 619, 0, GEMM_CL_IMAGE_4x4},
    {0, INT_MAX, 0, GEMM_CL_IMAGE_8x4},
};

int gemm_cl_winograd_tile(const gemm_cl_row *row)
{
    const int edge = row->winograd + 2;
    if (!row->winograd || row->family->direct || row->depth) return 0;
    return edge * edge * row->cols * (int)sizeof(float);
}
