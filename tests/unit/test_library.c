/* SPDX-License-Identifier: MIT */
/*
 * libdarknet-gemm through its public calls, and the pieces of a 64-bit multiply. The program is
 * linked with the archive; tests/system/test_library.sh does the rest.
 *
 *   test_library [--without fork]     qemu-user aborts in the child of a fork
 */
#include "darknet_gemm.h"
#include "driver/driver.h"
#include "gemm_dispatch.h"
#include "support/report.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, NO = 111, YES = 112 };
enum { M = 5, N = 7, K = 3, LD = 9, CELLS = 9 * 9 };

/* Of no header: what wheels of numpy and SciPy call. */
extern __typeof__(cblas_sgemm) scipy_cblas_sgemm;
extern __typeof__(cblas_sgemm64_) scipy_cblas_sgemm64_;
extern __typeof__(sgemm_) scipy_sgemm_;
extern __typeof__(sgemm_64_) scipy_sgemm_64_;

/* The layout of 1.0, because programs that were linked with it go on. */
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "the size of " #type)
#define AT(type, member, at) _Static_assert(offsetof(type, member) == (at), #type "." #member)
#if __SIZEOF_POINTER__ == 8
SIZE(gemm_call, 72); AT(gemm_call, ALPHA, 20); AT(gemm_call, A, 24); AT(gemm_call, ldc, 64);
SIZE(conv_call, 96); AT(conv_call, input, 48); AT(conv_call, activation, 80);
AT(conv_call, pool, 84); AT(conv_call, output, 88);
SIZE(conv_norm, 24); SIZE(layer_input, 16); SIZE(layer_call, 80); AT(layer_call, alpha, 48);
AT(layer_call, activation, 56); AT(layer_call, input, 64); AT(layer_call, output, 72);
#endif
SIZE(gemm_step, 4); AT(gemm_step, layers, 2);
_Static_assert(CONV_LOGISTIC == 3 && LAYER_YOLO == 5, "numbers of kinds");

static float a[CELLS], b[CELLS], c[CELLS], expected[CELLS];

static void fill(void)
{
    for (int i = 0; i < CELLS; ++i) {
        a[i] = (float)(i % 7 - 3);
        b[i] = (float)(i % 5 - 2);
        c[i] = expected[i] = (float)(i % 3);
    }
}

static float at(const float *v, bool row_major, int i, int j)
{
    return row_major ? v[i * LD + j] : v[j * LD + i];
}

/* Small whole numbers, so every order of summation is exact. */
static void expect(bool row_major, bool ta, bool tb, float alpha, float beta)
{
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            float sum = 0;
            for (int p = 0; p < K; ++p)
                sum += (ta ? at(a, row_major, p, i) : at(a, row_major, i, p))
                       * (tb ? at(b, row_major, j, p) : at(b, row_major, p, j));
            float *e = &expected[row_major ? i * LD + j : j * LD + i];
            *e = alpha * sum + (beta == 0 ? 0 : beta * *e);
        }
    }
}

static void compare(const char *name)
{
    for (int i = 0; i < CELLS; ++i) {
        if (c[i] == expected[i]) continue;
        report_fail(name, "element %d is %g instead of %g", i, c[i], expected[i]);
        return;
    }
    report_pass(name);
}

/* ---- right results ---- */

static void call(bool row_major, bool ta, bool tb, float alpha, float beta, int which)
{
    const int order = row_major ? ROW_MAJOR : COLUMN_MAJOR, m = M, n = N, k = K, ld = LD;
    const int64_t wm = M, wn = N, wk = K, wide = LD;
    const char *const ft = ta ? "t" : "N", *const fb = tb ? "C" : "n";
    if (which == 4 && row_major)
        scipy_cblas_sgemm(order, ta ? YES : NO, tb ? YES : NO, m, n, k, alpha, a, ld, b, ld, beta,
                          c, ld);
    else if (which == 5 && row_major)
        scipy_cblas_sgemm64_(order, ta ? YES : NO, tb ? YES : NO, m, n, k, alpha, a, ld, b, ld,
                             beta, c, ld);
    else if (which >= 4)
        (which == 4 ? sgemm_64_ : scipy_sgemm_64_)(ft, fb, &wm, &wn, &wk, &alpha, a, &wide, b,
                                                   &wide, &beta, c, &wide);
    else if (which == 0)
        cblas_sgemm(order, ta ? YES : NO, tb ? YES : NO, m, n, k, alpha, a, ld, b, ld, beta, c, ld);
    else if (which == 1)
        cblas_sgemm64_(order, ta ? YES + 1 : NO, tb ? YES : NO, m, n, k, alpha, a, ld, b, ld, beta,
                       c, ld);
    else if (row_major)
        (which == 2 ? gemm : gemm_cpu)(ta, tb, m, n, k, alpha, a, ld, b, ld, beta, c, ld);
    else
        (which == 2 ? sgemm_ : scipy_sgemm_)(ft, fb, &m, &n, &k, &alpha, a, &ld, b, &ld, &beta, c,
                                             &ld);
}

static void test_results(void)
{
    static const char *const names[] = {"cblas_sgemm", "cblas_sgemm64_", "gemm or sgemm_",
                                        "gemm_cpu or scipy_sgemm_",
                                        "scipy_cblas_sgemm or sgemm_64_",
                                        "scipy_cblas_sgemm64_ or scipy_sgemm_64_"};
    for (int i = 0; i < 6 * 16; ++i) {
        const bool row_major = i & 1, ta = i & 2, tb = i & 4;
        const float alpha = i & 8 ? 2 : 1, beta = (float)(i >> 2 & 3);
        char name[120];
        snprintf(name, sizeof name, "%s %s TA %d TB %d alpha %g beta %g", names[i / 16],
                 row_major ? "row-major" : "column-major", ta, tb, alpha, beta);
        fill();
        expect(row_major, ta, tb, alpha, beta);
        call(row_major, ta, tb, alpha, beta, i / 16);
        compare(name);
    }
}

/* NaN in what must not be read. */
static void test_unread(void)
{
    fill();
    for (int i = 0; i < CELLS; ++i) c[i] = NAN;
    expect(true, false, false, 1, 0);
    cblas_sgemm(ROW_MAJOR, NO, NO, M, N, K, 1, a, LD, b, LD, 0, c, LD);
    for (int i = 0; i < CELLS; ++i)
        if (i / LD >= M || i % LD >= N) c[i] = expected[i];
    compare("beta 0 does not read C");

    fill();
    expect(true, false, false, 0, 2);
    for (int i = 0; i < CELLS; ++i) a[i] = b[i] = NAN;
    cblas_sgemm(ROW_MAJOR, NO, NO, M, N, K, 0, a, LD, b, LD, 2, c, LD);
    compare("alpha 0 does not read A and B");

    fill();
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) expected[i * LD + j] *= 2;
    cblas_sgemm(ROW_MAJOR, NO, NO, M, N, 0, 1, NULL, LD, NULL, LD, 2, c, LD);
    compare("K 0 scales C");

    fill();
    cblas_sgemm(ROW_MAJOR, NO, NO, 0, N, K, 1, a, LD, b, LD, 2, c, LD);
    cblas_sgemm(ROW_MAJOR, NO, NO, M, 0, K, 1, a, LD, b, LD, 2, c, LD);
    gemm(0, 0, -1, N, K, 1, a, LD, b, LD, 2, c, LD);
    compare("M 0 and N 0 do nothing");
}

/* ---- bad arguments ---- */

/* Runs one bad call with stderr in a file. */
static void expect_refusal(const char *name, const char *message, void (*bad)(void))
{
    char said[400] = "";
    FILE *file = tmpfile();
    const int err = dup(2);
    fill();
    dup2(fileno(file), 2);
    bad();
    dup2(err, 2);
    close(err);
    rewind(file);
    const size_t length = fread(said, 1, sizeof said - 1, file);
    fclose(file);
    said[length] = '\0';
    const char *end = strchr(said, '\n');
    if (!strstr(said, message) || !end || end[1])
        report_fail(name, "it said '%s', not the one line '%s'", said, message);
    else
        compare(name);
}

static void bad_order(void) { cblas_sgemm(7, NO, NO, M, N, K, 1, a, LD, b, LD, 0, c, LD); }
static void bad_trans(void) { cblas_sgemm(ROW_MAJOR, NO, 9, M, N, K, 1, a, LD, b, LD, 0, c, LD); }
static void bad_m(void) { cblas_sgemm(ROW_MAJOR, NO, NO, -1, N, K, 1, a, LD, b, LD, 0, c, LD); }
static void bad_lda(void) { cblas_sgemm(ROW_MAJOR, NO, NO, M, N, K, 1, a, 2, b, LD, 0, c, LD); }
static void bad_ldb(void) { cblas_sgemm(COLUMN_MAJOR, NO, NO, M, N, K, 1, a, LD, b, 2, 0, c, LD); }
static void bad_ldc(void) { cblas_sgemm64_(ROW_MAJOR, NO, NO, M, N, K, 1, a, LD, b, LD, 0, c, 6); }

static void bad_letter(void)
{
    const int m = M, n = N, k = K, ld = LD;
    const float one = 1;
    sgemm_("N", "X", &m, &n, &k, &one, a, &ld, b, &ld, &one, c, &ld);
}

static void test_refusals(void)
{
    expect_refusal("order 7", "cblas_sgemm: argument 1, order=7: it is 101", bad_order);
    expect_refusal("transb 9", "cblas_sgemm: argument 3, transb=9: it is 111", bad_trans);
    expect_refusal("m -1", "cblas_sgemm: argument 4, m=-1: a size is at least 0", bad_m);
    expect_refusal("lda 2", "cblas_sgemm: argument 9, lda=2: it is at least 3", bad_lda);
    expect_refusal("ldb 2", "cblas_sgemm: argument 11, ldb=2: it is at least 3", bad_ldb);
    expect_refusal("ldc 6", "cblas_sgemm64_: argument 14, ldc=6: it is at least 7", bad_ldc);
    expect_refusal("sgemm_ X", "sgemm_: argument 2, transb=88: it is the character N", bad_letter);
}

/* ---- 64 bits ---- */

static void test_pieces(void)
{
    for (int i = 0; i < 4 * 4; ++i) {
        char name[60];
        const bool ta = i & 1, tb = i & 2;
        const int most = 1 + i / 4;
        snprintf(name, sizeof name, "pieces of %d, TA %d TB %d", most, ta, tb);
        fill();
        expect(true, ta, tb, 2, 3);
        gemm_dispatch_wide(&(gemm_wide_call){.TA = ta, .TB = tb, .M = M, .N = N, .K = K,
                                             .ALPHA = 2, .A = a, .lda = LD, .B = b, .ldb = LD,
                                             .BETA = 3, .C = c, .ldc = LD}, most);
        compare(name);
    }
}

/* 2x2 matrices whose rows are more than INT_MAX elements apart. Only the pages that are used take
   memory. */
static void test_far_rows(void)
{
    const int64_t ld = (int64_t)INT_MAX + 5;
    const size_t bytes = (size_t)(ld + 2) * sizeof(float);
    float *v[3];
    for (int i = 0; i < 3; ++i) {
        v[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (v[i] == MAP_FAILED) {
            report_skip_machine("rows more than INT_MAX apart", "no 8 GB of addresses");
            return;
        }
        for (int j = 0; j < 4; ++j) v[i][j / 2 * ld + j % 2] = (float)(j + 1);
    }
    for (int i = 0; i < 4; ++i) {
        char name[60];
        snprintf(name, sizeof name, "rows more than INT_MAX apart, TA %d TB %d", i & 1, i >> 1);
        cblas_sgemm64_(ROW_MAJOR, i & 1 ? YES : NO, i & 2 ? YES : NO, 2, 2, 2, 1, v[0], ld, v[1],
                       ld, 0, v[2], ld);
        static const float right[4][4] = {
            {7, 10, 15, 22}, {10, 14, 14, 20}, {5, 11, 11, 25}, {7, 15, 10, 22}};
        const float got[] = {v[2][0], v[2][1], v[2][ld], v[2][ld + 1]};
        if (memcmp(got, right[i], sizeof got))
            report_fail(name, "%g %g %g %g", got[0], got[1], got[2], got[3]);
        else
            report_pass(name);
    }
    for (int i = 0; i < 3; ++i) munmap(v[i], bytes);
}

/* ---- threads of the host ---- */

enum { SIDE = 200, CALLERS = 6 };

/* Whether one multiply of ones is right. */
static bool multiply_ones(void)
{
    float *v = malloc(3 * SIDE * SIDE * sizeof *v), *to = v + 2 * SIDE * SIDE;
    for (int i = 0; i < 2 * SIDE * SIDE; ++i) v[i] = 1;
    gemm(0, 0, SIDE, SIDE, SIDE, 1, v, SIDE, v + SIDE * SIDE, SIDE, 0, to, SIDE);
    bool right = true;
    for (int i = 0; i < SIDE * SIDE; ++i) right &= to[i] == SIDE;
    free(v);
    return right;
}

static void test_openmp(void)
{
    const char *name = "a host with OpenMP threads";
#ifdef _OPENMP
    int right = 0;
#pragma omp parallel for num_threads(CALLERS) reduction(+ : right)
    for (int i = 0; i < 4 * CALLERS; ++i) right += multiply_ones();
    report_that(name, right == 4 * CALLERS, "%d of %d multiplies are wrong", 4 * CALLERS - right,
                4 * CALLERS);
#else
    report_fail(name, "this program was built without OpenMP");
#endif
}

/* The workers are alive in the parent and gone in the child. */
static void test_fork(void)
{
    int status = -1;
    const bool before = multiply_ones();
    const pid_t child = fork();
    if (!child) _exit(multiply_ones() ? 0 : 1);
    if (child > 0) waitpid(child, &status, 0);
    report_that("fork", before && status == 0 && multiply_ones(),
                "right before: %d, status of the child: %d", before, status);
}

static void test_settings(void)
{
    const int before = darknet_gemm_get_threads();
    const bool right = darknet_gemm_set_threads(3) == 0 && darknet_gemm_get_threads() == 3
                       && darknet_gemm_set_threads(0) == -1 && darknet_gemm_set_threads(1025) == -1
                       && darknet_gemm_get_threads() == 3 && multiply_ones();
    darknet_gemm_set_threads(before);
    report_that("threads by call", right, "%d threads", darknet_gemm_get_threads());
    report_that("version", !strcmp(darknet_gemm_version(), DARKNET_GEMM_VERSION), "%s",
                darknet_gemm_version());
}

int main(int argc, char **argv)
{
    const bool forks = argc == 1;
    if (!forks && (argc != 3 || strcmp(argv[1], "--without") || strcmp(argv[2], "fork"))) {
        fprintf(stderr, "test_library: '%s' is no argument; allowed is --without fork\n", argv[1]);
        return 2;
    }
    test_results();
    test_unread();
    test_refusals();
    test_pieces();
    test_far_rows();
    test_settings();
    if (forks)
        test_fork();
    else
        report_skip_machine("fork", "left out by --without fork");
    test_openmp();
    return report_status();
}
