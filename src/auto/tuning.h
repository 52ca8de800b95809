/* SPDX-License-Identifier: MIT */
/* The tuning table: the fastest row for each shape. tuning_file.h keeps it in a file. */
#ifndef GEMM_TUNING_H
#define GEMM_TUNING_H

#include "op/shape.h"

#include <stdatomic.h>

enum { GEMM_TIMES_TEXT = 160 };
enum { GEMM_TUNING_SHAPES = 3072 };     /* so many shapes fit a table */

typedef struct gemm_tuned {
    gemm_shape shape;
    const gemm_variant *_Atomic row;
    bool own;                   /* measured by this process: goes to the file */
    bool left;                  /* not measured, because the time for tuning is over */
    char times[GEMM_TIMES_TEXT];        /* what the rows took, for people */
} gemm_tuned;

/* Any number of threads may look up while one adds. */
typedef struct gemm_tuning gemm_tuning;

/* NULL without memory. */
gemm_tuning *gemm_tuning_make(void);
void gemm_tuning_free(gemm_tuning *);

/* The entry of a shape, or NULL. */
const gemm_tuned *gemm_tuning_find(const gemm_tuning *, const gemm_shape *);

/* Adds an entry, or changes the row of the shape. `own` says that this process measured it. Returns
   the entry, or NULL when there is no room. */
const gemm_tuned *gemm_tuning_put(gemm_tuning *, const gemm_shape *, const gemm_variant *row,
                                  const char *times, bool own);

/* Adds an entry that is left, for this process. NULL when there is no room. */
const gemm_tuned *gemm_tuning_leave(gemm_tuning *, const gemm_shape *, const gemm_variant *row);

/* Whether there is no room for one more shape. */
bool gemm_tuning_is_full(const gemm_tuning *);

/* All entries, in no order. Returns how many. */
int gemm_tuning_list(const gemm_tuning *, const gemm_tuned *list[GEMM_TUNING_SHAPES]);

/* Whether a row of the table works on a device. */
bool gemm_tuning_uses_device(const gemm_tuning *);

/* Whether `auto` may take the row at all, when operands may have so few bits: 32, 16 or 8. */
bool gemm_tuning_may_take(const gemm_variant *, int bits);

/* NULL when `auto` may take the row here, else why not. */
const char *gemm_tuning_unfit(const gemm_variant *, int bits);

#endif
