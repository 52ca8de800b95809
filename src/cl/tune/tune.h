/* SPDX-License-Identifier: MIT */
/*
 * `cl` tuned on the device: which form an op gets, and how its forms are measured.
 *
 * The candidates are the choice of choice.c, the forms of gemm_cl_forms, and those of
 * gemm_cl_forms_near for the fastest one. The fastest ones race, and tune/turns.h decides. The
 * program of each was tried before (cl/trial/trial.h), and is left out where that was wrong.
 *
 * Operands stay on the device, so a time has the launches and no copies of a layer's input. The
 * layers of a network are measured in their order, and each builds its programs then. So programs
 * are built in the order of a detection, which matters on some devices. A shape is measured once.
 * Where the time for tuning ends meanwhile (util/budget.h), the shape is left.
 *
 * For the OpenCL files only.
 */
#ifndef GEMM_CL_TUNE_H
#define GEMM_CL_TUNE_H

#include "cl/form.h"

/* What the table has for the op under this row, which may be the default. NULL: nothing, or forms
   are not used. It lasts until the table is forgotten. With gemm_cl_lock held, while the device is
   open. */
const gemm_cl_form *gemm_cl_form_for(const gemm_op *, const gemm_cl_row *,
                                     const gemm_context *);

/* Measures the op, where it shall be measured and there is time, and puts its form into the table.
   The variant runs it, and its parameters are the row. Without that lock. A matrix C is then as
   before, and an output is undefined. */
void gemm_cl_measure(const gemm_op *, const gemm_variant *, const gemm_context *);

/* Gives the default to an op that shall be measured. chained: for good, because it must have the
   bits of a chain. Else for this process, where the time for tuning is over. As
   gemm_cl_form_for. */
void gemm_cl_keep_default(const gemm_op *, const gemm_cl_row *, const gemm_context *,
                          bool chained);

#endif
