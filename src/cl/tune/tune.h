/* SPDX-License-Identifier: MIT */
/*
 * `cl` tuned on the device: which form an op gets, and how its forms are measured.
 *
 *   1. The choice of choice.c runs. Its result is what every other form is compared with.
 *   2. Every candidate of gemm_cl_forms runs once, and has one turn where its result is right. Its
 *      program was tried before (cl/trial/trial.h), and is left out where that was wrong.
 *   3. So do those of gemm_cl_forms_near, for the fastest one.
 *   4. The fastest ones and the choice of choice.c take turns. gemm_decide decides.
 *   5. Where another form won, both take turns again, A B B A. gemm_confirm decides.
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

/* Whether the op shall be measured, and there is time: with that lock, while the device is open. */
bool gemm_cl_wants_form(const gemm_op *, const gemm_cl_row *, const gemm_context *);

/* Measures the op and puts its form into the table. Without that lock. A matrix C is then as
   before, and an output is undefined. */
void gemm_cl_measure(const gemm_op *, const gemm_cl_row *, const gemm_context *);

/* Gives the default to an op for the rest of this process, where the time for tuning is over before
   it was measured. As gemm_cl_form_for. */
void gemm_cl_leave_form(const gemm_op *, const gemm_cl_row *, const gemm_context *);

/* Gives the default to an op that shall be measured and must not change, because it has the bits of
   a chain. As gemm_cl_form_for. */
void gemm_cl_keep_default(const gemm_op *, const gemm_cl_row *, const gemm_context *);

#endif
