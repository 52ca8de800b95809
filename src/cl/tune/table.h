/* SPDX-License-Identifier: MIT */
/*
 * The table of forms: the fastest form of each shape on the device, in memory and in a file.
 *
 * GEMM_CACHE_DIR/tuning-cl.txt is text, one line a shape, and may be edited:
 *
 *   darknet-gemm cl tuning 1
 *   version 1.0.0
 *   device Adreno (TM) 640, driver OpenCL 2.0 QUALCOMM build ...
 *   convolution batch 1 ... threads 0 = cl_direct 8x4 64x1 group 32 (default 4.112 ms, ...)
 *   end 1
 *
 * A shape is that of the tuning table of `auto` (op/shape.h) with 0 threads, because those of the
 * CPU do not matter. A file that differs from this form anywhere is damaged. One that is damaged,
 * or of another version, device or driver, is not used at all.
 *
 * For the OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_TABLE_H
#define GEMM_CL_TABLE_H

#include "cl/form.h"
#include "op/shape.h"

enum { GEMM_CL_TIMES_TEXT = 512 };

typedef struct gemm_cl_tuned {
    struct gemm_cl_tuned *next;
    gemm_shape shape;
    gemm_cl_form form;
    bool own;                   /* measured by this process: goes to the file */
    bool settled;               /* by an earlier call of gemm_cl_table_settle */
    char times[GEMM_CL_TIMES_TEXT];     /* what the forms took, for people */
} gemm_cl_tuned;

/* The entry of a shape, or NULL. The first call reads the file; a line says why one that is there
   is not used. An entry lives until the table is forgotten. */
const gemm_cl_tuned *gemm_cl_table_find(const gemm_shape *);

/* Adds an entry that this process measured, and writes the file. NULL: no memory, or the table is
   full. */
const gemm_cl_tuned *gemm_cl_table_put(const gemm_shape *, const gemm_cl_form *,
                                       const char *times);

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
