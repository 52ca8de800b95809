/*
 * The OpenCL rows, as the table sees them: data that names a kernel of kernels/ and its tile.
 *
 *   gemm_cl.c            one multiply: operands, launches, wait
 *   cl/rows.c            the rows and the choice of `cl`
 *   cl/convolution.c     one whole convolution
 *   cl/launch.c          what both do on the queue
 *   cl/device.c          device, programs and their cache
 *   cl/memory.c          where the device sees the caller's matrices: the two memory policies
 *   ref/clblast.c        the reference
 *
 * Built with OPENCL=0, cl/none.c stands for all but the rows, and says so.
 */
#ifndef GEMM_CL_H
#define GEMM_CL_H

#include "gemm_variant.h"

#include <stdio.h>

typedef enum gemm_cl_way {
    GEMM_CL_PLAIN,      /* A, B and C where they lie, by strides */
    GEMM_CL_PADDED,     /* A and turned B in copies padded to multiples of 32 */
    GEMM_CL_IMAGE,      /* B as an image of four columns a pixel */
    GEMM_CL_CHOOSE,     /* a row chosen by device and shape */
    GEMM_CL_CLBLAST     /* not a kernel of ours */
} gemm_cl_way;

typedef struct gemm_cl_row {
    const char *kernel;         /* kernels/<kernel>.cl and its entry */
    const char *defines;        /* further options for the compiler */
    gemm_cl_way way;
    int rows, cols;             /* of C, for a work-item: -DROWS -DCOLS */
    int wx, wy;                 /* items of a group: -DWX -DWY; 0: by the device and the shape */
    int depth;                  /* steps of K in local memory at once: -DBK; 0: none */
    bool splits;                /* can cut K into parts */
} gemm_cl_row;

gemm_row_run gemm_cl_run;
const char *gemm_cl_unusable(const void *row);

/* The same with K cut into this many parts, where the row can; 0: its own choice. */
gemm_status gemm_cl_run_parts(const gemm_call *, const gemm_context *, const gemm_cl_row *, int parts);

/* The whole convolution, as `conv` of the table; row is gemm_cl_best. */
gemm_row_conv gemm_cl_conv;

/* The same on a row that has a kernel for it: cl_image, cl_thin, cl_tile or cl_conv_wide. */
gemm_status gemm_cl_conv_parts(const conv_call *, const gemm_context *, const gemm_cl_row *,
                               int parts);

extern const gemm_cl_row gemm_cl_naive, gemm_cl_block, gemm_cl_local, gemm_cl_local_v4,
    gemm_cl_local_v8, gemm_cl_local_v16, gemm_cl_local_v4_u8, gemm_cl_image, gemm_cl_best,
    gemm_cl_clblast;

/* What `cl` chooses from, beside cl_image; for tests and for tuning. */
extern const gemm_cl_row gemm_cl_choices[];
extern const size_t gemm_cl_choice_count;
extern const gemm_cl_row gemm_cl_conv_choices[];
extern const size_t gemm_cl_conv_choice_count;

/* What the choice depends on. */
typedef struct gemm_cl_traits {
    bool cpu, unified, images;
    int units, vector;          /* compute units; floats in the device's own vector */
    int group, local;           /* most items of a group; bytes of local memory */
} gemm_cl_traits;

/* The row for a shape, and into how many parts K is cut. */
const gemm_cl_row *gemm_cl_choose(const gemm_cl_traits *, const gemm_call *, int *parts);

/* The same for `products` multiplies of this shape in one launch, which make a convolution. */
const gemm_cl_row *gemm_cl_choose_conv(const gemm_cl_traits *, const gemm_call *, int products,
                                       int *parts);

/* Forces a memory policy for tests: 0 by the device, 'u' unified, 'd' discrete. */
void gemm_cl_force_memory(int policy);

/*
 * Times `reps` calls on data that is on the device already, with one wait at the end; parts is 0
 * for the row's own choice. Returns 0, or anything else when a call failed.
 */
typedef struct gemm_cl_times {
    double wall_ms;             /* of one call, the wait shared by all */
    double device_ms;           /* of one call's kernels, by events; 0: clblast has none for all */
    double kernel_ms;           /* of that the multiply alone, without packing and summing */
    char ran[64];               /* kernel, tile and parts */
} gemm_cl_times;

int gemm_cl_time(const gemm_call *, const gemm_cl_row *, int parts, int reps, gemm_cl_times *);

/* "name, driver" of the device in use, and its limits as `--list` shows them; NULL without one. */
const char *gemm_cl_describe(void);

/* Devices of this machine, one a line: platform:device, type, name. */
void gemm_cl_list(FILE *);

#endif
