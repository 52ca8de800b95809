/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels of one instruction set, written once for all. With PAIRS there are those of the
 * multiply alone, and vfma_to() multiplies pairs of 16 bits (packed/isa/pairs.h). The parts:
 *
 *   ukernel_moves.h   copies and prefetches later strips of B while a tile is multiplied
 *   ukernel_tile.h    the tile: MR rows of A times NR columns of B in registers
 *   ukernel_along_k.h    tail columns, too few for a vector: multiplied with vectors along k
 *   ukernel_pack.h    packing of panels
 *   ukernel_skinny.h  a vector times a matrix
 *   ukernel_conv.h    the taps of a convolution
 *   ukernel_depthwise.h  depthwise layers by tiles of eight sums, where the file below asks for it
 *   ukernel_band.h    layers with few channels
 *   ukernel_nchwc_product.h   products in nchwc, whose vectors hold channels
 *   ukernel_nchwc.h   other layers in nchwc
 *   ukernel_winograd.h  the transforms of Winograd's algorithm
 *   ukernel_layers.h  pooling, shortcuts, activations behind a kernel
 *
 * The file that includes this one defines first:
 *
 *   ISA                 the name, as a token
 *   VL, NV, MR          floats in a vector, vectors in a row of the tile, rows of the tile
 *   MC, KC              cache blocks
 *   SHORT_K             a tile of fewer steps does its side work at once, see tile_body()
 *   TURN                steps of k in a turn of panel_steps(); 0: no function runs over panels
 *   BAND_TURN           the same in a turn of band_steps(), see ukernel_band.h
 *   A_HOME              as in gemm_ukernel
 *   TILES_WIDE          tiles in a wide strip
 *   WIDE_ROWS           as in gemm_ukernel
 *   TAIL_UNIT, TAIL_MOST    as in gemm_ukernel
 *   ALONG_K_COLS        tail columns at once, at most VL
 *   NCHWC_PLACES(nv)    places of a tile of nv groups, see ukernel_nchwc_product.h; need not be
 *                       defined
 *   POOL_ROWS           filters of a pooled tile, which has four accumulators for each
 *   TILE_TUNING         attributes of the tile functions, or nothing
 *   isa_supported()     whether this processor runs it
 *
 * and the vector type `vec` with the operators + - * and /, and these operations:
 *
 *   vzero() vset1(x)    all floats 0, all floats x
 *   vload(p) vstore(p, v)
 *   vload_part(p, n) vstore_part(p, n, v)   the first n floats, 0 < n < VL; no other is touched
 *   vload_valid(p, bits)    floats whose bit is set, else 0; no other is touched; need not be
 *                       defined
 *   vfma(a, b, c)       a * b + c
 *   vfma_to(c, a, b)    c = a * b + c in the register of c: a product of matrices adds by it; need
 *                       not be defined
 *   step_whole(a, a_row, b, acc)    step() for MR rows and NV vectors; need not be defined
 *   outer_product(rows, nv, a, b, acc, ld)  a step in the order of the source, see
 *                       ukernel_neon.c; need not be defined
 *   vif_positive(x, y)  x where x > 0, else y; where x is +0 or NaN, y is known to be x
 *   vstore_low(p, v) vstore_high(p, v)  the low (high) half, where VL is twice MR; else not used
 *   vmax(x, m)          x where x > m, else m; so m where x is NaN
 *   vsum(v)             the sum of the floats
 *   vsums(v, n)         the sums of v[0] ... v[n - 1] as a vector, zeroes behind; n is a constant
 *   vevens(a, b) vodds(a, b)    floats of even (odd) index of a, then those of b
 *   vkeep(v)            makes the compiler hold v in a register instead of loading it at each use
 *   transpose_block(src, ld, dst, width)    element (i, p), i < BLOCK and p < BLOCK, goes from
 *                       src[i * ld + p] to dst[p * width + i]; BLOCK <= MR, and divides NR
 *   transpose_tall      the same for i < TALL, a multiple of BLOCK; may use more registers
 *
 * ukernel_tile.h adds load_some(p, n) and store_some(p, n, v): the first n floats, or all.
 *
 * With HALVES half a vector takes half the time, and these compute the low half of their first
 * argument. The high half may become anything.
 *
 *   load_low(v, p)  multiply_low(c, a, b)  max_low(c, x, m)     c = vmax(x, m)
 *   fma_low_to(c, a, b)  fma_low_by(c, p, b)    c += a * b, and c += *p * b
 *   store_low(p, v)
 *
 * With DEPTHWISE_IN_ORDER, ukernel_depthwise.h needs these, which the compiler keeps in order:
 *
 *   load_vector(v, p)   v = the vector at p
 *   multiply_vectors(c, a, b)   c += a * b
 *   FEW_REGISTERS       16 registers: with it the next two are not needed, but element,
 *                       load_element() and multiply_add() of ukernel_neon.h
 *   keep_weights(w, n, kept)    n floats at w go to registers `kept`; n >= VL
 *   multiply_weight(c, kept, q, n, x)   c += (float q of n) * x
 *   step_pointer(p, n)  p += n, and the compiler knows nothing of the new p
 *   vmax_alike(x, m)    vmax where x and m are both NaN or neither is
 */
#include "packed/isa/ukernel.h"
#include "util/winograd.h"

#include <float.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define STRING_(a) #a
#define STRING(a) STRING_(a)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#ifdef UNROLL
#define ROLLED
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define ROLLED _Pragma("GCC unroll 1")
#endif

/* X(1) X(2) ... for functions of so many rows, columns or vectors. The counts are plain numbers. */
#define LIST_1(X) X(1)
#define LIST_2(X) LIST_1(X) X(2)
#define LIST_3(X) LIST_2(X) X(3)
#define LIST_4(X) LIST_3(X) X(4)
#define LIST_6(X) LIST_4(X) X(5) X(6)
#define LIST_8(X) LIST_6(X) X(7) X(8)
#define LIST_9(X) LIST_8(X) X(9)
#define VECS_1(X, r) X(r, 1)
#define VECS_2(X, r) VECS_1(X, r) X(r, 2)
#define VECS_3(X, r) VECS_2(X, r) X(r, 3)
#define EACH_ROWS(X) JOIN(LIST_, MR)(X)
#define EACH_VECS(X, r) JOIN(VECS_, NV)(X, r)
#define EACH_ALONG_K(X) JOIN(LIST_, ALONG_K_COLS)(X)
#define EACH_POOL_ROWS(X) JOIN(LIST_, POOL_ROWS)(X)

#ifndef vfma_to
#define vfma_to(c, a, b) ((c) = vfma(a, b, c))
#endif

#ifndef HALVES
#define HALVES 0
#define load_low(v, p) ((v) = vload(p))
#define multiply_low(c, a, b) ((c) = (a) * (b))
#define max_low(c, x, m) ((c) = vmax(x, m))
#define fma_low_to(c, a, b) vfma_to(c, a, b)
#define fma_low_by(c, p, b) vfma_to(c, vset1(*(p)), b)
#define store_low(p, v) vstore(p, v)
#endif

enum { NR = NV * VL };

INLINE int lesser(int a, int b) { return a < b ? a : b; }

#ifndef vload_valid
INLINE vec vload_valid(const float *p, unsigned bits)
{
    if (bits == (1 << VL) - 1) return vload(p);
    float buffer[VL] = {0};
    for (int i = 0; i < VL; ++i) {
        if (bits >> i & 1) buffer[i] = p[i];
    }
    return vload(buffer);
}
#endif

/* The vectors of GEMM_PARTS sums, and their total. */
enum { PART_VECS = GEMM_PARTS / VL };

INLINE float total_of_parts(const vec parts[PART_VECS])
{
    float sums[GEMM_PARTS];
    UNROLL
    for (int v = 0; v < PART_VECS; ++v) vstore(sums + v * VL, parts[v]);
    for (int n = GEMM_PARTS / 2; n > 0; n /= 2) {
        for (int i = 0; i < n; ++i) sums[i] += sums[i + n];
    }
    return sums[0];
}

#include "packed/isa/ukernel_moves.h"
#include "packed/isa/ukernel_tile.h"

#ifndef OWN_TILE
#include "packed/isa/ukernel_along_k.h"
#endif
#include "packed/isa/ukernel_nchwc_product.h"

#ifdef PAIRS
#include "packed/isa/ukernel_pairs.h"
#else

#include "packed/isa/ukernel_conv.h"
#include "packed/isa/ukernel_layers.h"
#include "packed/isa/ukernel_pack.h"

#include "packed/isa/ukernel_band.h"
#include "packed/isa/ukernel_nchwc.h"
#include "packed/isa/ukernel_skinny.h"
#include "packed/isa/ukernel_winograd.h"

const gemm_ukernel JOIN(gemm_ukernel_, ISA) = {
    .name = STRING(ISA),
    .mr = MR,
    .nr = NR,
    .vl = VL,
    .wide = TILES_WIDE * NR,
    .wide_rows = WIDE_ROWS,
    .mc = MC,
    .kc = KC,
    .k_unit = 4,
    .a_home = A_HOME,
    .tail_unit = TAIL_UNIT,
    .tail_most = TAIL_MOST,
    .panel_row = PANEL_ROW,
    .gemm.tile = tile,
#if TURN
    .gemm.panels = all_panels,
    .gemm.panels_add = true,
#endif
    .gemm.along_k = along_k,
    .gemm.sweep = sweep,
    .pack.transpose = transpose,
    .pack.copy = copy,
    .skinny.add_rows = add_rows,
    .skinny.dots = dots,
    .skinny.dots_by_parts = dots_by_parts,
    .conv.pack_taps = pack_taps,
    .conv.fill_band = fill_band,
    .conv.pack_band = pack_band,
    .conv.band_row = band_row,
    .conv.band_pooled = band_pooled,
    .conv.depthwise = depthwise,
    .nchwc.product = nchwc,
    .nchwc.cost = {.step = 1},
    .nchwc.depthwise = nchwc_depthwise,
    .reorder.from_nchwc = from_nchwc,
    .reorder.to_nchwc = to_nchwc,
    .reorder.take_even = take_even,
    .winograd.input = JOIN(gemm_winograd_input__, ISA),
    .winograd.filters = JOIN(gemm_winograd_filters__, ISA),
    .winograd.output = JOIN(gemm_winograd_output__, ISA),
    .layers.max_rows = max_rows,
    .layers.max_pairs = max_pairs,
    .layers.fill = fill,
    .layers.repeat = repeat,
    .layers.sum = sum,
    .layers.sum_by_parts = sum_by_parts,
    .layers.add_scaled = add_scaled,
    .layers.activate = activate_all,
    .supported = isa_supported,
};
#endif
