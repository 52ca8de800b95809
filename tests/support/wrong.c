/*
 * A row made wrong on purpose, in test builds only: linked with --wrap=gemm_stock, this stands in
 * the place of row stock. GEMM_TEST_WRONG says how it goes wrong; without it, it does not.
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
    /* the loop over K ends one too early, for one element */
    if (!strcmp(how, "product"))
        *last -= c->ALPHA * c->A[(size_t)(c->M - 1) * (size_t)c->lda + (size_t)c->K - 1]
                 * c->B[(size_t)(c->K - 1) * (size_t)c->ldb + (size_t)c->N - 1];
    if (!strcmp(how, "nan")) *last = NAN;
    if (!strcmp(how, "late") && calls % 4 == 0) *last += 0.1f;  /* right at first */
    if (!strcmp(how, "nothing")) memset(c->C, 0, sizeof(float));
    if (!strcmp(how, "die")) raise(SIGSEGV);
}
