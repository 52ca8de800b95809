/* SPDX-License-Identifier: MIT */
/*
 * The row `auto`: the row of the tuning table for each shape, else `packed`.
 */
#ifndef GEMM_AUTO_H
#define GEMM_AUTO_H

#include "tune/table.h"

gemm_row_multiply gemm_auto_multiply;
gemm_row_run gemm_auto_run;

/* Where the table comes from. */
typedef enum gemm_auto_mode {
    GEMM_AUTO_READ,             /* the file; nothing is measured */
    GEMM_AUTO_TUNE,             /* the file; every shape that it lacks is measured at first sight */
    GEMM_AUTO_ANEW              /* every shape is measured at first sight, whatever the file has */
} gemm_auto_mode;

/* Before any other call here. `count` rows, which live as long as the program. bits: of the
   operands, at least: 32, 16 or 8. Each number of bits has lines of its own in the table. */
void gemm_auto_configure(const gemm_variant *rows, size_t count, int bits, gemm_auto_mode);

/* Whether Darknet's buffers should be memory that the device shares: a row on the device may run.
   The first call reads the table. */
bool gemm_auto_uses_device(void);

/* Forgets the table in memory. Only while no other thread runs a call. */
void gemm_auto_set_mode(gemm_auto_mode);

/* Stops or resumes the measuring. Only while no other thread runs a call, and not with
   GEMM_AUTO_READ. */
void gemm_auto_measure(bool);

/* NULL when `auto` may take the row here, else why not. */
const char *gemm_auto_unfit(const gemm_variant *);

/*
 * From now on all calls run on this row, and the table gets the row for each of their shapes. A
 * shape whose kind the row does not offer gets `packed`. NULL ends this and writes the file. Only
 * while no other thread runs a call, and not with GEMM_AUTO_READ.
 */
void gemm_auto_record(const gemm_variant *);

#endif
