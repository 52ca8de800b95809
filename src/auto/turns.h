/* How long each row takes for a call, measured in turns. */
#ifndef GEMM_TURNS_H
#define GEMM_TURNS_H

#include "auto/shape.h"

/* A call of any kind. The two pointers of other kinds are NULL. */
typedef struct gemm_any_call {
    gemm_shape shape;
    const gemm_call *multiply;
    const conv_call *conv;
    const layer_call *layer;
} gemm_any_call;

/* Runs the call on the row, which must offer its kind. */
gemm_status gemm_run_any(const gemm_variant *, const gemm_any_call *, const gemm_context *);

/* A layer's output may lie on a device. This gives the inputs of the call to the CPU, and tells
   that the CPU writes the output. Returns NULL, or why an input is lost. */
const char *gemm_any_to_cpu(const gemm_any_call *);

/* The same for a chain and the shortcut behind it, or NULL for none. The outputs of the inner
   layers do not exist. */
const char *gemm_chain_to_cpu(const conv_call *calls, int count, const layer_call *shortcut);

/*
 * Measures `count` rows, at most GEMM_TURNS_ROWS. ms[i] becomes the shortest time of row i, until
 * the result is in the CPU's memory. It is -1 when the row declines or fails. A matrix C is then as
 * before, and the output of a layer is undefined. Returns false without memory: nothing was
 * measured.
 *
 * A row that declines a convolution with its pool is measured as Darknet then runs it: the
 * convolution, then the pool.
 */
enum { GEMM_TURNS_ROWS = 8 };
bool gemm_take_turns(const gemm_any_call *, const gemm_context *, const gemm_variant *const *rows,
                     int count, double *ms);

#endif
