/* SPDX-License-Identifier: MIT */
/*
 * Matrices that catch stray accesses. A matrix lies directly before (or behind) a guard page: any
 * access to that page ends the program. The padding between its rows holds NaN of a known pattern.
 */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "common/random.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct guarded {
    void *map;
    size_t map_bytes;
    float *data;
    int rows, columns, ld;
} guarded;

/*
 * AT_END: the matrix ends at a guard page. AT_START: it starts at one. UNGUARDED: a megabyte before
 * and behind it may be touched. This is for libraries of other people that read behind a matrix.
 * With GUARD_PAGES=readable in the environment, only writes into guard pages end the program.
 */
typedef enum guarded_place {
    AT_END,
    AT_START,
    UNGUARDED
} guarded_place;

/* `offset` bytes (a multiple of 4) are left between the matrix and the guard page. Without memory
   the program ends. Free it with guarded_free. */
guarded guarded_make(int rows, int columns, int ld, guarded_place, int offset);
void guarded_free(guarded *);
void guarded_fill(guarded *, rng *);    /* random elements, NaN in the padding */
void guarded_fill_nan(guarded *);       /* all of it */
bool guarded_padding_intact(const guarded *);

#endif
