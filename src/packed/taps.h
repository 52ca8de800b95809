/*
 * The taps of a filter as shifts of the image.
 *
 * A tap (ky, kx) is one weight of a filter in one channel. Row p of im2col's matrix holds, for each
 * place of the output, the pixel under tap p. If the output has one place for every stride-th
 * pixel, this row is the channel itself from a constant offset on. Only the pixels that fall off an
 * edge differ: they are 0. So a tap is an offset and a mask with one bit for each place.
 *
 * With stride 2 this holds for four smaller images: the pixels in even and odd rows and columns.
 * packed_split_channel() writes them one behind the other, each of out_h x out_w floats:
 *
 *     image 0: even rows, even columns      image 1: even rows, odd columns
 *     image 2: odd rows, even columns       image 3: odd rows, odd columns
 */
#ifndef GEMM_TAPS_H
#define GEMM_TAPS_H

#include "gemm_dispatch.h"
#include "packed/ukernel.h"
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

/* The four images above of one channel, for stride 2; dst holds 4 * out_h * out_w floats. */
void packed_split_channel(const conv_call *, const gemm_ukernel *, const float *channel,
                          float *dst);

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
