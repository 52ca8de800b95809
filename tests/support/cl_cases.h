/* SPDX-License-Identifier: MIT */
/* Multiplies and convolutions for tests of the OpenCL rows: drawn, run and judged. */
#ifndef CL_CASES_H
#define CL_CASES_H

#include "check/reference.h"
#include "common/random.h"
#include "gemm_cl.h"
#include "support/conv_shape.h"
#include "support/product.h"

#include <stdatomic.h>

/* A multiply or a convolution. Its arrays lie beside guard pages. With `shared` A, B and C, or
   input, weights and output, are copied to memory of gemm_host_alloc, and computed with there. */
typedef struct cl_case {
    bool convolves, shared;
    gemm_call g;
    conv_call c;
    product of;                 /* the arrays of the multiply, or of the convolution */
    conv_call own;
    float *at[3];               /* where the call has these three */
} cl_case;

/* How it runs. */
typedef struct cl_how {
    const gemm_cl_row *row;
    char policy;                /* of memory: u or d; 0: what the device needs */
    int parts;                  /* of K; 0: the row's own choice */
    bool hybrid;                /* row hybrid in place of the row, */
    double share;               /* with this share for the device */
    gemm_kept *kept;            /* of a convolution, or NULL. cl_direct has its own then */
} cl_how;

/* What the last call of this thread noted. */
extern _Thread_local gemm_note cl_note;

/* The seed of the program, and the random numbers of one of its cases. */
extern int cl_seed;
rng cl_rng(int number);

const char *cl_policy_name(char policy);

/* cl_image as on a discrete GPU. */
gemm_cl_row cl_ahead_row(void);

/* Whether a convolution of the row packs its weights for a plan. */
bool cl_needs_plan(const gemm_cl_row *);

/* The n-th of all rows that convolve, or NULL; its name. */
const gemm_cl_row *cl_conv_row(size_t n, char *title, size_t bytes);

/* Random operands, with `pad` floats between rows. cl_case_free frees the arrays. */
cl_case cl_multiply(rng *, int TA, int TB, int M, int N, int K, int pad, bool shared);
cl_case cl_convolution(rng *, const conv_call *geometry, bool shared);
void cl_case_free(cl_case *);

/* The geometry of a shape. */
conv_call cl_geometry(const conv_shape *, bool pool);

/* Case `number`, with the parts of K for the row. `small`: few channels, small sides. */
cl_case cl_draw_multiply(rng *, cl_how *, int number, bool small);
cl_case cl_draw_convolution(rng *, cl_how *, int number, bool small);

/* Its geometry alone. */
conv_call cl_draw_geometry(rng *, const gemm_cl_row *, int number, bool small);

/* One call. What hybrid declines of a multiply, row stock computes, as in the driver. An output
   that stayed on the device is the CPU's again. */
gemm_status cl_call(const gemm_call *, const cl_how *);
gemm_status cl_convolve(const conv_call *, const cl_how *);

/* The call of a case under its policy, compared with a sum in double precision. */
gemm_status cl_run(const cl_case *, const cl_how *, gemm_error *worst);

/* The same: NULL, or what is wrong. */
const char *cl_judge(const cl_case *, const cl_how *);

/* What the layer of tests/support/layer_fail.c counts from now on: waits, launches, and those of
   cl_fill. Before the first call of OpenCL. */
const atomic_int *cl_open_counts(void);

/* What cl_judge returns for a convolution whose kernel spills registers. A GPU's compiler may do so
   in one case of a row, and the user is told. No CPU says it. */
extern const char cl_spills[];

#endif
