/* SPDX-License-Identifier: MIT */
/*
 * Row `stock` of the library: the loops of the Darknet that calls it, or else plain loops.
 *
 * Darknet's gemm_cpu is looked for, not its gemm, because some builds of gemm call gemm_cpu through
 * the dynamic linker, which would come back here.
 *
 *   linked by --wrap             __real_gemm_cpu, which the linker sets
 *   preloaded, or loaded first   the object that called: dlsym on its own handle. RTLD_NEXT alone
 *                                does not see a libdarknet.so that Python loads.
 *   neither                      plain loops: callers of BLAS have no gemm_cpu
 */
#include "lib/stock.h"

#include "gemm_dispatch.h"
#include "util/forked.h"
#include "util/own.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static _Atomic(gemm_darknet_function *) host;
static atomic_bool looked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* for who looks */

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
GEMM_IN_CHILD(after_fork)

/* ---- Darknet's own ---- */

/* The base address of the object that holds this address, or NULL. */
static void *object_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* gemm_cpu of that handle, unless it is the one of this library. */
static gemm_darknet_function *find_in(void *handle)
{
    static const char here;
    union {
        void *data;
        gemm_darknet_function *function;
    } symbol = {.data = dlsym(handle, "gemm_cpu")};
    return symbol.data && object_of(symbol.data) != object_of(&here) ? symbol.function : NULL;
}

/* The handle is kept: the object must not go away while its loops are in use here. */
static gemm_darknet_function *find_in_caller(const void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info)) return NULL;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    gemm_darknet_function *found = handle ? find_in(handle) : NULL;
    if (handle && !found) dlclose(handle);
    return found;
}

void gemm_find_host(gemm_darknet_function *real, const void *caller)
{
    if (atomic_load_explicit(&looked, memory_order_acquire)) return;
    const int before = errno;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&looked)) {
        gemm_darknet_function *found = real;
        if (!found) found = find_in_caller(caller);
        if (!found) found = find_in(RTLD_DEFAULT);
        if (!found) found = find_in(RTLD_NEXT);
        atomic_store(&host, found);
        atomic_store_explicit(&looked, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    errno = before;
}

/* ---- The row ---- */

static void run_plain(const gemm_call *c)
{
    const size_t row_a = c->TA ? 1 : (size_t)c->lda, step_a = c->TA ? (size_t)c->lda : 1;
    const size_t row_b = c->TB ? 1 : (size_t)c->ldb, step_b = c->TB ? (size_t)c->ldb : 1;
    for (size_t i = 0; i < (size_t)c->M; ++i) {
        float *to = c->C + i * (size_t)c->ldc;
        for (size_t p = 0; p < (size_t)c->K; ++p) {
            const float a = c->ALPHA * c->A[i * row_a + p * step_a];
            const float *b = c->B + p * row_b;
            for (size_t j = 0; j < (size_t)c->N; ++j) to[j] += a * b[j * step_b];
        }
    }
}

/*
 * Darknet's loops only read A and B, but their type does not say so. A host whose gemm_cpu comes
 * back here, because it was linked as gemm_cpu of this library, gets the plain loops.
 */
void gemm_stock_loops(const gemm_call *c)
{
    static GEMM_OWN bool inside;
    gemm_darknet_function *run = inside ? NULL : atomic_load(&host);
    if (!run) {
        run_plain(c);
        return;
    }
    inside = true;
    run(c->TA, c->TB, c->M, c->N, c->K, c->ALPHA, (float *)c->A, c->lda, (float *)c->B, c->ldb, 1,
        c->C, c->ldc);
    inside = false;
}
