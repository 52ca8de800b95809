/* SPDX-License-Identifier: MIT */
/* Multiplies with operands beside guard pages: see product.h. */
#include "support/product.h"

#include <stdio.h>

/* Of A, B and C: rows, columns, and where the call has the leading dimension. */
typedef struct shape {
    int rows, columns, *ld;
} shape;

static void find_shapes(gemm_call *c, shape all[3])
{
    all[0] = (shape){c->TA ? c->K : c->M, c->TA ? c->M : c->K, &c->lda};
    all[1] = (shape){c->TB ? c->N : c->K, c->TB ? c->K : c->N, &c->ldb};
    all[2] = (shape){c->M, c->N, &c->ldc};
}

void product_pad(gemm_call *c, rng *r)
{
    static const int pads[] = {0, 0, 1, 3, 5, 16};
    shape all[3];
    find_shapes(c, all);
    for (int i = 0; i < 3; ++i)
        if (!*all[i].ld) *all[i].ld = all[i].columns + pads[rng_below(r, 6)];
}

size_t product_floats(const gemm_call *c)
{
    return c->M && c->N ? (size_t)(c->M - 1) * (size_t)c->ldc + (size_t)c->N : 0;
}

static void make(product *p, int i, guarded_place place, int offset, rng *r)
{
    guarded *const each[] = {&p->A, &p->B, &p->C};
    shape all[3];
    find_shapes(&p->call, all);
    if (!*all[i].ld) *all[i].ld = all[i].columns;
    *each[i] = guarded_make(all[i].rows, all[i].columns, *all[i].ld, place, offset);
    guarded_fill(each[i], r);
    p->call.A = p->A.data, p->call.B = p->B.data, p->call.C = p->C.data;
}

void product_place(product *p, guarded_place place, const int offset[3], rng *r)
{
    for (int i = 0; i < 3; ++i) make(p, i, place, offset[i], r);
}

void product_draw(product *p, rng *r)
{
    product_pad(&p->call, r);
    for (int i = 0; i < 3; ++i) {
        const guarded_place side = rng_below(r, 2) ? AT_END : AT_START;
        const int offset = 4 * rng_below(r, 16);
        make(p, i, side, rng_below(r, 2) ? offset : 0, r);
    }
}

void product_free(product *p)
{
    guarded_free(&p->A);
    guarded_free(&p->B);
    guarded_free(&p->C);
}

const char *product_text(const gemm_call *c, char text[JUDGE_TEXT])
{
    snprintf(text, JUDGE_TEXT, "TA=%d TB=%d M=%d N=%d K=%d lda=%d ldb=%d ldc=%d ALPHA=%g", c->TA,
             c->TB, c->M, c->N, c->K, c->lda, c->ldb, c->ldc, (double)c->ALPHA);
    return text;
}
