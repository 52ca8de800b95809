/* SPDX-License-Identifier: MIT */
/*
 * What -DCONV makes of a kernel that multiplies: a whole convolution, in one launch for all images
 * and groups. A product is the multiply of one image and one group.
 *
 *   product p = image * groups + group      A = the group's filters, M x K
 *                                           B = what im2col would write, K x N, but never written:
 *                                               row k is tap k % size^2 of channel k / size^2
 *                                           C = the group's outputs, M x N
 *   global z = part * products + p          parts of K as without CONV
 *
 * Where K is not cut, C is stored as activation(scale * C + shift). Else cl_sum does that. norm
 * holds the scale of all filters, and then the shift of all. B of the next product begins
 * K / size^2 channels later. With -DTAPS an element of B is looked up in the image. Without it the
 * convolution is 1 x 1 with stride 1, and B is the image as it lies. -DSIZE=n makes a common size a
 * constant.
 *
 * With DEPTHWISE the convolution is 1 x 1 with stride 1. B is the output of a depthwise
 * convolution, and an element of it is computed where it is needed. size, stride, pad and the image
 * are those of the depthwise convolution. taps has its filters, size^2 each. depth_norm has K
 * scales and K shifts. An element adds in the order of cl_thin.
 *
 * With POOL the convolution and a maxpool of size 2 and stride 2 are one launch. Four places in a
 * row, from a multiple of 4 on, are then a 2x2 block of the output: its rows one after the other.
 * Blocks are numbered by rows. C has one element a block, and ldc is N / 4. The parts of K are not
 * pooled; cl_sum does it. Always with TAPS.
 *
 * With SHORTCUT the convolution and a shortcut are one launch. `more` has the shortcut's other
 * input, of the size of the output: C[c0 + x] meets more[more0 + x]. The activation is that of the
 * shortcut, because the convolution is linear. So C gets activation((scale * sum + shift) + more).
 * Not with POOL. With DEPTHWISE a kernel serves both: without `adds` nothing is added.
 *
 * A kernel that multiplies uses these macros, with CONV and without it:
 *   MULTIPLY_ARGUMENTS      its arguments (cl_multiply_arguments.h)
 *   PART(z)                 the part of K that global z computes
 *   FILTER(z)               the filter of row 0 of its product
 *   A_START(z), B_START(z), C_START(z)
 *                           where the matrices of its product begin
 *   RESULT(s, o, filter)    what to store at o where the sum is s; RESULT4: float4. Without CONV
 *                           the sum is added to what is there. With STORE it is only stored
 */
#include "cl_multiply_arguments.h"

#ifdef CONV

#ifdef SIZE
#define UNROLL_TAPS _Pragma("unroll")
#else
#define SIZE size
#define UNROLL_TAPS
#endif
#ifdef DEPTHWISE
#define CHANNELS(K) (K)
#else
#define CHANNELS(K) ((K) / (SIZE * SIZE))
#endif
#if defined(DEPTHWISE) && defined(SHORTCUT)
#define MULTIPLY_ARGUMENTS CL_DEPTHWISE_MORE_ARGUMENTS
#elif defined(DEPTHWISE)
#define MULTIPLY_ARGUMENTS CL_DEPTHWISE_ARGUMENTS
#elif defined(SHORTCUT)
#define MULTIPLY_ARGUMENTS CL_CONV_MORE_ARGUMENTS
#else
#define MULTIPLY_ARGUMENTS CL_CONV_ARGUMENTS
#endif
#define PART(z) ((z) / products)
#define PRODUCT(z) ((z) % products)
#define FILTER(z) (PRODUCT(z) % groups * M)
#define A_START(z) ((ulong)FILTER(z) * K)
#define B_START(z) ((ulong)PRODUCT(z) * CHANNELS(K) * h * w)
#define C_START(z) ((ulong)PRODUCT(z) * M * ldc)
#ifdef SHORTCUT
#define MORE(o) (more + (more0 + ((ulong)((o) - C) - c0)))
#ifdef DEPTHWISE
#define IF_ADDS(x) (adds ? (x) : -0.0f)
#else
#define IF_ADDS(x) (x)
#endif
#define FINISH_MORE(name, s, x, filter, filters) \
    name##_slope(name##_norm(s, norm, filter, filters) + (x), slope)
#define RESULT(s, o, filter) FINISH_MORE(conv_finish, s, IF_ADDS(*MORE(o)), filter, groups * M)
#define RESULT4(s, o, filter) \
    FINISH_MORE(conv_finish4, s, IF_ADDS(vload4(0, MORE(o))), filter, groups * M)
#else
#define RESULT(s, o, filter) conv_finish(s, norm, filter, groups * M, slope)
#define RESULT4(s, o, filter) conv_finish4(s, norm, filter, groups * M, slope)
#endif

/*
 * Scale, shift and activation. x > 0 ? x : slope * x is linear, leaky and ReLU. Infinity and NaN
 * are as in Darknet: its ReLU of -infinity is NaN there too. T: float or a float vector.
 */
#define CONV_FINISH(name, T) \
    T name##_norm(T sum, __global const float *norm, int filter, int filters) \
    { \
        return norm[filter] * sum + norm[filters + filter]; \
    } \
    T name##_slope(T x, float slope) \
    { \
        return x > 0.0f ? x : slope * x; \
    } \
    T name(T sum, __global const float *norm, int filter, int filters, float slope) \
    { \
        return name##_slope(name##_norm(sum, norm, filter, filters), slope); \
    }
CONV_FINISH(conv_finish, float)
CONV_FINISH(conv_finish4, float4)

/* The maximum of a 2x2 block as Darknet finds it. NaN is never the maximum. */
float conv_most(float4 block)
{
    float m = -FLT_MAX;
    m = block.x > m ? block.x : m;
    m = block.y > m ? block.y : m;
    m = block.z > m ? block.z : m;
    return block.w > m ? block.w : m;
}

/* Row and column of a place in the convolution's output, out_w wide. */
#ifdef POOL
#define PLACE_ROW(place) ((place) / 4 / (out_w / 2) * 2 + (place) % 4 / 2)
#define PLACE_COLUMN(place) ((place) / 4 % (out_w / 2) * 2 + (place) % 2)
#else
#define PLACE_ROW(place) ((place) / out_w)
#define PLACE_COLUMN(place) ((place) % out_w)
#endif

/* An element of a channel, or 0 outside of it. The load never waits for the comparison. */
float conv_element(__global const float *channel, int row, int column, int h, int w)
{
    const bool inside = (uint)row < (uint)h && (uint)column < (uint)w;
    const float x = channel[inside ? row * w + column : 0];
    return inside ? x : 0.0f;
}

/* Element k of the column of B whose first tap is at (y, x) of the image. */
float conv_tap(__global const float *image, int k, int y, int x, int h, int w, int size)
{
    const int tap = k % (SIZE * SIZE);
    return conv_element(image + (ulong)(k / (SIZE * SIZE)) * h * w, y + tap / SIZE, x + tap % SIZE,
                        h, w);
}

#ifdef DEPTHWISE
/* Element k of the column of B whose first tap is at (y, x) of channel k. */
float conv_depthwise(__global const float *image, int k, int y, int x, int h, int w, int size,
                     __global const float *taps, __global const float *norm, int K, float slope)
{
    __global const float *channel = image + (ulong)k * h * w, *a = taps + k * (SIZE * SIZE);
    float sum = 0.0f;
    UNROLL_TAPS
    for (int ty = 0; ty < SIZE; ++ty) {
        UNROLL_TAPS
        for (int tx = 0; tx < SIZE; ++tx, ++a) {
            sum += *a * conv_element(channel, y + ty, x + tx, h, w);
        }
    }
    return conv_finish_slope(conv_finish_norm(sum, norm, k, K), slope);
}
#endif

#else

#define MULTIPLY_ARGUMENTS CL_MULTIPLY_ARGUMENTS
#define PART(z) (z)
#define A_START(z) 0
#define B_START(z) 0
#define C_START(z) 0
#define FILTER(z) 0
#ifdef STORE
#define RESULT(s, o, filter) (s)
#define RESULT4(s, o, filter) (s)
#else
#define RESULT(s, o, filter) (*(o) + (s))
#define RESULT4(s, o, filter) (vload4(0, o) + (s))
#endif

#endif
