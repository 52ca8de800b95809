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

enum { GEMM_CL_FORMS = 40, GEMM_CL_FORM_TEXT = 64, GEMM_CL_MOST_PARTS = 64 };

/* Whether the row computes whole convolutions, or multiplies. */
bool gemm_cl_is_of_kind(const gemm_cl_row *, bool conv);

/* Such as "cl_direct 8x4 64x1 image group 32 parts 2", or "default". */
void gemm_cl_form_print(const gemm_cl_form *, char text[GEMM_CL_FORM_TEXT]);

/* The form of such a text of so many bytes, for convolutions or for multiplies. False: it is
   none. */
bool gemm_cl_form_parse(const char *text, size_t length, bool conv, gemm_cl_form *);

/*
 * The fastest of `count` forms by their shortest turns in ms; below 0: it was not right, or had no
 * turn. The first one is the usual choice. It keeps its place unless another one is faster by more
 * than a hundredth, and by more than `spread`: by which part the usual one's own turns differ.
 */
int gemm_cl_form_decide(const double *ms, int count, double spread);

/*
 * Whether the form that won so stays. It took turns with the usual one again, A B B A in a round,
 * because the shortest of many turns may be chance. parts[i] is its time in round i as a part of
 * the usual one's; below 0: a turn failed. In all rounds but one it must be faster by more than a
 * hundredth. Sorts them.
 */
bool gemm_cl_form_confirm(double *parts, int count);

#endif
