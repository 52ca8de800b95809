/* SPDX-License-Identifier: MIT */
/*
 * What one call does on the device, whatever it computes: build a row's kernel, launch kernels, and
 * end. For the OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_LAUNCH_H
#define GEMM_CL_LAUNCH_H

#include "cl/device/kernel.h"
#include "cl/device/program.h"
#include "cl/form.h"
#include "cl/memory/memory.h"
#include "gemm_variant.h"
#include "util/ints.h"
#include "util/text.h"

/*
 * The compiler's options for a kernel that multiplies. A product and a sum may be rounded once, and
 * -0 may be 0. -cl-fast-relaxed-math is not among them, because it gives up infinity, NaN and the
 * accuracy of exp.
 */
#define GEMM_CL_MATH "-cl-mad-enable -cl-no-signed-zeros"

/* Who works while the device multiplies. */
typedef enum gemm_cl_mode {
    GEMM_CL_ALONE,              /* nobody */
    GEMM_CL_BESIDE,             /* the CPU, on another part of the same multiply (hybrid). The
                                   device works on copies. It writes nothing of the caller's before
                                   the second half of the call */
    GEMM_CL_RESIDENT            /* nobody, and the operands stay on the device for many launches: B
                                   goes there even where the CPU could write it into images */
} gemm_cl_mode;

/* What a launch is for. A call has any number of them for the first stage. */
typedef enum gemm_cl_stage {
    STAGE_PREPARE,                  /* packs, fills or transforms an operand */
    STAGE_MULTIPLY,
    STAGE_ACTIVATE,                 /* behind the others, where there is one */
    STAGE_SUM,                      /* adds parts of K */
    STAGES
} gemm_cl_stage;

typedef struct gemm_cl_timed {
    cl_event event;
    gemm_cl_stage stage;
} gemm_cl_timed;

/* One call on the device. */
typedef struct gemm_cl_work {
    const gemm_cl_device *device;
    const gemm_cl_policy *policy;
    const gemm_cl_row *row;         /* that runs (cl/op/ways.h) */
    const gemm_cl_form *form;       /* that was measured for the op and runs, or NULL */
    const gemm_cl_program *program;
    gemm_cl_kernel **own;           /* the layer's kernel objects, one a stage; NULL: it has none */
    int parts;                      /* of K */
    gemm_cl_view A, B, C;
    int copy_threads;               /* of the CPU, for the views */
    cl_mem sums;                    /* the parts that STAGE_SUM adds; NULL: there are none */
    const char *refused;            /* why a row that the user named can never run, or NULL */
    bool asks;                      /* for its programs alone: they may not be built, no memory is
                                       shown, and nothing is launched */
    bool takes_spills;              /* registers may spill, because all choices spill them */
    bool unfinished;                /* it ended without a wait, so its times are not known */
    size_t group[2];                /* items along x and y, for the trace */
    gemm_cl_timed *timed;           /* the launches that have an event */
    int timed_count, timed_room;
} gemm_cl_work;

/* A matrix as a kernel takes it: element (i, j) is mem[first + i rs + j cs]. */
typedef struct gemm_cl_matrix {
    cl_mem mem;
    size_t first;
    int rs, cs;
} gemm_cl_matrix;

/* Whether the next calls want the times of their kernels. Waits for all that is enqueued where that
   changes. */
void gemm_cl_want_times(bool);

/* The first step of a call: device and memory policy. Clears the reason of an earlier failure. */
gemm_cl_work gemm_cl_begin_work(const gemm_cl_row *);

/* Lets all threads of the call copy, where the device has memory of its own. */
void gemm_cl_share_copies(gemm_cl_work *, const gemm_context *);

/* A matrix of the caller without gaps between rows, for the call. `later`: it does not wait. */
gemm_cl_view gemm_cl_dense_view(const gemm_cl_work *, const float *, size_t rows, size_t cols,
                                bool later);

/* The input of `in` as B and the output of `c` as C. `later`: the output may stay on the device. */
void gemm_cl_view_conv(gemm_cl_work *, const conv_call *in, const conv_call *c, bool later);

/* NULL, or why the device cannot run the row, as far as it is known before its kernel is built. */
const char *gemm_cl_limit(const gemm_cl_row *, const gemm_cl_traits *);

/* Builds the row's kernel with its own options and `more`, texts that begin with a blank. NULL, or
   why the device cannot run it: also where the kernel spills registers. `more` is NULL where there
   was no memory for it. */
const char *gemm_cl_build_row(gemm_cl_work *, const char *more);

/* Whether this reason of gemm_cl_build_row is the registers alone. */
bool gemm_cl_is_spilled(const char *why);

/* Whether the built kernel has smaller groups than the row needs. */
bool gemm_cl_has_small_groups(const gemm_cl_work *);

/* NULL, or why the device has no room for the built kernel. */
const char *gemm_cl_why_no_room(const gemm_cl_work *);

/*
 * Sets `local`, the group of the row's kernel. `global` counts items: x across the columns of C, y
 * down its rows, z over parts and products. It is rounded up to whole groups. Where the row has
 * `shares`, y and z become smaller, because an item then takes several of them.
 */
void gemm_cl_set_groups(gemm_cl_work *, size_t global[3], size_t local[3]);

/* The length of a part of K. It is a multiple of `step`; 0: of the step of the row's kernel. */
int gemm_cl_part_length(const gemm_cl_work *, int K, int step);

/* Copies `in`, rows x cols by its strides, to `out`, which is padded with zeros. `out` has 16 bits
   for a row that adds in 16 bits. 0 or -1. */
int gemm_cl_pack(gemm_cl_work *, gemm_cl_slot, const gemm_cl_matrix *in, int rows, int cols,
                 int rows_out, int cols_out, gemm_cl_matrix *out);

/* Makes room for `count` results of this many bytes each that are added later. 0 or -1. */
int gemm_cl_need_sums(gemm_cl_work *, size_t count, size_t bytes);

/* Enqueues a kernel of three dimensions behind the uploads of A and B. 0 or -1. */
int gemm_cl_launch(gemm_cl_work *, const gemm_cl_program *, gemm_cl_stage,
                   const gemm_cl_arguments *, const size_t *global, const size_t *local);

/* The same for a kernel that is not the row's, in groups of gemm_cl_line items along x. Rounds x up
   to whole groups. */
int gemm_cl_launch_lines(gemm_cl_work *, const gemm_cl_program *, gemm_cl_stage,
                         const gemm_cl_arguments *, size_t x, size_t y, size_t z);

/* Device time of the stages from `first` to `last`, once all is done; below 0: unknown. */
double gemm_cl_stages_ms(const gemm_cl_work *, gemm_cl_stage first, gemm_cl_stage last);

/* Such as "cl_tile 8x4 group 16x8 k16 parts 9". */
void gemm_cl_describe_work(const gemm_cl_work *, char *text, size_t bytes);

/* Ask for C and take it, as the policy does, or leave it on the device where C.later says so. With
   `timed` the second one waits in any case. 0 or -1. */
int gemm_cl_ask_result(gemm_cl_work *);
int gemm_cl_take_result(gemm_cl_work *, bool timed);

/* Fills the note of a call that went well. `chosen`: the row is not the one that the call named. */
void gemm_cl_fill_note(const gemm_cl_work *, bool chosen, gemm_note *);

/*
 * Ends a call in whatever state it is: the matrices are the CPU's again, nothing is in flight. Only
 * a call with C.later that went well leaves all on the device. `failed`: a step returned -1. The
 * status says what C is now; GEMM_FAILED comes with a reason.
 */
gemm_status gemm_cl_end_work(gemm_cl_work *, bool failed, gemm_note *);

#endif
