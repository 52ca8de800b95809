/* SPDX-License-Identifier: MIT */
/*
 * What all trials do: read the options of a program, make operands, launch, and compare. A failure
 * on the way is kept, and the steps behind it do nothing. For src/cl/trial/ only.
 */
#ifndef GEMM_CL_TRIAL_KIT_H
#define GEMM_CL_TRIAL_KIT_H

#include "check/reference.h"
#include "cl/device/kernel.h"
#include "cl/device/scratch.h"
#include "cl/rows.h"

enum { GEMM_CL_KIT_ROOM = 1 << 19 };        /* floats; more than any trial needs */

/* More bytes than any trial writes to a buffer. All buffers have this size, so none is made anew
   for a larger trial. */
enum { GEMM_CL_KIT_BYTES = 1 << 19 };

typedef struct gemm_cl_kit {
    const gemm_cl_program *p;
    gemm_cl_row row;            /* that the program is of */
    char defines[24];           /* of the row */
    float *memory;              /* for operands: GEMM_CL_KIT_ROOM floats */
    size_t used;
    bool inner;                 /* another trial runs around this one, and has operands too */
    bool unfinished;            /* a call failed */
    bool wrong;                 /* with a reason */
    char reason[160];
} gemm_cl_kit;

/* The trials of programs without an op. The last one has no kernel. */
typedef struct gemm_cl_kit_trial {
    const char *kernel;
    void (*run)(gemm_cl_kit *);
} gemm_cl_kit_trial;
extern const gemm_cl_kit_trial gemm_cl_helper_trials[];

/* Those of all others. */
void gemm_cl_try_op(gemm_cl_kit *);

/* Whether the options have this one, and its number: of "-DROWS=8" it is 8. */
bool gemm_cl_kit_has(const gemm_cl_kit *, const char *option);
int gemm_cl_kit_number(const gemm_cl_kit *, const char *option, int otherwise);

/* Zeroed room for n floats, which lasts as long as the trial. */
float *gemm_cl_kit_room(gemm_cl_kit *, size_t n);

/* The same with made-up values: quarters between -1 and 1. Sums of their products are exact, also
   in 16 bits, so a kernel's order of sums does not matter. */
float *gemm_cl_kit_made_up(gemm_cl_kit *, size_t n);

/* Scales between 1 and 3, and then as many shifts. */
float *gemm_cl_kit_norm(gemm_cl_kit *, int n);

/* n made-up values in a buffer, behind `first` others. `at` is the first one of the n. */
typedef struct gemm_cl_operand {
    const float *at;
    cl_mem mem;
} gemm_cl_operand;

gemm_cl_operand gemm_cl_kit_operand(gemm_cl_kit *, gemm_cl_slot, int first, int n);

/* A buffer with n values, in a slot of its own. `half` narrows them to 16 bits. After a failure it
   may be NULL. */
cl_mem gemm_cl_kit_buffer(gemm_cl_kit *, gemm_cl_slot, const float *data, size_t n, bool half);

/* The same as an image of width x height pixels of four columns. */
cl_mem gemm_cl_kit_image(gemm_cl_kit *, const float *data, int width, int height, bool half);

/* An output: `count` made-up values before, which the buffer has, and the same after. The n results
   begin at GEMM_CL_KIT_TO. */
enum { GEMM_CL_KIT_TO = 5 };
typedef struct gemm_cl_output {
    float *before, *after;
    size_t count;
    cl_mem mem;
} gemm_cl_output;

gemm_cl_output gemm_cl_kit_output(gemm_cl_kit *, int n);

/* An element of a channel of h x w, which is 0 outside of it. */
float gemm_cl_kit_pixel(const float *channel, int h, int w, int y, int x);

/* Launches x * y * z items, rounded up to lines of at most `wide` items. */
void gemm_cl_kit_run(gemm_cl_kit *, const gemm_cl_arguments *, int x, int y, int z, int wide);

/* Waits for n floats of a buffer. */
float *gemm_cl_kit_read(gemm_cl_kit *, cl_mem, size_t n, bool half);

/* Compares n floats with what is expected; then those of a buffer or an image, once it is there. */
void gemm_cl_kit_compare(gemm_cl_kit *, const float *expected, const float *actual, size_t n);
void gemm_cl_kit_expect(gemm_cl_kit *, cl_mem, const float *expected, size_t n, bool half);
void gemm_cl_kit_expect_image(gemm_cl_kit *, cl_mem image, const float *expected, int width,
                              int height, bool half);

/* The verdict of src/check. `status`: not 0, there was no memory for it. */
void gemm_cl_kit_judge(gemm_cl_kit *, int status, const gemm_error *);

#endif
