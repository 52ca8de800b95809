/* SPDX-License-Identifier: MIT */
/*
 * The tuning table: what is fastest for each shape, as it was measured on this machine. A chooser
 * has one of its own in memory: `auto` chooses variants, and `cl` chooses forms. All share a file.
 *
 * GEMM_CACHE_DIR/tuning.txt is text, one line a shape, and may be edited:
 *
 *   darknet-gemm tuning 2
 *   version 1.0.0
 *   cpu AMD EPYC-Milan Processor
 *   isa avx2
 *   l2 524288
 *   device none
 *   auto multiply TA 0 TB 0 M 16 N 1024 K 27 threads 2 = packed (packed 4.112 ms, stock 61.020 ms)
 *   cl convolution batch 1 ... threads 0 = cl_direct 8x4 64x1 group 32 (default 4.112 ms, ...)
 *   end 2
 *
 * The lines before the first shape say which machine it was measured on. The last line counts the
 * shapes. A file that differs from this form anywhere is damaged. A table that is damaged, or of
 * another machine, is not used at all, and tuning replaces it.
 */
#ifndef GEMM_TABLE_H
#define GEMM_TABLE_H

#include "cl/form.h"
#include "op/shape.h"

#include <stdatomic.h>

enum { GEMM_TIMES_TEXT = 512, GEMM_CHOICE_TEXT = 64 };
enum { GEMM_TUNING_SHAPES = 3072 };     /* so many shapes fit a table in memory */

typedef union gemm_choice {
    const gemm_variant *row;    /* of `auto` */
    gemm_cl_form form;          /* of `cl` */
} gemm_choice;

typedef struct gemm_chooser {
    const char *name;           /* the first word of its lines, one of those in file.c */
    /* The choice of such a text of so many bytes, for a shape of this kind. False: it is none. */
    bool (*read)(const char *text, size_t length, int kind, gemm_choice *);
    void (*print)(const gemm_choice *, char text[GEMM_CHOICE_TEXT]);
} gemm_chooser;

typedef struct gemm_tuned {
    gemm_shape shape;
    gemm_choice choice;
    bool own;                   /* measured by this process: goes to the file */
    bool left;                  /* not measured, because the time for tuning is over */
    bool settled;               /* of `cl`: whole passes have been compared */
    char times[GEMM_TIMES_TEXT];        /* what the choices took, for people */
} gemm_tuned;

enum { GEMM_TUNING_SLOTS = 4096 };      /* a power of 2 */

/* Any number of threads may look up while one adds. For table.c and file.c alone. */
typedef struct gemm_tuning {
    gemm_tuned *_Atomic slots[GEMM_TUNING_SLOTS];
    const gemm_chooser *chooser;
    char *device;               /* that the file names, or NULL */
    int count;                  /* of the writer */
    bool unkept;                /* the file could not be written */
} gemm_tuning;

/* NULL without memory. */
gemm_tuning *gemm_tuning_make(const gemm_chooser *);
void gemm_tuning_free(gemm_tuning *);

/* The entry of a shape, or NULL. It lives as long as the table. */
gemm_tuned *gemm_tuning_find(const gemm_tuning *, const gemm_shape *);

/* Adds an entry. `own` says that this process measured it. Only while no other thread looks up it
   changes one. Returns the entry, or NULL when there is no room. */
gemm_tuned *gemm_tuning_put(gemm_tuning *, const gemm_shape *, const gemm_choice *,
                            const char *times, bool own);

/* Adds an entry that is left, for this process. NULL when there is no room. */
gemm_tuned *gemm_tuning_leave(gemm_tuning *, const gemm_shape *, const gemm_choice *);

/* Whether there is no room for one more shape. */
bool gemm_tuning_is_full(const gemm_tuning *);

/* All entries, in no order. Returns how many. */
int gemm_tuning_list(const gemm_tuning *, gemm_tuned *list[GEMM_TUNING_SHAPES]);

/* ---- the file ---- */

/* Before all below. `folder` NULL: there is no file. isa: the micro-kernels of `packed`. The texts
   last as long as the program. */
void gemm_tuning_configure(const char *folder, const char *isa);

/* Adds what the file has for this chooser. False: nothing is added, and `reason` says why in a
   line, or is "" where there is no file. */
bool gemm_tuning_load(gemm_tuning *, char *reason, size_t bytes);

/* Whether the file that was loaded is of this OpenCL device, as gemm_cl_identify says it. NULL:
   there is none. Else `reason` says which one it is of. */
bool gemm_tuning_is_of(const gemm_tuning *, const char *device, char *reason, size_t bytes);

/* Prints that the table is not used. */
void gemm_tuning_say_unused(const char *reason);

/* Adds what this process measured to the file, in one step. What other choosers have there stays. A
   file that cannot be used, or is of another device, is replaced. Two processes lose nothing of
   each other. The first failure is said. */
void gemm_tuning_keep(gemm_tuning *, const char *device);

/* False where the file could not be written. */
bool gemm_tuning_is_kept(const gemm_tuning *);

#endif
