/* SPDX-License-Identifier: MIT */
/*
 * Row stock made wrong on purpose, for test programs only. The linker's --wrap=gemm_stock_loops
 * puts this function before Darknet's loops. GEMM_TEST_WRONG says what goes wrong: product, nan,
 * late, nothing or die. Without it the result is right.
 */
#include "gemm_dispatch.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void __real_gemm_stock_loops(const gemm_call *);
void __wrap_gemm_stock_loops(const gemm_call *);

void __wrap_gemm_stock_loops(const gemm_call *c)
{
    static atomic_int calls;
    const char *how = getenv("GEMM_TEST_WRONG");
    __real_gemm_stock_loops(c);
    float *last = &c->C[(size_t)(c->M - 1) * (size_t)c->ldc + (size_t)c->N - 1];
    ++calls;
    if (!how) return;
    /* One element lacks its last product, as if the loop over K ended one step too early. */
    if (!strcmp(how, "product"))
        *last -= c->ALPHA * c->A[(size_t)(c->M - 1) * (size_t)c->lda + (size_t)c->K - 1]
                 * c->B[(size_t)(c->K - 1) * (size_t)c->ldb + (size_t)c->N - 1];
    if (!strcmp(how, "nan")) *last = NAN;
    if (!strcmp(how, "late") && calls % 4 == 0) *last += 0.1f;  /* right in the first three calls */
    if (!strcmp(how, "nothing")) memset(c->C, 0, sizeof(float));
    if (!strcmp(how, "die")) raise(SIGSEGV);
}
