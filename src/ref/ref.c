/* SPDX-License-Identifier: MIT */
/*
 * Reference rows: OpenBLAS, BLIS and oneDNN, which has two (onednn.h). A library is loaded with
 * dlopen when its row is used for the first time.
 *
 * Each library is a struct: its file name, its symbols and three small functions. One multiplies.
 * One sets the number of threads by the library's own call, so that a comparison gives all rows the
 * same number. One describes the version.
 *
 * Interfaces: cblas.h (OpenBLAS 0.3, BLIS 0.9 and 1.1, 32-bit integers), bli_thread.h,
 * oneapi/dnnl/dnnl.h (2 and 3).
 */
#include "ref/ref.h"
#include "ref/onednn.h"
#include "util/forked.h"
#include "util/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

typedef void cblas_sgemm_f(int order, int ta, int tb, int m, int n, int k, float alpha,
                           const float *a, int lda, const float *b, int ldb, float beta, float *c,
                           int ldc);
typedef int dnnl_sgemm_f(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha,
                         const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                         float *c, int64_t ldc);
typedef void openblas_threads_f(int);
typedef void blis_threads_f(int64_t);       /* dim_t */
typedef void openmp_threads_f(int);
typedef const char *text_f(void);

typedef struct dnnl_version_text {          /* the head of dnnl_version_t */
    int major, minor, patch;
} dnnl_version_text;
typedef const dnnl_version_text *dnnl_version_f(void);

/* dlsym returns a pointer to data, also for a function. This union converts it. */
typedef union symbol {
    void *data;
    cblas_sgemm_f *cblas_sgemm;
    dnnl_sgemm_f *dnnl_sgemm;
    openblas_threads_f *openblas_threads;
    blis_threads_f *blis_threads;
    openmp_threads_f *openmp_threads;
    text_f *text;
    dnnl_version_f *dnnl_version;
} symbol;

struct gemm_ref {
    const char *file;                       /* of any version */
    const char *package;                    /* Debian's, as mk/packages.mk has it */
    const char *sgemm_name, *threads_name, *version_name;
    /* 0, or the library's error; with so many threads, which are set already */
    int (*multiply)(const gemm_ref *, const gemm_call *, int threads);
    void (*set_threads)(const gemm_ref *, int);
    void (*describe)(gemm_ref *);
    /* set by load() */
    pthread_mutex_t lock;
    bool openmp;                            /* its threads do not survive a fork */
    bool tried, ran, lost;                  /* lost: a child cannot use it */
    void *library;
    symbol sgemm, threads, version;
    char reason[512], text[256];
};

/* ---- One library each ---- */

static int multiply_cblas(const gemm_ref *r, const gemm_call *c, int threads)
{
    (void)threads;
    r->sgemm.cblas_sgemm(CBLAS_ROW_MAJOR, c->TA ? CBLAS_TRANS : CBLAS_NO_TRANS,
                         c->TB ? CBLAS_TRANS : CBLAS_NO_TRANS, c->M, c->N, c->K, c->ALPHA, c->A,
                         c->lda, c->B, c->ldb, 1, c->C, c->ldc);
    return 0;
}

static int multiply_onednn(const gemm_ref *r, const gemm_call *c, int threads)
{
    (void)threads;
    return r->sgemm.dnnl_sgemm(c->TA ? 'T' : 'N', c->TB ? 'T' : 'N', c->M, c->N, c->K, c->ALPHA,
                               c->A, c->lda, c->B, c->ldb, 1, c->C, c->ldc);
}

static int multiply_onednn_bf16(const gemm_ref *r, const gemm_call *c, int threads)
{
    (void)r;
    return gemm_ref_matmul(c, threads);
}

static void set_openblas(const gemm_ref *r, int threads)
{
    r->threads.openblas_threads(threads);
}

static void set_blis(const gemm_ref *r, int threads)
{
    r->threads.blis_threads(threads);
}

/* oneDNN has no call for this. It uses as many threads as its OpenMP. */
static void set_openmp(const gemm_ref *r, int threads)
{
    r->threads.openmp_threads(threads);
}

static void describe_openblas(gemm_ref *r)
{
    const symbol core = {.data = dlsym(r->library, "openblas_get_corename")};
    snprintf(r->text, sizeof(r->text), "%s, kernels for %s", r->version.text(),
             core.data ? core.text() : "an unknown core");
}

static void describe_blis(gemm_ref *r)
{
    snprintf(r->text, sizeof(r->text), "BLIS %s", r->version.text());
}

static void describe_onednn(gemm_ref *r)
{
    const dnnl_version_text *v = r->version.dnnl_version();
    snprintf(r->text, sizeof(r->text), "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
}

static void give_up(gemm_ref *, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void describe_onednn_bf16(gemm_ref *r)
{
    const char *const why = gemm_ref_try_matmul(r->library);
    describe_onednn(r);
    if (why) give_up(r, "%s: %s", r->text, why);
}

gemm_ref gemm_ref_openblas = {
    .file = "libopenblas.so",
    .package = "libopenblas0-pthread",
    .sgemm_name = "cblas_sgemm",
    .threads_name = "openblas_set_num_threads",
    .version_name = "openblas_get_config",
    .multiply = multiply_cblas,
    .set_threads = set_openblas,
    .describe = describe_openblas,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

gemm_ref gemm_ref_blis = {
    .file = "libblis.so",
    .package = "libblis[0-9]-openmp",
    .openmp = true,
    .sgemm_name = "cblas_sgemm",
    .threads_name = "bli_thread_set_num_threads",
    .version_name = "bli_info_get_version_str",
    .multiply = multiply_cblas,
    .set_threads = set_blis,
    .describe = describe_blis,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

gemm_ref gemm_ref_onednn = {
    .file = "libdnnl.so",
    .package = "libdnnl[0-9]*",
    .openmp = true,
    .sgemm_name = "dnnl_sgemm",
    .threads_name = "omp_set_num_threads",
    .version_name = "dnnl_version",
    .multiply = multiply_onednn,
    .set_threads = set_openmp,
    .describe = describe_onednn,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

gemm_ref gemm_ref_onednn_bf16 = {
    .file = "libdnnl.so",
    .package = "none of version 3",
    .openmp = true,
    .sgemm_name = "dnnl_matmul_primitive_desc_create",
    .threads_name = "omp_set_num_threads",
    .version_name = "dnnl_version",
    .multiply = multiply_onednn_bf16,
    .set_threads = set_openmp,
    .describe = describe_onednn_bf16,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- A child of fork ---- */

/* It looks again for a library that another thread was loading. */
static void forget(gemm_ref *r)
{
    pthread_mutex_init(&r->lock, NULL);
    if (r->tried && !r->library && !*r->reason) r->tried = false;
    r->lost = r->openmp && r->ran;
    if (r->lost)
        snprintf(r->reason, sizeof r->reason, "the parent of this process has its OpenMP threads");
}

static void after_fork(void)
{
    forget(&gemm_ref_openblas);
    forget(&gemm_ref_blis);
    forget(&gemm_ref_onednn);
    forget(&gemm_ref_onednn_bf16);
}
GEMM_IN_CHILD(after_fork)

/* ---- Loading ---- */

static void give_up(gemm_ref *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->reason, sizeof(r->reason), format, args);
    va_end(args);
    if (r->library) {
        dlclose(r->library);
        r->library = NULL;
    }
}

static void open_library(gemm_ref *r)
{
    r->library = gemm_open_library(r->file);
    if (!r->library)
        give_up(r, "%s is not installed (Debian: %s; or LD_LIBRARY_PATH names its folder)", r->file,
                r->package);
}

static bool find_symbol(gemm_ref *r, symbol *s, const char *name)
{
    s->data = dlsym(r->library, name);
    if (!s->data) give_up(r, "%s has no %s", r->file, name);
    return s->data;
}

/* NULL, or why the library cannot be used. */
static const char *load(gemm_ref *r)
{
    pthread_mutex_lock(&r->lock);
    if (!r->tried) {
        r->tried = true;
        open_library(r);
        if (r->library && find_symbol(r, &r->sgemm, r->sgemm_name)
            && find_symbol(r, &r->threads, r->threads_name)
            && find_symbol(r, &r->version, r->version_name))
            r->describe(r);
    }
    pthread_mutex_unlock(&r->lock);
    return r->library && !r->lost ? NULL : r->reason;
}

/* params is const in the table, but load() changes the struct. The struct itself is not const, so
   the cast is valid. */
static gemm_ref *of(const void *params)
{
    return (gemm_ref *)(uintptr_t)params;
}

const char *gemm_ref_unusable(const void *params)
{
    return load(of(params));
}

const char *gemm_ref_version(const void *params)
{
    return load(of(params)) ? NULL : of(params)->text;
}

gemm_status gemm_ref_run(const gemm_call *c, const gemm_context *context, const void *params)
{
    gemm_ref *r = of(params);
    if (load(r)) return GEMM_DECLINED;
    /* Set before every call, because OpenMP keeps the number for each calling thread. */
    r->set_threads(r, context->threads);
    r->ran = true;
    const int error = r->multiply(r, c, context->threads);
    if (!error) return GEMM_DONE;
    snprintf(context->note->reason, sizeof context->note->reason, "%s returned %d", r->sgemm_name,
             error);
    return GEMM_FAILED;
}
