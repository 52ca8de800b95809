/* SPDX-License-Identifier: MIT */
/*
 * The table of variants: one row for each value of GEMM_IMPL. gemm_variant.h has the members, and
 * docs/development.md says how to add a row.
 */
#include "auto/auto.h"
#include "gemm_cl.h"
#include "gemm_opt.h"
#include "gemm_variant.h"
#include "hybrid/hybrid.h"
#include "packed/half/half.h"
#include "packed/chain/chain.h"
#include "packed/packed.h"
#include "ref/ref.h"
#include "util/text.h"

#include <string.h>

#define LOOPS "CFU Playground 3, blocked matrix multiplication (2024)"
#define SERIAL "Serial gemm optimisation 3 (2024)"

#define ADRENO "Matrix Multiply on Adreno GPUs (2016)"
#define MOBILE "CNN convolution on mobile GPUs (2018)"

#define ROW(symbol, from, what) \
    {.name = #symbol, .multiply = gemm_##symbol, .origin = from, .summary = what}

/* ---- where rows run ---- */

#define OPENCL .unusable = gemm_cl_unusable, .limits = gemm_cl_limits, .shares = true

static const gemm_device
    half_arm = {.unusable = gemm_half_fp16_unusable},
    library = {.unusable = gemm_ref_unusable, .foreign = true},
    copying = {OPENCL},
    /* The search of an article has so many rows that a list of them compiles none. */
    searched = {.unusable = gemm_cl_limits, .limits = gemm_cl_limits, .shares = true},
    with_images = {OPENCL, .b_ld = gemm_cl_b_ld},
    opencl = {OPENCL, .leaves = true, .later = gemm_cl_later,
              .make_foreseen = gemm_cl_make_foreseen},
    clblast = {.unusable = gemm_cl_unusable, .shares = true, .foreign = true},
    both = {.unusable = gemm_hybrid_limits, .limits = gemm_hybrid_limits, .shares = true,
            .leaves = true, .warm_up = GEMM_HYBRID_WARM_UP},
    tuned = {.may_share = gemm_auto_uses_device, .leaves = true};

/* ---- rows of one kind ---- */

#define PACKED \
    .multiply = gemm_packed, .run = gemm_packed_run, .kinds = GEMM_ALL_KINDS | GEMM_IN_LANES, \
    .way = gemm_packed_way
#define HALF \
    .multiply = gemm_half, .run = gemm_half_run, .kinds = GEMM_ALL_KINDS, .way = gemm_packed_way
#define CL .multiply = gemm_cl_multiply, .run = gemm_cl_run, .device = &opencl

#define CL_ROW_ON(place, title, data, from, what) \
    {.name = title, .multiply = gemm_cl_multiply, .params = &gemm_cl_##data, .device = place, \
     .origin = from, .summary = what}
#define CL_ROW(title, data, from, what) CL_ROW_ON(&copying, title, data, from, what)
#define CL_LAYERS(title, data, what) \
    {.name = title, CL, .kinds = GEMM_ALL_KINDS, .params = &gemm_cl_##data, \
     .origin = "this project", .summary = what}

#define BLOCK_ROW(name, side) \
    CL_ROW_ON(&searched, "cl_block_" #name, block_##name, MOBILE, \
              "cl_block with blocks of " #side "x" #side),
#define LOCAL_ROW(name, side, floats, unrolling) \
    CL_ROW_ON(&searched, "cl_local_" #name, local_##name, MOBILE, \
              "cl_local: blocks of " #side ", vectors of " #floats ", unrolled by " #unrolling),

#define HALF_ROW(title, data, what) \
    {.name = title, CL, .kinds = GEMM_CONVS | GEMM_LAYERS, .params = &gemm_cl_##data, \
     .rounding = &gemm_cl_##data##_rounding, .origin = ADRENO, .summary = what}

#define ORDER_ROW(name, outer, middle, inner) \
    ROW(name, LOOPS, "loop order " #outer ", " #middle ", " #inner ", outermost first"),
#define UNROLL_ROW(U) ROW(mkn_u##U, LOOPS, "order mkn, N unrolled by " #U),
#define TILE_ROW(T) \
    ROW(tile_##T, LOOPS, "MKNMKN, tiles of " #T), \
    ROW(tile_##T##_u, LOOPS, "MKNMKN, tiles of " #T ", innermost loop unrolled"), \
    ROW(tile_##T##_uu, LOOPS, "MKNMKN, tiles of " #T ", two innermost loops unrolled"),
#define VTILE_ROW(T) \
    ROW(vtile_##T, LOOPS, "KNMKN, 1x" #T " of A by " #T "x" #T " of B"), \
    ROW(vtile_##T##_u, LOOPS, "KNMKN, tiles of " #T ", innermost loop unrolled"), \
    ROW(vtile_##T##_uu, LOOPS, "KNMKN, tiles of " #T ", two innermost loops unrolled"),
#define UNROLLED_TILE_ROW(T) \
    ROW(tile_##T##_uuu, LOOPS, "MKNMKN, tiles of " #T ", three innermost loops unrolled"),
#define UNROLLED_VTILE_ROW(T) \
    ROW(vtile_##T##_uuu, LOOPS, "KNMKN, tiles of " #T ", three innermost loops unrolled"),
#define TILE_SHAPE_ROW(M, K, N) \
    ROW(tile_##M##x##K##x##N, LOOPS, "MKNMKN, tiles of M " #M ", K " #K ", N " #N),
#define BLOCK_SHAPE_ROW(K, N) \
    ROW(vtile_##K##x##N, LOOPS, "KNMKN, 1x" #K " of A by " #K "x" #N " of B"),

#define REF_ROW(symbol, name_) \
    {.name = #symbol, .multiply = gemm_ref_run, .params = &gemm_ref_##symbol, .device = &library, \
     .origin = name_, .summary = "its sgemm, for comparison only"}

/* The ways of `packed`, then those of `cl` that have other names. */
static const char *either_way(int i)
{
    const char *name;
    int packed = 0, others = 0;
    for (; (name = gemm_packed_way(packed)); ++packed)
        if (packed == i) return name;
    for (int j = 0; (name = gemm_cl_way(j)); ++j) {
        const char *own = "";
        for (int k = 0; own && strcmp(own, name); ++k) own = gemm_packed_way(k);
        if (!own && packed + others++ == i) return name;
    }
    return NULL;
}

static gemm_status run_stock(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)context, (void)params;
    gemm_stock_loops(c);
    return GEMM_DONE;
}

static const gemm_hybrid_sides packed_and_cl = {
    .cpu = {.name = "packed", PACKED},
    .device = {.name = "cl", CL, .kinds = GEMM_ALL_KINDS, .params = &gemm_cl_best},
    .beside = gemm_cl_multiply_beside, .later = gemm_cl_later_beside, .forced = -1};

const gemm_variant gemm_variants[] = {
    {.name = "stock", .multiply = run_stock, .in_auto = GEMM_IN_AUTO, .origin = "Darknet",
     .summary = "Darknet's own loops, unchanged: all other rows are compared with it"},
    GEMM_ORDERS(ORDER_ROW)
    ROW(mnk_acc, SERIAL, "order mnk with the sum in a register: the article's baseline"),
    ROW(unroll2, SERIAL, "mnk_acc with K unrolled by 2"),
    ROW(unroll4, SERIAL, "mnk_acc with K unrolled by 4"),
    GEMM_MKN_UNROLLS(UNROLL_ROW)
    ROW(block1d, SERIAL, "4x4 of C at a time, K not blocked"),
    ROW(block1d_k, SERIAL, "block1d with the loop over K innermost"),
    ROW(block2d, SERIAL, "4x4x4 blocks"),
    ROW(transpose, SERIAL, "B transposed once, then rows of A by rows of Bt"),
    GEMM_TILE_SIDES(TILE_ROW)
    GEMM_UNROLLED_SIDES(UNROLLED_TILE_ROW)
    GEMM_TILE_SHAPES(TILE_SHAPE_ROW)
    GEMM_TILE_SIDES(VTILE_ROW)
    GEMM_UNROLLED_SIDES(UNROLLED_VTILE_ROW)
    GEMM_BLOCK_SHAPES(BLOCK_SHAPE_ROW)
    {.name = "packed", PACKED, .in_auto = GEMM_IN_AUTO_FIRST, .origin = "Goto, BLIS",
     .summary = "packed panels, SIMD micro-kernels (GEMM_ISA), threads"},
    {.name = "packed_bf16", HALF, .params = &gemm_half_bf16, .rounding = &gemm_half_bf16_rounding,
     .in_auto = GEMM_IN_AUTO_16, .origin = "oneDNN",
     .summary = "packed with operands in 16 bits (bfloat16), sums in 32"},
    {.name = "packed_fp16", HALF, .params = &gemm_half_fp16, .rounding = &gemm_half_fp16_rounding,
     .device = &half_arm, .in_auto = GEMM_IN_AUTO_16, .origin = "ncnn",
     .summary = "arm64: packed with operands in 16 bits (IEEE half), sums in 32 or 16"},
    {.name = "packed_int8", .multiply = gemm_int8, .run = gemm_int8_run, .kinds = GEMM_ALL_KINDS,
     .calibrated = true, .in_auto = GEMM_IN_AUTO_8, .way = gemm_packed_way, .origin = "oneDNN",
     .summary = "packed with layers in 8 bits (GEMM_INT8), sums in 32; needs a calibration"},
    CL_ROW("cl_naive", naive, MOBILE, "OpenCL: one work-item for each element of C"),
    CL_ROW("cl_block", block, MOBILE, "OpenCL: 32x32 blocks, padded, B transposed"),
    CL_ROW("cl_local", local, MOBILE, "cl_block with both blocks in local memory"),
    GEMM_CL_BLOCKS(BLOCK_ROW)
    GEMM_CL_SEARCH(LOCAL_ROW)
    CL_ROW_ON(&with_images, "cl_image", image, ADRENO,
              "OpenCL: 4x8 micro-tiles, B through the texture pipe"),
    HALF_ROW("cl_half", half, "cl_image with B in 16 bits, sums in 32"),
    HALF_ROW("cl_half_fast", half_fast, "A, B and short sums in 16 bits; needs cl_khr_fp16"),
    {.name = "cl", CL, .kinds = GEMM_ALL_KINDS, .params = &gemm_cl_best, .in_auto = GEMM_IN_AUTO,
     .way = gemm_cl_way, .origin = "this project",
     .summary = "the best OpenCL kernel for the device and the shape"},
    CL_LAYERS("cl_direct", direct, "cl with GEMM_WAY=direct: reads the input itself where it can"),
    CL_LAYERS("cl_direct_image", direct_image,
              "cl with GEMM_WAY=direct_image: weights through the texture pipe"),
    {.name = "cl_int8", .multiply = gemm_cl_multiply, .run = gemm_cl_int8_run,
     .kinds = GEMM_ALL_KINDS, .params = &gemm_cl_best, .device = &opencl, .calibrated = true,
     .way = gemm_cl_way, .origin = "this project",
     .summary = "cl with layers in 8 bits (GEMM_INT8), as packed_int8; needs a calibration"},
    CL_LAYERS("cl_winograd", direct_winograd,
              "cl with GEMM_WAY=direct_winograd, for 3x3 layers of stride 1"),
    {.name = "hybrid", .multiply = gemm_hybrid, .run = gemm_hybrid_run, .kinds = GEMM_ALL_KINDS,
     .params = &packed_and_cl, .device = &both, .in_auto = GEMM_IN_AUTO_WITH_GPU, .way = either_way,
     .origin = MOBILE,
     .summary = "multiplies by cl and packed at once, layers by the faster: last bits vary"},
    CL_ROW_ON(&clblast, "clblast", clblast, "CLBlast", "its sgemm, for comparison only"),
    {.name = "auto", .multiply = gemm_auto_multiply, .run = gemm_auto_run,
     .kinds = GEMM_ALL_KINDS | GEMM_IN_LANES, .device = &tuned, .chooses = true, .way = either_way,
     .origin = "this project",
     .summary = "the fastest row for the shape, where it was measured (make tune), else packed"},
    REF_ROW(openblas, "OpenBLAS"),
    REF_ROW(blis, "BLIS"),
    REF_ROW(onednn, "oneDNN"),
    {.name = "onednn_bf16", .multiply = gemm_ref_run, .params = &gemm_ref_onednn_bf16,
     .device = &library, .rounding = &gemm_half_bf16_rounding,
     .origin = "oneDNN", .summary = "its matmul in bfloat16, for comparison only"},
};

const size_t gemm_variant_count = sizeof gemm_variants / sizeof gemm_variants[0];

const gemm_variant *gemm_stock_row(void)
{
    return &gemm_variants[0];
}

const gemm_variant *gemm_find(const char *name)
{
    for (size_t i = 0; i < gemm_variant_count; ++i)
        if (!strcmp(gemm_variants[i].name, name)) return &gemm_variants[i];
    return NULL;
}

void gemm_append_like(char *text, size_t size, const char *name)
{
    enum { MOST = 3, FAR = 3 };
    int named = 0;
    for (int distance = 0; distance < FAR; ++distance) {
        for (size_t i = 0; i < gemm_variant_count && distance < (int)strlen(name); ++i) {
            const char *like = gemm_variants[i].name;
            if (named == MOST || gemm_word_distance(name, like) != distance) continue;
            gemm_append(text, size, "%s%s", named++ ? ", " : "did you mean ", like);
        }
    }
    gemm_append(text, size, "%sgemm-bench --list has all", named ? "? " : "");
}
