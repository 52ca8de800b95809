/* SPDX-License-Identifier: MIT */
/*
 * What all trials do: read the options of a program, make operands, launch, and compare. A failure
 * on the way is kept, and the steps behind it do nothing. For trial*.c only.
 */
#ifndef GEMM_CL_TRIAL_KIT_H
#define GEMM_CL_TRIAL_KIT_H

#include "cl/device/kernel.h"
#include "cl/device/scratch.h"

enum {
    GEMM_CL_KIT_ARGS = 32,      /* more than any kernel has */
    GEMM_CL_KIT_ROOM = 1 << 19  /* floats; more than any trial needs */
};

typedef struct gemm_cl_kit {
    const gemm_cl_program *p;
    float *memory;              /* for operands: GEMM_CL_KIT_ROOM floats */
    size_t used;
    gemm_cl_argument args[GEMM_CL_KIT_ARGS];
    union { cl_int i; cl_ulong u; cl_float f; cl_mem mem; } values[GEMM_CL_KIT_ARGS];
    int count;                  /* of arguments so far */
    bool unfinished;            /* a call failed */
    bool wrong;                 /* with a reason */
    char reason[160];
} gemm_cl_kit;

/* Whether the options have this one, and its number: of "-DROWS=8" it is 8. */
bool gemm_cl_kit_has(const gemm_cl_kit *, const char *option);
int gemm_cl_kit_number(const gemm_cl_kit *, const char *option, int otherwise);

/* Zeroed room for n floats, which lasts as long as the trial. */
float *gemm_cl_kit_room(gemm_cl_kit *, size_t n);

/* The same with made-up values: quarters between -1 and 1. Sums of their products are exact, also
   in 16 bits, so a kernel's order of sums does not matter. */
float *gemm_cl_kit_made_up(gemm_cl_kit *, size_t n);

/* Forget all arguments, and append one each. Buffers go to a slot of their own; `half` narrows the
   values to 16 bits. */
void gemm_cl_kit_begin(gemm_cl_kit *);
void gemm_cl_kit_int(gemm_cl_kit *, int);
void gemm_cl_kit_ulong(gemm_cl_kit *, size_t);
void gemm_cl_kit_float(gemm_cl_kit *, float);
void gemm_cl_kit_buffer(gemm_cl_kit *, gemm_cl_slot, const float *data, size_t n, bool half);

/* An image of width x height pixels of four columns. */
void gemm_cl_kit_image(gemm_cl_kit *, const float *data, int width, int height, bool half);

/* Launches x * y * z items, rounded up to whole groups: those of -DWX -DWY -DSLICES, or else lines
   of at most `wide` items. */
void gemm_cl_kit_run(gemm_cl_kit *, int x, int y, int z, int wide);

/* Waits, and compares what the buffer or image of an argument holds with what is expected. */
void gemm_cl_kit_expect(gemm_cl_kit *, int argument, const float *expected, size_t n, bool half);
void gemm_cl_kit_expect_image(gemm_cl_kit *, int argument, const float *expected, int width,
                              int height, bool half);

#endif
