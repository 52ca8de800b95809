/* SPDX-License-Identifier: MIT */
/*
 * A library that stands in for BLIS: LD_LIBRARY_PATH names its folder. FAKE_BLIS says what its
 * cblas_sgemm does: right, wrong, crash, or behind. `behind` reads 1 KiB behind B, as Debian's BLIS
 * does on some processors. load, version, threads: the crash comes there, before the first
 * multiply.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TRANS = 112, BEHIND = 256 };

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void bli_thread_set_num_threads(int64_t);
const char *bli_info_get_version_str(void);

/* A real fault: PoCL's handler of SIGSEGV returns from a raised one. */
static void crash_if(const char *how)
{
    static volatile int *const nowhere;
    const char *wanted = getenv("FAKE_BLIS");
    if (wanted && !strcmp(wanted, how)) *nowhere = 1;
}

__attribute__((constructor)) static void load(void)
{
    crash_if("load");
}

void bli_thread_set_num_threads(int64_t threads)
{
    (void)threads;
    crash_if("threads");
}

const char *bli_info_get_version_str(void)
{
    crash_if("version");
    return "fake";
}

static void read_behind(const float *b, int rows, int columns, int ldb)
{
    const volatile float *end = b + (size_t)(rows - 1) * (size_t)ldb + (size_t)columns;
    for (int i = 0; i < BEHIND; ++i) (void)end[i];
}

void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    (void)order, (void)beta;    /* always row-major, and 1 */
    const char *how = getenv("FAKE_BLIS");
    if (!how) abort();
    crash_if("crash");
    if (!strcmp(how, "behind")) read_behind(b, tb == TRANS ? n : k, tb == TRANS ? k : n, ldb);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int p = 0; p < k; ++p)
                sum += (double)(ta == TRANS ? a[p * lda + i] : a[i * lda + p]) *
                       (double)(tb == TRANS ? b[j * ldb + p] : b[p * ldb + j]);
            c[i * ldc + j] += alpha * (float)sum;
        }
    }
    if (!strcmp(how, "wrong")) c[0] += 1;
}
