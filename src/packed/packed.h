/* SPDX-License-Identifier: MIT */
/* The row `packed` of the table of variants. The context names its micro-kernels. */
#ifndef GEMM_PACKED_H
#define GEMM_PACKED_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

/* One multiply; params is not used. Declines a call that is so small that Darknet's own loops end
   before the work here is set up. Declines any call when there is no memory. */
gemm_row_multiply gemm_packed;

/* One convolution, without im2col: convolution.c. A way without room leaves it to the ways behind
   it, and the note has both names. gemm_packed_explain runs nothing. */
gemm_row_conv gemm_packed_conv, gemm_packed_explain;

/* A convolution with an activation behind it: `conv` with CONV_LINEAR, then the activation. */
gemm_status packed_conv_behind(const conv_call *, const gemm_context *, const void *params,
                               gemm_row_conv *conv);

/* The name of way i of a convolution, or NULL behind the last one. */
const char *gemm_packed_way(int i);

/*
 * The row `packed_int8`: convolutions in whole numbers of 8 bits, by the scales of a calibration
 * (int8/scales.h). docs/int8.md says which layers these are. All others, and every multiply, run as
 * under `packed`. params: the micro-kernels (isa/quads.h), or NULL for the fastest ones. Where a
 * convolution goes in 8 bits, the note says so, and its weights are kept, one byte each. Of a chain
 * of three the first one goes so, where it does alone, and its output is not written. Declines a
 * chain with another convolution in 8 bits, and any call when there is no memory.
 */
gemm_row_multiply gemm_int8;
gemm_row_conv gemm_int8_conv;
gemm_row_chain gemm_int8_chain;
gemm_row_run gemm_int8_run;

/* One layer without weights: layers.c. Declines a maxpool whose windows do not fit the scratch of a
   thread, and any layer when there is no memory. */
gemm_row_layer gemm_packed_layer;

/*
 * A shortcut behind a convolution, added to a part of its output while that is near. The output of
 * the convolution lies where that of the shortcut goes. The part begins at float `at` of it, and
 * its rows are ld floats apart. The bits are those of gemm_packed_layer.
 */
void packed_add_shortcut(const gemm_ukernel *, const layer_call *, size_t at, int rows, int cols,
                         size_t ld);

/* Whether the function above can add it. */
static inline bool packed_can_add(const layer_call *s)
{
    return !gemm_activation_is_behind(s->activation) && gemm_shortcut_is_equal(s);
}

/* A convolution and the shortcut behind it. Declines also where the way of the convolution has no
   place to add it. The way is the one that the convolution takes alone. */
gemm_status packed_conv_add(const conv_call *, const layer_call *shortcut, const gemm_context *);

#endif
