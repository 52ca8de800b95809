/*
 * What one call does on the device, whatever it computes: kernels, their events, and the end. For
 * the OpenCL files only; called with gemm_cl_lock held.
 */
#ifndef GEMM_CL_LAUNCH_H
#define GEMM_CL_LAUNCH_H

#include "cl/memory.h"
#include "util/ints.h"

enum { STAGE_PREPARE, STAGE_MULTIPLY, STAGE_SUM };

typedef struct gemm_cl_work {
    const gemm_cl_device *device;
    const gemm_cl_policy *policy;
    const gemm_cl_row *row;
    const gemm_cl_program *program;
    int parts;                      /* of K */
    gemm_cl_view A, B, C;
    size_t group[2];
    struct { cl_event event; int stage; } *timed;
    int timed_count, timed_room;
} gemm_cl_work;

typedef struct gemm_cl_argument {
    size_t bytes;
    const void *value;
} gemm_cl_argument;

#define ARG(x) {sizeof(x), &(x)}

/* Takes the memory policy, and `parts` unless it is 0 or the row cannot cut K. When there is a `why
   not`, says so instead and returns -1. */
int gemm_cl_begin_work(gemm_cl_work *, const char *why_not, int parts);

/* Enqueues a kernel of three dimensions behind the uploads of A and B; local may be NULL. */
int gemm_cl_launch(gemm_cl_work *, const gemm_cl_program *, int stage, const gemm_cl_argument *,
                   const size_t *global, const size_t *local);

/* Cuts global items into groups: the row's own, or what suits device and shape; rounds up. */
void gemm_cl_set_groups(gemm_cl_work *, size_t *global, size_t *local);

/* The options that a row's own numbers make; returns their length. */
int gemm_cl_row_options(const gemm_cl_row *, char *options, size_t bytes);

/* Whether the device and the program can run the row, or why not. */
const char *gemm_cl_row_refused(const gemm_cl_work *);

/* Device time of the stages from `first` to `last`, once all is done. */
double gemm_cl_stages_ms(const gemm_cl_work *, int first, int last);

/* Kernel, tile, group and parts; and the note of the call, with them where the row chose. */
void gemm_cl_describe_work(const gemm_cl_work *, char *text, size_t bytes);
void gemm_cl_fill_note(const gemm_cl_work *, bool chosen, gemm_note *);

/* Ends a call in whatever state it is: the matrices are the CPU's again, nothing is in flight. */
void gemm_cl_end_work(gemm_cl_work *, bool failed);

#endif
