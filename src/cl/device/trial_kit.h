/* SPDX-License-Identifier: MIT */
/*
 * What all trials do: read the options of a program, make operands, launch, and compare. A failure
 * on the way is kept, and the steps behind it do nothing. For trial*.c only.
 */
#ifndef GEMM_CL_TRIAL_KIT_H
#define GEMM_CL_TRIAL_KIT_H

#include "cl/device/kernel.h"
#include "cl/device/scratch.h"
#include "cl/rows.h"

enum { GEMM_CL_KIT_ROOM = 1 << 19 };        /* floats; more than any trial needs */

typedef struct gemm_cl_kit {
    const gemm_cl_program *p;
    const gemm_cl_family *family;    /* its rows (gemm_cl_family_of) */
    float *memory;              /* for operands: GEMM_CL_KIT_ROOM floats */
    size_t used;
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

/* n made-up values, in a buffer too. */
typedef struct gemm_cl_operand {
    const float *at;
    cl_mem mem;
} gemm_cl_operand;

gemm_cl_operand gemm_cl_kit_operand(gemm_cl_kit *, gemm_cl_slot, int n);

/* A buffer with n values, in a slot of its own. `half` narrows them to 16 bits. After a failure it
   may be NULL. */
cl_mem gemm_cl_kit_buffer(gemm_cl_kit *, gemm_cl_slot, const float *data, size_t n, bool half);

/* The same as an image of width x height pixels of four columns. */
cl_mem gemm_cl_kit_image(gemm_cl_kit *, const float *data, int width, int height, bool half);

/* An element of a channel of h x w, which is 0 outside of it. */
float gemm_cl_kit_pixel(const float *channel, int h, int w, int y, int x);

/* The sum x of a filter, with the norm (scales, and then shifts) and `more` added, and activated
   with this slope below 0. */
typedef struct gemm_cl_kit_end {
    const float *norm;
    int filters;
    float slope;
} gemm_cl_kit_end;

float gemm_cl_kit_finish(const gemm_cl_kit_end *, float x, float more, int filter);

/* Launches x * y * z items, rounded up to whole groups: those of -DWX -DWY -DSLICES, or else lines
   of at most `wide` items. */
void gemm_cl_kit_run(gemm_cl_kit *, const gemm_cl_arguments *, int x, int y, int z, int wide);

/* Waits, and compares what the buffer or the image holds with what is expected. */
void gemm_cl_kit_expect(gemm_cl_kit *, cl_mem, const float *expected, size_t n, bool half);
void gemm_cl_kit_expect_image(gemm_cl_kit *, cl_mem image, const float *expected, int width,
                              int height, bool half);

#endif
