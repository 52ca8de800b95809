/* SPDX-License-Identifier: MIT */
/*
 * The tuning table: what is fastest for each shape, as it was measured on this machine. `auto`
 * chooses variants, and `cl` chooses forms. Both are lines of the one table of a process, and of
 * its file.
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

enum { GEMM_TIMES_TEXT = 512, GEMM_CHOICE_TEXT = GEMM_CL_FORM_TEXT };
enum { GEMM_TUNING_SHAPES = 6144 };     /* so many fit a table */

/* Who chooses. With fewer bits `auto` has lines of its own. */
typedef enum gemm_chooser {
    GEMM_BY_AUTO,
    GEMM_BY_AUTO16,
    GEMM_BY_AUTO8,
    GEMM_BY_CL,
    GEMM_CHOOSERS
} gemm_chooser;

/* A variant, and how it computes the op. */
typedef struct gemm_choice {
    const gemm_variant *row;    /* not in the lines of `cl` */
    gemm_cl_form form;          /* its parts are 0 where `auto` chooses the row alone */
} gemm_choice;

typedef struct gemm_tuned {
    gemm_shape shape;
    gemm_chooser by;
    gemm_choice choice;
    bool own;                   /* measured by this process: goes to the file */
    bool left;                  /* not measured, because the time for tuning is over */
    bool settled;               /* of `cl`: whole passes have been compared */
    char times[GEMM_TIMES_TEXT];        /* what the choices took, for people */
} gemm_tuned;

/* Whether `auto` may take the row at all, when operands may have so few bits. */
bool gemm_may_take(const gemm_variant *, int bits);

/* Before all below. `folder` NULL: there is no file. isa: the micro-kernels of `packed`. The texts
   and the rows last as long as the program. */
void gemm_tuning_configure(const char *folder, const char *isa, const gemm_variant *rows,
                           size_t count);

/* Reads the file at the first call, and at the first one with a device compares that: as
   gemm_cl_identify says it, or "none". NULL: it is not known yet. Then a line says why a file that
   is there is not used. False where none is used. Only then other threads may look up. */
bool gemm_tuning_open(const char *device);

/* Whether nothing is left to read or to compare: one load. */
bool gemm_tuning_is_open(void);

/* Empties the table in memory. `anew`: the file is not read again, but replaced. Only while no
   other thread looks up. */
void gemm_tuning_forget(bool anew);

/* The same, and a line says why the file is not used. */
void gemm_tuning_refuse(const char *reason);

/* The entry of a shape, or NULL. It lasts until the table is emptied. Any number of threads may
   look up while others add. */
gemm_tuned *gemm_tuning_find(gemm_chooser, const gemm_shape *);

/* Adds an entry that this process measured. It changes one only while no other thread looks up.
   NULL when there is no room. */
gemm_tuned *gemm_tuning_put(gemm_chooser, const gemm_shape *, const gemm_choice *,
                            const char *times);

/* Adds an entry that is left, for this process. */
gemm_tuned *gemm_tuning_leave(gemm_chooser, const gemm_shape *, const gemm_choice *);

/* Whether there is no room for one more shape. */
bool gemm_tuning_is_full(void);

/* The entries of a chooser, in no order: one a call, then NULL. *at is 0 at first. */
gemm_tuned *gemm_tuning_next(gemm_chooser, int *at);

/* Adds what this process measured to the file, in one step. The device is known. A file that cannot
   be used, or is of another device, is replaced. Two processes lose nothing of each other. The
   first failure is said. */
void gemm_tuning_keep(void);

/* False where the file could not be written. */
bool gemm_tuning_is_kept(void);

/* What a choice is called in the table. */
void gemm_choice_print(const gemm_choice *, char text[GEMM_CHOICE_TEXT]);

#endif
