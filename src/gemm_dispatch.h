/*
 * The contract between Darknet, the table of variants and the variants.
 *
 *   Darknet's layer -> gemm_cpu (patched) -> gemm_dispatch -> one row -> run -> C
 *
 * All matrices are single precision and row-major; a leading dimension (lda, ldb, ldc) is the
 * distance between two rows in elements and may be larger than the row is long. Pointers are
 * aligned to 4 bytes, no more. Nothing may be read or written outside the matrices.
 *
 * Every function here may be called from several threads at once.
 */
#ifndef GEMM_DISPATCH_H
#define GEMM_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* C(MxN) += ALPHA * op(A)(MxK) * op(B)(KxN); op transposes where TA or TB is not 0. */
typedef struct gemm_call {
    int TA, TB, M, N, K;
    float ALPHA;
    const float *A; int lda;    /* M x K, or K x M when TA */
    const float *B; int ldb;    /* K x N, or N x K when TB */
    float *C; int ldc;          /* M x N */
} gemm_call;

/* What becomes of scale * sum + shift; any other function is Darknet's own, after a linear call. */
typedef enum conv_activation {
    CONV_LINEAR,
    CONV_LEAKY,                 /* x > 0 ? x : .1 x */
    CONV_RELU,
    CONV_LOGISTIC,
} conv_activation;

/*
 * A whole convolution: output = activation(scale * (weights applied to input) + shift). Channels
 * and filters are cut into `groups` equal parts that know nothing of each other. The output is
 * written without being read. Every dimension is at least 1; the output has the size that
 * Darknet gives it, (h + 2 pad - size) / stride + 1.
 */
typedef struct conv_call {
    int batch, groups;
    int c, h, w;                /* an image of the input */
    int n, size, stride, pad;   /* n filters of c / groups x size x size */
    int out_h, out_w;
    const float *input;         /* batch x c x h x w */
    const float *weights;       /* n x c / groups x size x size */
    const float *scale;         /* n, or NULL for 1 */
    const float *shift;         /* n */
    conv_activation activation;
    float *output;              /* batch x n x out_h x out_w */
} conv_call;

typedef struct gemm_variant {
    const char *name;           /* the value of GEMM_IMPL */
    /* 0: done; else declined with C untouched. M, N and K are at least 1. Only ever adds to C. */
    int (*run)(const gemm_call *, const void *params);
    /* NULL, or the whole convolution. 0: done; else declined with the output untouched. */
    int (*conv)(const conv_call *, const void *params);
    const void *params;         /* tile sizes, unrolling, kernel file: data, not code */
    const char *(*unusable)(const void *params);    /* NULL, or why the row cannot run here */
    const char *origin;         /* the article or project it comes from */
    const char *summary;
} gemm_variant;

/* The table. Tests, benchmarks, --list and GEMM_IMPL all walk it. */
extern const gemm_variant gemm_variants[];
extern const size_t gemm_variant_count;

/* The row called `name`, or NULL. */
const gemm_variant *gemm_find(const char *name);

/* NULL when the row can run on this machine, else the reason it cannot. */
const char *gemm_unusable(const gemm_variant *);

/*
 * The environment, read and checked once, at the first call that needs it. A bad value ends the
 * program with a line that names the variable, the value and what is allowed.
 */
typedef struct gemm_settings {
    const gemm_variant *impl;   /* GEMM_IMPL */
    int threads;                /* GEMM_THREADS, else OMP_NUM_THREADS, else the cores allowed */
    const struct gemm_ukernel *isa; /* GEMM_ISA, else the fastest that the processor runs */
    const char *trace;          /* GEMM_TRACE: a file, "-" for stderr, NULL for none */
    bool check;                 /* GEMM_CHECK */
    bool conv;                  /* GEMM_CONV=hook */
} gemm_settings;

const gemm_settings *gemm_get_settings(void);

/* Runs another row, or another number of threads, from the next call on (benchmarks and tests). */
void gemm_set_variant(const gemm_variant *);
void gemm_set_threads(int threads);
void gemm_set_conv(bool hook);

/* C *= BETA, as BLAS means it: 1 does nothing, 0 overwrites C without reading it. */
void gemm_beta(const gemm_call *, float BETA);

/* Runs the call on the chosen row, or on stock when that row declines. Ends the program only when
   GEMM_CHECK finds an error over its bound. */
void gemm_dispatch(const gemm_call *);

/*
 * Runs the call on one row, as gemm_dispatch does: with trace and check, and stock when declined.
 * Returns the row that really ran.
 */
const gemm_variant *gemm_run(const gemm_variant *, const gemm_call *);

/* Whether whole convolutions go to the chosen row: it offers them, and GEMM_CONV allows it. */
bool gemm_conv_offered(void);

/* Batch norm at inference, n of each: y = (x - mean) / (sqrt(variance) + .000001) * scales + bias. */
typedef struct conv_norm {
    const float *mean, *variance, *scales;
} conv_norm;

/*
 * The whole convolution on the chosen row, traced and checked as gemm_dispatch does. With `norm`,
 * scale is made here, and shift holds the biases. False when the row does not offer it or declines,
 * with the output untouched: then Darknet's own code has to run.
 */
bool gemm_conv(const conv_call *, const conv_norm *norm);

/* The same on a row that offers convolutions. Returns whether it did not decline. */
bool gemm_conv_run(const gemm_variant *, const conv_call *);

/* What a run has to say for GEMM_TRACE beside its time. The driver clears it before every run. */
typedef struct gemm_note {
    const char *ran;            /* the row or kernel that worked when the row chose it, else NULL */
    double kernel_ms;           /* device time by events; below 0: no device */
    size_t copied_a, copied_b, copied_c;    /* bytes copied to or from a device */
} gemm_note;

/* The calling thread's note. */
gemm_note *gemm_this_note(void);

/* Darknet's own loops, unchanged: row `stock`. Lives in the patched src/gemm.c of Darknet. */
int gemm_stock(const gemm_call *, const void *params);

/* One row of `gemm-bench --list` per variant, tab-separated: name, usable or "unusable: reason",
   origin, summary. */
void gemm_list(FILE *);

#endif
