/* SPDX-License-Identifier: MIT */
/*
 * The taps of a filter as shifts of the image.
 *
 * A tap (ky, kx) is one weight of a filter in one channel. Row p of im2col's matrix holds, for each
 * place of the output, the pixel under tap p. If the output has one place for every pixel, this row
 * is the channel itself from a constant offset on. Only the pixels that fall off an edge differ:
 * they are 0. So a tap is an offset and a mask with one bit for each place.
 */
#ifndef GEMM_TAPS_H
#define GEMM_TAPS_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"
#include "util/ints.h"

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

#endif
