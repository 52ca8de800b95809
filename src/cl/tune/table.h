/* SPDX-License-Identifier: MIT */
/*
 * The forms in the tuning table (tune/table.h): the fastest form of each shape on the device. A
 * shape has 0 threads, because those of the CPU do not matter.
 *
 * For the OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_TABLE_H
#define GEMM_CL_TABLE_H

#include "tune/table.h"

/* The entry of a shape, or NULL. The first call reads the file; a line says why one that is there
   is not used. An entry lives until the table is forgotten. */
const gemm_tuned *gemm_cl_table_find(const gemm_shape *);

/* Adds an entry that this process measured, and writes the file. NULL: no memory, or the table is
   full. */
const gemm_tuned *gemm_cl_table_put(const gemm_shape *, const gemm_cl_form *, const char *times);

/* Gives the default to a shape in memory alone, because it was not measured. False: no memory, or
   the table is full. */
bool gemm_cl_table_leave(const gemm_shape *);

/* Empties the table in memory. `anew`: the file is not read again, but replaced. */
void gemm_cl_table_forget(bool anew);

/* Ends a network. kept: its forms stay, else the shapes that were measured for it get the default.
   Returns how many forms of it are not the default. Writes the file where that changes. */
int gemm_cl_table_settle(bool kept);

/* False where the file could not be written. */
bool gemm_cl_table_is_kept(void);

#endif
