/* SPDX-License-Identifier: MIT */
/*
 * What a patched Darknet calls: one multiply, one whole layer, a chain of layers, and memory that
 * an OpenCL device can share.
 *
 *   Darknet's layer -> gemm_nn, gemm_nt, gemm_tn, gemm_tt (patched) -> gemm_dispatch -> a row -> C
 *
 * All matrices are single precision and row-major. A leading dimension (lda, ldb, ldc) is the
 * distance between two rows in elements. It may be larger than the row is long. Pointers are
 * aligned to 4 bytes, no more. Nothing is read or written outside the matrices.
 *
 * Every function here may be called from several threads at once, and keeps errno. A line on stderr
 * comes before an end of the program: docs/any-darknet.md lists the reasons.
 */
#ifndef GEMM_DISPATCH_H
#define GEMM_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C(MxN) += ALPHA * op(A)(MxK) * op(B)(KxN); op transposes where TA or TB is not 0. */
typedef struct gemm_call {
    int TA, TB, M, N, K;
    float ALPHA;
    const float *A; int lda;    /* M x K, or K x M when TA */
    const float *B; int ldb;    /* K x N, or N x K when TB */
    float *C; int ldc;          /* M x N */
} gemm_call;

/* It is applied to scale * sum + shift. Darknet applies every other activation itself, after a call
   with CONV_LINEAR. kernels/cl_activations.h has the formulas. */
typedef enum conv_activation {
    CONV_LINEAR,
    CONV_LEAKY,                 /* x > 0 ? x : .1 x */
    CONV_RELU,                  /* x * (x > 0), which is NaN for a NaN */
    CONV_LOGISTIC,
    CONV_MISH,                  /* x tanh(ln(1 + e^x)) */
    CONV_SWISH,                 /* x / (1 + e^-x) */
    CONV_RELU6,                 /* at least 0, at most 6 */
    CONV_ELU,                   /* x > 0 ? x : e^x - 1 */
    CONV_HARD_MISH,             /* x > 0 ? x : x > -2 ? x * x / 2 + x : 0 */
} conv_activation;
enum { CONV_ACTIVATIONS = CONV_HARD_MISH + 1 };

/*
 * A whole convolution: output = activation(scale * (weights applied to input) + shift). Channels
 * and filters are cut into `groups` equal parts. A filter sees only the channels of its group. The
 * output is written without being read. Every dimension is at least 1. The output has the size that
 * Darknet gives it: (h + 2 pad - size) / stride + 1.
 */
typedef struct conv_call {
    int batch, groups;
    int c, h, w;                /* an image of the input */
    int n, size, stride, pad;   /* n filters of c / groups x size x size */
    int out_h, out_w;
    const float *input;         /* batch x c x h x w */
    const float *weights;       /* n x c / groups x size x size */
    const float *scale;         /* n, or NULL for 1 */
    const float *shift;         /* n */
    conv_activation activation;
    bool pool;                  /* write the maximum of each 2x2 block, see below */
    float *output;              /* batch x n x out_h x out_w; with pool, half as high and wide */
} conv_call;

/*
 * With `pool` the convolution and the maxpool layer behind it are one call. Sizes stay those of the
 * convolution, and out_h and out_w are even. Each output has the bits of Darknet's maxpool of size
 * 2 and stride 2: m = -FLT_MAX, then m = x > m ? x : m for each x of the block. A call with `pool`
 * and an activation of the kind BEHIND (kernels/cl_activations.h) is declined.
 */

/* Batch norm at inference: y = (x - mean) / (sqrt(variance) + .000001) * scales + bias. Each has n
   elements. */
typedef struct conv_norm {
    const float *mean, *variance, *scales;
} conv_norm;

typedef enum layer_kind {
    LAYER_MAXPOOL,
    LAYER_AVGPOOL,              /* the mean of each channel */
    LAYER_UPSAMPLE,             /* each pixel becomes stride x stride pixels, times alpha */
    LAYER_ROUTE,                /* the inputs, one behind the other */
    LAYER_SHORTCUT,             /* activation(alpha * input 0 + beta * input 1), see below */
    LAYER_YOLO,                 /* logistic of each channel but 2 and 3 of an anchor, see below */
} layer_kind;
enum { LAYER_KINDS = LAYER_YOLO + 1 };

/* batch images of `size` floats, one behind the other. */
typedef struct layer_input {
    const float *data;
    int size;
} layer_input;

/*
 * A layer without weights. Every dimension is at least 1. The output does not overlap an input.
 *
 * A window of a maxpool begins at row y * stride - pad / 2, and columns likewise. What lies outside
 * of the image counts as -FLT_MAX. The maximum is m = -FLT_MAX, then m = x > m ? x : m.
 *
 * Input 0 of a shortcut has the size of the output, and input 1 that of c x h x w. Where these
 * differ, let stride = w / out_w and sample = out_w / w, each at least 1, and the same for heights.
 * Then element (k, sample * y, sample * x) of input 0 meets (k, stride * y, stride * x) of input 1
 * where both exist. Others are activation(input 0), without alpha.
 *
 * An anchor of a yolo layer has c / anchors channels: x, y, width, height, object, classes. Width
 * and height, 2 and 3, are copied.
 */
typedef struct layer_call {
    layer_kind kind;
    int batch;
    int c, h, w;                /* an image of the first input; of a shortcut's second one */
    int out_c, out_h, out_w;
    int size, stride, pad;      /* maxpool: all; upsample: stride */
    int anchors;                /* yolo */
    float alpha, beta;          /* upsample: alpha; shortcut: both */
    conv_activation activation; /* shortcut */
    int inputs;                 /* 1; a shortcut 2; a route any number */
    const layer_input *input;
    float *output;              /* batch x out_c x out_h x out_w */
} layer_call;

/*
 * What is kept between the calls of one layer: its folded batch norm, and what the row keeps, such
 * as transformed weights. A layer has one slot for it, a pointer that is NULL at first. A plan is
 * an aid: without memory for one the layer still works. No two calls may use one slot at once.
 */
typedef struct gemm_plan gemm_plan;

/* Frees the plan and empties the slot. Call it after every change of a layer's weights, batch norm
   or sizes, and before the layer is freed. An empty slot is allowed. */
void gemm_plan_drop(gemm_plan **slot);

/*
 * How a convolution runs in its network: with which layers behind it, as one call. A host may keep
 * that with the plan of the layer, so that it looks once. It lasts as long as the plan and the
 * row, and is all zero before. It is kept from the first call on that was done: the very first one
 * may decline what the next ones take.
 */
typedef struct gemm_step {
    short convs, layers;
} gemm_step;

gemm_step gemm_plan_step(gemm_plan *const *slot);
void gemm_plan_set_step(gemm_plan *const *slot, gemm_step);

/* A number of the host's, 0 before. By it the host tells whether its network is still the one that
   the step was found in. It lasts as long as the plan. Since 1.1. */
unsigned gemm_plan_network(gemm_plan *const *slot);
void gemm_plan_set_network(gemm_plan *const *slot, unsigned network);

/*
 * Images apart: each thread takes whole images through the network, and threads wait once at the
 * end. Since 1.1.
 *
 * gemm_threads_apart: how many threads may do that under the chosen row; 1 where it has a device.
 * gemm_images_apart: calls run(job, image) for each image, in so many threads. Each convolution
 * inside stays in its thread. Returns false without memory; nothing has then begun.
 * gemm_plan_lend: the slot gets the plan of another slot of the same layer, so that two threads may
 * compute it at once. It shares what is kept there, until gemm_plan_drop. The other plan must not
 * be used or dropped before that. Returns false, with an empty slot, until a call inside of
 * gemm_images_apart has prepared all that the layer keeps.
 */
int gemm_threads_apart(void);
bool gemm_images_apart(int threads, int images, void (*run)(void *job, int image), void *job);
bool gemm_plan_lend(gemm_plan **to, gemm_plan *const *from);

/*
 * From gemm_prepare(true) to gemm_prepare(false), gemm_conv and gemm_conv_chain of this thread make
 * what the first call of a layer keeps in its plan, and touch the output for the first time. They
 * compute nothing. The next call is the first one. Returns false where the chosen row or a setting
 * has no such thing: then calls compute as ever. Since 1.1.
 */
bool gemm_prepare(bool);

/*
 * From gemm_foresee(true) on, gemm_conv, gemm_conv_chain and gemm_layer of this thread compute
 * nothing. The chosen row only finds out which programs its device will need, and they return what
 * they will return. gemm_foresee(false) makes these programs. Plans of the layers must be dropped
 * then. Returns false where the row has no programs: then calls compute as ever. Since 1.1.
 */
bool gemm_foresee(bool);

/*
 * For main(), before anything else. Missing programs of a device may from then on be compiled by
 * further processes of the same executable, which this function ends when they are done. Since 1.1.
 */
void gemm_compile_apart(int argc, char **argv);

/* C *= BETA, as BLAS means it: 1 does nothing, 0 overwrites C without reading it. */
void gemm_beta(const gemm_call *, float BETA);

/* Runs the call on the row of GEMM_IMPL, or on stock when that row declines. A row that cannot run
   here, and a row that fails, ends the program with the reason. */
void gemm_dispatch(const gemm_call *);

/* Whether whole convolutions go to the chosen row: the row offers them, and GEMM_CONV allows it. */
bool gemm_conv_offered(void);

/*
 * Runs the whole convolution on the chosen row. With `norm`, scale is computed here, and shift
 * holds the biases. `plan` is the slot of the layer, or NULL when nothing shall be kept. Returns
 * false when the row does not offer it, declines, or fails. Darknet's own code then has to run, and
 * to write the whole output. The first failure of a process is said on stderr.
 */
bool gemm_conv(const conv_call *, const conv_norm *norm, gemm_plan **plan);

/*
 * Runs convolutions that follow each other as one call: 1x1, depthwise, 1x1, or the last two of
 * these (count 3 or 2); or one of any kind with a shortcut (count 1). None has `pool`. Each reads
 * the output of the one before it. Only the last output is written, so the others may be NULL, and
 * so may the inputs of all but the first. norms[i] and slots[i] are as in gemm_conv. The output
 * has the bits that the calls one by one give. Returns false as gemm_conv does.
 *
 * `shortcut` is NULL or a LAYER_SHORTCUT that follows. Its input 0 is the output of the last
 * convolution. It has that size, and its data may be NULL. Then only the shortcut's output is
 * written, and the output of the last convolution may be NULL too.
 */
bool gemm_conv_chain(const conv_call *calls, const conv_norm *const *norms, int count,
                     gemm_plan **const *slots, const layer_call *shortcut);

/* The arguments of gemm_conv_chain. */
typedef struct gemm_chain {
    const conv_call *calls;
    const conv_norm *const *norms;
    int count;
    gemm_plan **const *slots;
    const layer_call *shortcut;
} gemm_chain;

/*
 * Runs chains of 2 or 3 convolutions that follow each other as one call. Each chain but the first
 * reads the output of the one before it, and a shortcut adds what its chain reads. So the first one
 * has no shortcut. Only the last output is written, and all other inputs and outputs may be NULL.
 * It has the bits that the chains one by one give. Returns false as gemm_conv does. Since 1.1.
 */
bool gemm_conv_chains(const gemm_chain *, int count);

/* Runs a layer without weights on the chosen row. Returns false as gemm_conv does. */
bool gemm_layer(const layer_call *);

/* For programs that were linked with version 1.0. They do nothing. */
void gemm_pass_begin(const void *layers, int count, size_t inputs);
void gemm_pass_end(void);

/* Darknet's own loops, unchanged. Defined in the patched src/gemm.c of Darknet. */
void gemm_stock_loops(const gemm_call *);

/*
 * Memory that an OpenCL device and the CPU can share without a copy.
 *
 * While an OpenCL row is chosen, these functions hand out memory of the OpenCL driver. Only this
 * driver knows which alignment and caching the sharing needs. Under every other row they are
 * calloc, realloc and free. While a multiply uses any part of a block, the device owns the block.
 */

/* Zeroed memory, or NULL. Freed with gemm_host_free. */
void *gemm_host_alloc(size_t count, size_t size);

/* As realloc, for memory of both kinds. On NULL the old memory is unchanged. */
void *gemm_host_realloc(void *, size_t bytes);

/* Frees memory of gemm_host_alloc and of malloc. */
void gemm_host_free(void *);

/* Whether no device shares the memory at `p`: it is of malloc, not of the OpenCL driver. */
bool gemm_host_is_plain(const void *p);

/*
 * A B that the chosen row reads where it lies. A device may read it as an image, whose rows begin
 * at multiples of its pitch. Under most rows this is rows x columns floats.
 *
 * gemm_b_bytes: how many bytes of gemm_host_alloc such a B needs. gemm_b_ld: how far apart its rows
 * are, at least `columns`. `b` is where the memory begins. If it has not these bytes, or is memory
 * of malloc, the answer is `columns`.
 */
size_t gemm_b_bytes(int rows, int columns);
int gemm_b_ld(const float *b, int rows, int columns);

/*
 * A row may leave the output of gemm_conv and gemm_layer on its device. It does so only where the
 * output lies in one block of gemm_host_alloc, and for a convolution only with a plan. All other
 * outputs, and the C of every multiply, are in the CPU's memory at return.
 *
 * gemm_host_read: the CPU is about to read these bytes. Waits for the device where it has to, and
 * makes them the CPU's. gemm_host_write: the CPU is about to write all of them. What the device
 * holds of them is out of date from now on. Also call it before writing into a block that was an
 * input. Both cost next to nothing while no device holds anything, and for memory of malloc.
 */
void gemm_host_read(const void *data, size_t bytes);
void gemm_host_write(const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
