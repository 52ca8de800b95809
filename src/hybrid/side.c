/* SPDX-License-Identifier: MIT */
/*
 * How the side is measured: see side.h.
 *
 * A layer's operands lie on the device already, so a multiply counts there without its copies: by
 * the time of its kernels. The shape is that of a layer in the middle of yolov3-tiny. Of each
 * side's calls the shortest one counts, because the first ones compile, and start threads.
 *
 * The choice holds for all layers. To change sides between layers costs copies, and to cut single
 * layers gained nothing over whole networks (docs/log/hybrid.md).
 */
#include "hybrid/side.h"

#include "util/clock.h"
#include "util/forked.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { M = 256, N = 676, K = 1152, CALLS = 4 };

static double ratio;            /* of the device's time to the CPU's, once it is known */
static atomic_bool known;       /* after the first layer a load is all that it costs */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child may be unable to use the device that its parent had. */
static void after_fork(void)
{
    gemm_forget_side();
    pthread_mutex_init(&lock, NULL);
}
GEMM_IN_CHILD(after_fork)

/* The ms of the shortest call; INFINITY: the side cannot multiply. */
static double time_side(const gemm_variant *v, const gemm_call *g, const gemm_context *context)
{
    double best = INFINITY;
    for (int i = 0; i < CALLS; ++i) {
        gemm_note note;
        gemm_context own = {.threads = context->threads, .isa = context->isa, .timed = true,
                            .note = &note};
        gemm_clear_note(&note);
        const double begin = gemm_now_ms();
        if (v->multiply(g, &own, v->params) != GEMM_DONE) return INFINITY;
        const double ms = gemm_now_ms() - begin;
        best = fmin(best, note.kernel_ms > 0 ? note.kernel_ms : ms);
    }
    return best;
}

/* Without memory for the operands the CPU has the layers. False: *later says why not now. */
static bool measure(const gemm_variant *cpu, const gemm_variant *device,
                    const gemm_context *context, const char **later)
{
    float *a = calloc((size_t)M * K + (size_t)K * N + (size_t)M * N, sizeof *a);
    ratio = INFINITY;
    if (!a) return true;
    float *b = a + (size_t)M * K, *c = b + (size_t)K * N;
    const gemm_call g = {.M = M, .N = N, .K = K, .ALPHA = 1, .A = a, .lda = K, .B = b, .ldb = N,
                         .C = c, .ldc = N};
    const gemm_op op = {.multiply = &g};
    *later = gemm_asks_later(device, &op, context);
    if (!*later) {
        const double ms = time_side(device, &g, context);
        ratio = ms / time_side(cpu, &g, context);
    }
    free(a);
    return !*later;
}

const gemm_variant *gemm_faster_side(const gemm_variant *cpu, const gemm_variant *device,
                                     const gemm_context *context, const char **later)
{
    if (!atomic_load(&known)) {
        pthread_mutex_lock(&lock);
        if (!atomic_load(&known)) atomic_store(&known, measure(cpu, device, context, later));
        pthread_mutex_unlock(&lock);
    }
    return atomic_load(&known) && ratio < 1 ? device : cpu;
}

double gemm_side_ratio(void)
{
    return ratio;
}

void gemm_forget_side(void)
{
    atomic_store(&known, false);
}
