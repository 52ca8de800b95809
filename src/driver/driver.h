/* SPDX-License-Identifier: MIT */
/*
 * The driver, as benchmarks and tests use it: run a row, choose another row, list the table.
 *
 * The functions that run or read may be called from several threads at once. The functions
 * gemm_set_... change what later calls do. Call them only while no other thread runs a call.
 */
#ifndef GEMM_DRIVER_H
#define GEMM_DRIVER_H

#include "driver/settings.h"
#include "gemm_variant.h"

#include <stdint.h>

/*
 * Runs the call on this row, as gemm_dispatch does on the chosen row: with trace and check, and on
 * stock when the row declines. Returns the row that really ran. `note` may be NULL.
 */
const gemm_variant *gemm_run(const gemm_variant *, const gemm_call *, gemm_note *note);

/* C(MxN) = ALPHA * op(A)(MxK) * op(B)(KxN) + BETA * C, row-major, as in gemm_call. */
typedef struct gemm_wide_call {
    bool TA, TB;
    int64_t M, N, K;
    float ALPHA;
    const float *A; int64_t lda;
    const float *B; int64_t ldb;
    float BETA;
    float *C; int64_t ldc;
} gemm_wide_call;

/*
 * Runs it on the chosen row, in pieces whose M, N and K are at most `most`, which is at most
 * GEMM_MOST_SIZE. With ALPHA = 0 or K = 0, A and B are not read. With M = 0 or N = 0 nothing
 * happens.
 */
void gemm_dispatch_wide(const gemm_wide_call *, int most);

/* As gemm_run, for a convolution. The row must offer convolutions. `plan` is the slot of the layer,
   or NULL. Returns false when the row declines. */
bool gemm_conv_run(const gemm_variant *, const conv_call *, gemm_plan **plan, gemm_note *note);

/* The same for a layer without weights. The row must offer layers. */
bool gemm_layer_run(const gemm_variant *, const layer_call *, gemm_note *note);

/* Clears `note` and returns the context of a call under the present settings. */
gemm_context gemm_make_context(gemm_note *note);

/* Whether any call has read the environment yet. */
bool gemm_is_started(void);

/* The row of GEMM_IMPL; ends the program when it cannot run here. */
const gemm_variant *gemm_chosen(void);

/* NULL when the row can run on this machine, else the reason it cannot. */
const char *gemm_unusable(const gemm_variant *);

/* The same as far as it is known without compiling anything: for a list of all rows. */
const char *gemm_limits(const gemm_variant *);

/* Chooses another row, another number of threads (1 to GEMM_MAX_THREADS), or another way to compute
   layers. A number outside of the range ends the program. */
void gemm_set_variant(const gemm_variant *);
void gemm_set_threads(int threads);
void gemm_set_conv(gemm_conv_mode);
void gemm_set_prepare_first(bool);      /* as GEMM_PREPARE=first: all passes have the same bits */
void gemm_wait_for_compilers(void);     /* for benchmarks: calls wait, in place of other rows that
                                           compute meanwhile */

/* How many bytes all plans together may keep, instead of GEMM_KEEP and of all other limits. */
void gemm_set_plan_limit(size_t bytes);

/* How many they keep now. */
size_t gemm_planned_bytes(void);

/* How many decisions variants took for layers with plans since the start. From the third pass of a
   network on it stays, unless a setting or a size changes. */
unsigned gemm_decisions(void);

#endif
