/* SPDX-License-Identifier: MIT */
/* A form while it is measured: it is run, timed, and compared with the default. tune.c decides. */
#ifndef GEMM_CL_CANDIDATE_H
#define GEMM_CL_CANDIDATE_H

#include "cl/form.h"

typedef struct gemm_cl_candidate {
    gemm_cl_form form;
    gemm_cl_form ran;           /* of the default: what it was */
    gemm_kept kept;             /* as in the plan of the layer. gemm_drop_kept follows */
    int calls;                  /* in a turn */
    double ms;                  /* the shortest turn, for one call; below 0: it is not right */
} gemm_cl_candidate;

/* An op while it is measured. Whoever made it frees `before`, `wanted`, `shift` and what the
   spoiler keeps. */
typedef struct gemm_cl_tuner {
    const gemm_op *op;
    const gemm_cl_row *row;
    gemm_context context;       /* of all calls */
    gemm_note note;
    size_t count;               /* of elements of C, or of the output */
    float *before, *wanted;     /* C before a call; what the default gives */
    gemm_op spoiled;   /* the op with another result */
    gemm_call spoiled_multiply;
    conv_call spoiled_conv;
    float *shift;               /* of that */
    gemm_cl_candidate spoiler;  /* the default, for that */
} gemm_cl_tuner;

/* A candidate that has not run. */
gemm_cl_candidate gemm_cl_begin_candidate(const gemm_cl_tuner *, const gemm_cl_form *);

/* Whether the candidate runs and gives what the default gives. The default sets that. */
bool gemm_cl_is_right(gemm_cl_tuner *, gemm_cl_candidate *);

/* Milliseconds of one call, or -1. */
double gemm_cl_take_turn(gemm_cl_tuner *, gemm_cl_candidate *);

#endif
