/* SPDX-License-Identifier: MIT */
/*
 * The tuning table in a file.
 *
 * GEMM_CACHE_DIR/tuning.txt is text, one line a shape, and may be edited:
 *
 *   darknet-gemm tuning 1
 *   version 1.0.0
 *   cpu AMD EPYC-Milan Processor
 *   isa avx2
 *   l2 524288
 *   device none
 *   multiply TA 0 TB 0 M 16 N 173056 K 27 threads 2 = packed (packed 4.112 ms, stock 61.020 ms)
 *   end 1
 *
 * The lines before the first shape say which machine it was measured on. The last line counts the
 * shapes. A file that differs from this form anywhere is damaged. A table that is damaged, or of
 * another machine, is not used at all. The tables for operands of 16 and 8 bits are
 * tuning-16.txt and tuning-8.txt.
 */
#ifndef GEMM_TUNING_FILE_H
#define GEMM_TUNING_FILE_H

#include "auto/tuning.h"

/* Where the file is, and what it must say. */
typedef struct gemm_tuning_file {
    const char *folder;         /* or NULL: there is no file */
    const char *isa;            /* the micro-kernels of `packed` */
    const gemm_variant *rows;   /* those of gemm_tuning_may_take may stand in it */
    size_t row_count;
    int bits;                   /* of the operands, at least: 32, 16 or 8 */
} gemm_tuning_file;

/*
 * Adds what the file has. Returns false when there is none that can be used. `reason` is then a
 * line that says why, or "" when there is no file. The device is opened only when the file names a
 * row that needs it, or `device` says so.
 */
bool gemm_tuning_load(gemm_tuning *, const gemm_tuning_file *, bool device, char *reason,
                      size_t bytes);

/* Adds what this process measured to the file, in one step. A file that cannot be used is replaced.
   Two processes lose nothing of each other. Returns false with the reason. */
bool gemm_tuning_save(const gemm_tuning *, const gemm_tuning_file *, char *reason, size_t bytes);

#endif
