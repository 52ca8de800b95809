/*
 * The contract between the driver and the rows of the table of variants.
 *
 * A row only ever computes C += ALPHA * op(A) * op(B). The driver settles BETA and empty sizes
 * before it calls the row. Rows know nothing of each other, of Darknet or of the environment: what
 * they need is in the call and in the context.
 */
#ifndef GEMM_VARIANT_H
#define GEMM_VARIANT_H

#include "gemm_dispatch.h"

struct gemm_ukernel;

typedef enum gemm_status {
    GEMM_DONE,
    GEMM_DECLINED,              /* C is untouched: the driver runs stock, the trace says so */
    GEMM_FAILED                 /* C is undefined: the driver ends the program with the reason */
} gemm_status;

/* What a run has to say for GEMM_TRACE beside its time. The driver clears it before every run. */
typedef struct gemm_note {
    char ran[64];               /* the row or kernel that worked when the row chose it, else "" */
    double kernel_ms;           /* device time by events; below 0: no device */
    size_t copied_a, copied_b, copied_c;    /* bytes copied to or from a device */
    char reason[160];           /* of GEMM_FAILED, in a few words */
} gemm_note;

static inline void gemm_clear_note(gemm_note *note)
{
    note->ran[0] = note->reason[0] = '\0';
    note->kernel_ms = -1;
    note->copied_a = note->copied_b = note->copied_c = 0;
}

/* Made by the driver from the settings, for one call. */
typedef struct gemm_context {
    int threads;                /* at least 1 */
    const struct gemm_ukernel *isa;     /* the micro-kernels of `packed` */
    gemm_note *note;            /* never NULL */
} gemm_context;

/* One multiply; M, N and K are at least 1. `params` is that of the row. */
typedef gemm_status gemm_row_run(const gemm_call *, const gemm_context *, const void *params);

/* One whole convolution. Declined: the output is untouched. */
typedef gemm_status gemm_row_conv(const conv_call *, const gemm_context *, const void *params);

typedef struct gemm_variant {
    const char *name;           /* the value of GEMM_IMPL */
    gemm_row_run *run;
    gemm_row_conv *conv;        /* or NULL: Darknet's im2col and `run` */
    const void *params;         /* tile sizes, unrolling, kernel file: data, not code */
    const char *(*unusable)(const void *params);    /* NULL, or why the row cannot run here */
    bool on_device;             /* Darknet's buffers should be memory that the device shares */
    const char *origin;         /* the article or project it comes from */
    const char *summary;
} gemm_variant;

/* The table. Tests, benchmarks, --list and GEMM_IMPL all walk it. */
extern const gemm_variant gemm_variants[];
extern const size_t gemm_variant_count;

/* The row called `name`, or NULL. */
const gemm_variant *gemm_find(const char *name);

/* The row `stock`, which runs whatever another row declines. */
const gemm_variant *gemm_stock_row(void);

#endif
