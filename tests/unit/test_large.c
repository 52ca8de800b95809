/* SPDX-License-Identifier: MIT */
/*
 * Multiplies whose sizes, or whose distances between elements, come near 2^31.
 *
 *   sizes       M, N or K is 2^31 - 1, the other two are 1
 *   far         a few rows, 2^30 and 2^31 - 1 elements apart, for every row of the table
 *   pieces      what the driver makes of a large call: each piece is small enough, and together the
 *               pieces are the call
 *
 *   test_large [--without sizes]
 *
 * Memory is sparse: pages of zeroes that many addresses share, and own pages around the few
 * elements that are not zero.
 */
#include "driver/driver.h"
#include "support/report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OWN_PAGE = 4096, OWN_FLOATS = OWN_PAGE / sizeof(float) };

/* ---- sizes ---- */

/* Where elements differ from zero: at the ends, and where pieces and signs may change. */
static const int places[] = {0,           1,           4095,        (1 << 29) - 1, 1 << 29,
                             1 << 30,     (1 << 30) + 1, 3 << 29,   INT_MAX - 5000, INT_MAX - 1};
enum { PLACES = sizeof places / sizeof *places, WINDOW = 64 * 1024 * 1024 };

/* INT_MAX floats. NULL: the system gives no such addresses. */
static float *sparse_make(int window)
{
    const size_t bytes = ((size_t)INT_MAX * sizeof(float) + WINDOW - 1) / WINDOW * WINDOW;
    char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return NULL;
    for (size_t i = 0; i < bytes; i += WINDOW)
        if (mmap(at + i, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, window, 0) ==
            MAP_FAILED)
            return NULL;
    for (int i = 0; i < PLACES; ++i) {
        char *page = at + (size_t)places[i] / OWN_FLOATS * OWN_PAGE;
        if (mmap(page, OWN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0) == MAP_FAILED)
            return NULL;
    }
    return (float *)at;
}

static void sparse_free(float *data)
{
    if (data) munmap(data, ((size_t)INT_MAX * sizeof(float) + WINDOW - 1) / WINDOW * WINDOW);
}

/* A value for each place, so that a misplaced one shows. */
static float value_at(int i)
{
    return (float)(i + 1);
}

/* C has the size of the long vector, or is one number. */
static const char *wrong_result(const float *C, bool is_long)
{
    static char why[120];
    float sum = 0;
    for (int i = 0; i < PLACES; ++i) {
        sum += 2 * value_at(i);
        if (!is_long || C[places[i]] == 2 * value_at(i)) continue;
        snprintf(why, sizeof why, "element %d is %g and not %g", places[i], C[places[i]],
                 2 * value_at(i));
        return why;
    }
    if (is_long || *C == sum) return NULL;
    snprintf(why, sizeof why, "the sum is %g and not %g", *C, sum);
    return why;
}

/* `size`: which of M, N and K is large. */
static gemm_call large_call(char size, float *vector, float *other, float *C)
{
    gemm_call c = {.M = 1, .N = 1, .K = 1, .ALPHA = 1, .lda = 1, .ldb = 1, .ldc = 1, .C = C};
    *(size == 'M' ? &c.M : size == 'N' ? &c.N : &c.K) = INT_MAX;
    c.A = size == 'N' ? other : vector;
    c.B = size == 'N' ? vector : other;
    if (size == 'K') c.lda = INT_MAX;
    if (size == 'N') c.ldb = c.ldc = INT_MAX;
    return c;
}

static void test_size(const gemm_variant *v, char size, float *vector, float *other, float *C)
{
    char name[80];
    snprintf(name, sizeof name, "sizes %s: %c is 2^31 - 1", v->name, size);
    for (int i = 0; i < PLACES; ++i) {
        vector[places[i]] = value_at(i);
        other[places[i]] = size == 'K' ? 2 : 0;
        C[places[i]] = 0;
    }
    if (size != 'K') other[0] = 2;
    const gemm_call c = large_call(size, vector, other, C);
    gemm_run(v, &c, NULL);
    report_judged(name, wrong_result(C, size != 'K'));
}

static void test_sizes(void)
{
    const int window = memfd_create("zeroes", 0);
    float *vector = NULL, *other = NULL, *C = NULL;
    if (window >= 0 && ftruncate(window, WINDOW) == 0) {
        vector = sparse_make(window);
        other = sparse_make(window);
        C = sparse_make(window);
    }
    const gemm_variant *packed = gemm_find("packed");
    for (const char *size = "MNK"; *size; ++size) {
        if (vector && other && C) test_size(packed, *size, vector, other, C);
        else report_skip_machine("sizes", "no 24 GB of addresses");
    }
    sparse_free(vector), sparse_free(other), sparse_free(C);
    if (window >= 0) close(window);
}

/* ---- far ---- */

enum { M = 3, N = 4, K = 2 };

/* Rows of a matrix that are ld apart. */
static float *far_make(int rows, int ld)
{
    void *at = mmap(NULL, ((size_t)(rows - 1) * (size_t)ld + 64) * sizeof(float),
                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void far_free(float *data, int rows, int ld)
{
    if (data) munmap(data, ((size_t)(rows - 1) * (size_t)ld + 64) * sizeof(float));
}

static float *element(float *m, bool transposed, int ld, int row, int column)
{
    return m + (size_t)(transposed ? column : row) * (size_t)ld +
           (size_t)(transposed ? row : column);
}

static const char *run_far(const gemm_variant *v, int TA, int TB, int ld, float *A, float *B,
                           float *C)
{
    static char why[120];
    for (int p = 0; p < K; ++p) {
        for (int i = 0; i < M; ++i) *element(A, TA, ld, i, p) = (float)(1 + i + M * p);
        for (int j = 0; j < N; ++j) *element(B, TB, ld, p, j) = (float)(1 + j * j + p);
    }
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) *element(C, false, ld, i, j) = (float)(i - j);
    const gemm_call c = {TA, TB, M, N, K, 1, A, ld, B, ld, C, ld};
    gemm_run(v, &c, NULL);
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            float sum = (float)(i - j);
            for (int p = 0; p < K; ++p)
                sum += *element(A, TA, ld, i, p) * *element(B, TB, ld, p, j);
            const float is = *element(C, false, ld, i, j);
            if (is == sum) continue;
            snprintf(why, sizeof why, "TA=%d TB=%d: C[%d][%d] is %g and not %g", TA, TB, i, j, is,
                     sum);
            return why;
        }
    }
    return NULL;
}

static void test_far_row(const gemm_variant *v, int ld, float *A, float *B, float *C)
{
    char name[80];
    snprintf(name, sizeof name, "far %s: rows are %d apart", v->name, ld);
    const char *wrong = NULL;
    for (int t = 0; t < 4 && !wrong; ++t) wrong = run_far(v, t & 1, t >> 1, ld, A, B, C);
    report_judged(name, wrong);
}

/* Rows of other people, and of devices, are not for such memory. */
static void test_far(int ld)
{
    float *A = far_make(N, ld), *B = far_make(N, ld), *C = far_make(N, ld);
    for (size_t i = 0; i < gemm_variant_count; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        if (v->device) continue;
        if (A && B && C) test_far_row(v, ld, A, B, C);
        else report_skip_machine("far", "no 96 GB of addresses");
    }
    far_free(A, N, ld), far_free(B, N, ld), far_free(C, N, ld);
}

/* ---- pieces ---- */

static gemm_call whole;
static double products;
static char wrong_piece[160];

static int64_t span(int rows, int columns, int ld)
{
    return (int64_t)(rows - 1) * ld + columns;
}

/* Notes the work of a piece, and what is wrong with it. Nothing is read or written. */
static gemm_status note_piece(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)context, (void)params;
    const int64_t i = (c->C - whole.C) / whole.ldc, j = (c->C - whole.C) % whole.ldc;
    const int64_t p = whole.TA ? (c->A - whole.A - i) / whole.lda
                               : c->A - whole.A - i * whole.lda;
    const float *B = whole.TB ? whole.B + j * whole.ldb + p : whole.B + p * whole.ldb + j;
    const int64_t a = c->TA ? span(c->K, c->M, c->lda) : span(c->M, c->K, c->lda);
    const int64_t b = c->TB ? span(c->N, c->K, c->ldb) : span(c->K, c->N, c->ldb);
    const bool inside = i + c->M <= whole.M && j + c->N <= whole.N && p + c->K <= whole.K;
    const bool small = c->M <= GEMM_MOST_SIZE && c->N <= GEMM_MOST_SIZE &&
                       c->K <= GEMM_MOST_SIZE && a <= INT_MAX && b <= INT_MAX &&
                       span(c->M, c->N, c->ldc) <= INT_MAX;
    if (!inside || !small || B != c->B)
        snprintf(wrong_piece, sizeof wrong_piece,
                 "M=%d N=%d K=%d at %" PRId64 ", %" PRId64 ", %" PRId64 " is %s", c->M, c->N, c->K,
                 i, j, p, !small ? "too large" : "another place of B, or behind the end");
    products += (double)c->M * c->N * c->K;
    return GEMM_DONE;
}

static void test_pieces(int m, int n, int k)
{
    static const gemm_variant noting = {.name = "noting", .multiply = note_piece};
    static float memory;
    for (int t = 0; t < 4; ++t) {
        const int TA = t & 1, TB = t >> 1;
        whole = (gemm_call){TA, TB, m, n, k, 1, &memory, TA ? m : k, &memory, TB ? k : n, &memory,
                            n};
        products = 0;
        wrong_piece[0] = '\0';
        gemm_run(&noting, &whole, NULL);
        if (products != (double)m * n * k && !wrong_piece[0])
            snprintf(wrong_piece, sizeof wrong_piece, "%.0f products", products);
        char name[100];
        snprintf(name, sizeof name, "pieces: TA=%d TB=%d M=%d N=%d K=%d", TA, TB, m, n, k);
        report_judged(name, wrong_piece[0] ? wrong_piece : NULL);
    }
}

int main(int argc, char **argv)
{
    const bool sizes = argc < 3 || strcmp(argv[1], "--without") || strcmp(argv[2], "sizes");
    test_pieces(3, 4, 5);
    test_pieces(INT_MAX, 1, 1);
    test_pieces(1, INT_MAX, 1);
    test_pieces(1, 1, INT_MAX);
    test_pieces(70000, 65536, 50000);
    test_pieces(2, 1 << 30, 3);
    test_far(1 << 30);
    test_far(INT_MAX);
    if (sizes) test_sizes();
    return report_status();
}
