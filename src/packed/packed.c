/* SPDX-License-Identifier: MIT */
/*
 * The row `packed`: which way a call goes.
 *
 *   a few multiplications               declined: Darknet's own loops end before the work here is
 *                                       set up
 *   K = 1 and a C of few columns        declined: its rows fill too few vectors
 *   C is a row, or one or two columns, or K = 1
 *                                       skinny.c: no tiles, for each element is used so seldom
 *   all others                          loops.c: the packed gemm
 */
#include "packed/packed.h"

#include "packed/gemm/loops.h"

/* Adding rows to a row needs the least preparation. A narrow outer product fills no vectors. */
static bool is_tiny(const gemm_call *c, skinny_way way, const gemm_ukernel *u)
{
    enum { TINY = 2000, TINY_ROWS = 64 };
    if (u->reproducible) return false;      /* Darknet's loops depend on the compiler */
    if (way == SKINNY_OUTER && c->N < 3 * u->vl) return true;
    return (double)c->M * c->N * c->K <= (way == SKINNY_ROWS ? TINY_ROWS : TINY);
}

/* A transpose is a pair of strides of A, or the other form of B. */
static packed_job make_job(const gemm_call *c)
{
    packed_job job = {
        .M = c->M, .N = c->N, .K = c->K,
        .A = c->A,
        .a_row = c->TA ? 1 : c->lda,
        .a_step = c->TA ? c->lda : 1,
        .B = {.ld = c->ldb},
        .C = c->C,
        .ldc = c->ldc,
        .epilogue = {.alpha = c->ALPHA},
    };
    if (c->TB) {
        job.B.columns = c->B;
    } else {
        job.B.rows = c->B;
    }
    return job;
}

/* For the trace. Not inline: a tiny multiply pays for each register that a function saves. */
__attribute__((noinline)) static void weigh(gemm_note *note, bool tiny, skinny_way way)
{
    static const char *const ways[] = {
        [NOT_SKINNY] = "tiles: several rows and columns",
        [SKINNY_ROWS] = "rows are added: C is one vector",
        [SKINNY_DOTS] = "dots: C is one vector or two",
        [SKINNY_OUTER] = "multiples of a row: K is 1",
    };
    gemm_weigh_before(note, tiny ? "tiny" : ways[way]);
}

gemm_status gemm_packed(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    const gemm_ukernel *u = context->isa;
    const skinny_way way = packed_skinny_way(c);
    const bool tiny = is_tiny(c, way, u);
    if (context->timed) weigh(context->note, tiny, way);
    if (tiny) return GEMM_DECLINED;
    int no_memory;
    if (way == NOT_SKINNY) {
        const packed_job job = make_job(c);
        no_memory = packed_run(&job, u, context->threads);
    } else {
        no_memory = packed_skinny(c, way, u, context->threads);
    }
    return no_memory ? GEMM_DECLINED : GEMM_DONE;
}
