/*
 * The packed gemm, behind two seams: where B comes from and what becomes of a finished tile.
 * GEMM_IMPL=packed is gemm_packed(); a convolution that packs straight from an image builds a
 * packed_job of its own.
 */
#ifndef GEMM_PACKED_H
#define GEMM_PACKED_H

#include "gemm_variant.h"
#include "packed/ukernel.h"

/* Where B (K x N) comes from. */
typedef struct packed_b {
    /* When B lies by rows: element (p, j) is rows[p * ld + j], read where it is. Else NULL. */
    const float *rows;
    /* When it lies by columns: element (p, j) is columns[j * ld + p]. Else NULL. */
    const float *columns;
    size_t ld;
    /*
     * When it lies otherwise. Writes B[p0 .. p0+kc, j0 .. j0+nc] to a strip of u->nr columns:
     * element (p0 + p, j0 + j) goes to strip[p * u->nr + j]. Columns nc .. u->nr of the strip
     * become 0. Called from several threads at once.
     */
    void (*pack)(const struct packed_b *, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                 float *strip);
    const void *source;         /* for pack */
} packed_b;

/* What becomes of a tile of the product AB. */
typedef struct packed_epilogue {
    float alpha;
    bool overwrite;             /* C = alpha AB, and C is never read; else C += alpha AB */
    /*
     * With shift not NULL, row i of the complete C becomes f(scale[i] * C + shift[i]), where scale
     * NULL is 1 and f(x) is x > 0 ? x : slope * x, before it is ever written.
     */
    const float *scale, *shift;
    float slope;
    /*
     * NULL, or called once for each tile of C, with rows i0 .. i0+rows and columns j0 .. j0+cols,
     * when it is complete and still in L1; c is its first element. From several threads at once.
     */
    void (*finish)(const struct packed_epilogue *, int i0, int rows, int j0, int cols, float *c,
                   size_t ldc);
    const void *data;           /* for finish: scale and shift of each row, an activation, ... */
} packed_epilogue;

typedef struct packed_job {
    int M, N, K;                /* at least 1 */
    const float *A;             /* element (i, p) is A[i * a_row + p * a_step] */
    size_t a_row, a_step;       /* one of them is 1 */
    packed_b B;
    float *C;
    size_t ldc;
    packed_epilogue epilogue;
} packed_job;

/* Runs the job on up to `threads` threads. 0, or -1 with C untouched when there is no memory. */
int packed_run(const packed_job *, const gemm_ukernel *, int threads);

/* The same on the calling thread alone; scratch as in gemm_parallel. */
void packed_run_here(const packed_job *, const gemm_ukernel *, void *scratch);

/* The row `packed`; params is not used. */
gemm_row_run gemm_packed;

/* Its convolution, without im2col: convolution.c. */
gemm_row_conv gemm_packed_conv;

#endif
