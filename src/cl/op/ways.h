/* SPDX-License-Identifier: MIT */
/*
 * The ways of `cl`: what it can do for an op, in the order in which it is tried. ways.c has their
 * table. A way offers rows, each with what speaks against it. gemm_cl_walk takes the first one that
 * is built and can run.
 *
 * For the OpenCL files only. Listing needs no device; walking is for who holds gemm_cl_lock.
 */
#ifndef GEMM_CL_WAYS_H
#define GEMM_CL_WAYS_H

#include "cl/form.h"
#include "cl/op/kept.h"

/* A multiply, or a convolution: all that its ways depend on. */
typedef struct gemm_cl_op {
    gemm_cl_traits traits;      /* of the device. Groups are as small as those of a kernel that was
                                   built and not taken */
    const gemm_cl_row *asked;   /* the row of the call */
    const char *way;            /* that GEMM_WAY or this row names, or NULL */
    const gemm_cl_form *form;   /* that was measured for the op; NULL: none */
    gemm_call g;                /* the multiply, or one product of the convolution */
    const conv_call *conv;      /* NULL: a multiply */
    const conv_call *in;        /* whose input is read: conv, or the depthwise layer before it in
                                   the same launch */
    int products;               /* of the convolution */
    bool taps;                  /* B is not the input as it lies */
    bool adds;                  /* with the shortcut behind the convolution */
    bool exact;                 /* no algorithm with fewer multiplications and larger errors */
    const gemm_kept *plan;      /* that can keep the weights, or NULL */
} gemm_cl_op;

/* When a row runs whose kernel spills registers. */
typedef enum gemm_cl_spill_use {
    GEMM_CL_NEVER_SPILLED,
    GEMM_CL_SPILLED_AT_LAST,    /* where all offers spill them */
    GEMM_CL_SPILLED             /* its time was measured */
} gemm_cl_spill_use;

typedef struct gemm_cl_offer {
    const char *way;
    const gemm_cl_row *row;     /* NULL: the way has none for this op */
    int parts;                  /* of K */
    double cost;                /* its time over that of the tiles, by a model; 0: a rule decides */
    const char *refused;        /* why it cannot run, or is not for this op; NULL: it is tried */
    gemm_cl_spill_use spills;
    bool is_smaller;            /* stands in for the offer before it, where that spills registers */
} gemm_cl_offer;

enum { GEMM_CL_OFFERS = 16 };

typedef struct gemm_cl_offers {
    const gemm_cl_op *op;
    const char *why;            /* what was wrong about the last one that was tried */
    int count;
    gemm_cl_offer list[GEMM_CL_OFFERS];
} gemm_cl_offers;

/* The convolution under this row, without a plan. */
gemm_cl_op gemm_cl_conv_op(const gemm_cl_traits *, const conv_call *, const gemm_cl_row *asked);

/* All offers for the op, those that are refused too. */
void gemm_cl_list(const gemm_cl_op *, gemm_cl_offers *);

/* The sizes of the convolution under a row. NULL, or why the row cannot compute it. */
const char *gemm_cl_lay_out(const gemm_cl_op *, const gemm_cl_row *, gemm_cl_sizes *);

/* Builds all programs of a call for w->row. NULL, or why the device cannot run it. */
typedef const char *gemm_cl_attempt(void *job);

/*
 * Lists the offers, and tries them in turn until one is built, which the work then has: row, parts
 * and form. Where none is, those that spill registers are tried once more. A built kernel with too
 * small groups changes op->traits, and then all is listed again.
 *
 * NULL, or why there is none. A row that the user named makes the call fail when it ends, if it
 * spills registers or is left out for good. w->row is NULL where nothing was tried. `weighed` gets
 * what spoke against other ways, for the trace.
 */
const char *gemm_cl_walk(gemm_cl_work *, gemm_cl_op *, gemm_cl_attempt *, void *job, char *weighed,
                         size_t bytes);

/*
 * The forms in single precision that may be the fastest one of the op, one for each kernel and
 * tile. Few, because a compiler takes a second for each. Returns how many. Whether the device can
 * run them, only a run of it tells.
 *
 *   a CPU       rows of one item with the device's vector, of a height that suits the op, and
 *               cl_direct with its weights in a buffer
 *   a GPU       rows of more than one item, whose tile suits the op and fits in local memory. On an
 *               Adreno too, because some of them are fast at local memory. Those of cl_image only
 *               where memory is shared
 */
int gemm_cl_forms(const gemm_cl_traits *, const gemm_op *, gemm_cl_form[GEMM_CL_FORMS]);

/* Forms of the same program in other groups, and with other parts of K. Returns how many. */
int gemm_cl_forms_near(const gemm_op *, const gemm_cl_form *,
                       gemm_cl_form[GEMM_CL_FORMS]);

#endif
