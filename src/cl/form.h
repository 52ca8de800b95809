/* SPDX-License-Identifier: MIT */
/*
 * A form: how `cl` computes an op, as it was measured on the device (cl/tune/tune.h). It replaces
 * what cl/op/ways.c takes where nothing was measured.
 *
 * Needs no OpenCL header.
 */
#ifndef GEMM_CL_FORM_H
#define GEMM_CL_FORM_H

#include "cl/choice.h"

typedef struct gemm_cl_form {
    const gemm_cl_row *row;     /* NULL: the usual choice */
    int parts;                  /* of K; at least 1 */
    int group;                  /* the most items along x, of a row with any_group; 0: its own */
} gemm_cl_form;

/* A form that a call shall run, so that it is measured, and what ran. */
typedef struct gemm_cl_probe {
    gemm_cl_form form, ran;
    bool measured;              /* it ran as a form that was measured, not as the usual choice */
} gemm_cl_probe;

enum { GEMM_CL_FORMS = 40, GEMM_CL_FORM_TEXT = 64, GEMM_CL_MOST_PARTS = 64 };

/* Whether the row computes whole convolutions, or multiplies. */
bool gemm_cl_is_of_kind(const gemm_cl_row *, bool conv);

/* Such as "cl_direct 8x4 64x1 image group 32 parts 2", or "default". */
void gemm_cl_form_print(const gemm_cl_form *, char text[GEMM_CL_FORM_TEXT]);

/* The form of such a text of so many bytes, for convolutions or for multiplies. False: it is
   none. */
bool gemm_cl_form_parse(const char *text, size_t length, bool conv, gemm_cl_form *);

#endif
