/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a launch: a struct with a member for each argument of the kernel, both made from
 * one list in kernels/cl_*_arguments.h. For the OpenCL files only.
 *
 *   const gemm_cl_arguments args = GEMM_CL_ARGS(zero, .count = n, .out = mem);
 */
#ifndef GEMM_CL_ARGUMENTS_H
#define GEMM_CL_ARGUMENTS_H

#include "../../../kernels/cl_helper_arguments.h"
#include "../../../kernels/cl_int8_arguments.h"
#include "../../../kernels/cl_layer_arguments.h"
#include "../../../kernels/cl_multiply_arguments.h"
#include "../../../kernels/cl_winograd_arguments.h"
#include "cl/device/opencl.h"

#include <stdbool.h>
#include <stddef.h>

/* No kernel has more, or more bytes of them. */
enum { GEMM_CL_MOST_ARGS = 33, GEMM_CL_MOST_BYTES = 8 * GEMM_CL_MOST_ARGS };

/* In the order of the kernel. */
typedef struct gemm_cl_arguments {
    cl_uint count;
    struct { size_t bytes; const void *value; } of[GEMM_CL_MOST_ARGS];
} gemm_cl_arguments;

/* F(name, list) for each struct. A kernel whose options leave out its last arguments has the same
   struct. */
#define GEMM_CL_EACH_LIST(F) \
    F(fill, CL_FILL_ARGUMENTS) \
    F(fill_conv, CL_FILL_CONV_ARGUMENTS) \
    F(pack, CL_PACK_ARGUMENTS) \
    F(sum, CL_SUM_MORE_ARGUMENTS) \
    F(zero, CL_ZERO_ARGUMENTS) \
    F(maxpool, CL_MAXPOOL_ARGUMENTS) \
    F(avgpool, CL_AVGPOOL_ARGUMENTS) \
    F(upsample, CL_UPSAMPLE_ARGUMENTS) \
    F(shortcut, CL_SHORTCUT_SIZES_ARGUMENTS) \
    F(activate, CL_ACTIVATE_ARGUMENTS) \
    F(copy, CL_COPY_TWO_ARGUMENTS) \
    F(yolo, CL_YOLO_ARGUMENTS) \
    F(winograd_filter, CL_WINOGRAD_FILTER_ARGUMENTS) \
    F(winograd_input, CL_WINOGRAD_INPUT_ARGUMENTS) \
    F(winograd, CL_WINOGRAD_ARGUMENTS) \
    F(winograd_output, CL_WINOGRAD_OUTPUT_ARGUMENTS) \
    F(int8_input, CL_INT8_INPUT_ARGUMENTS) \
    F(int8, CL_INT8_ARGUMENTS)

#define GEMM_CL_NUMBER(type, name) cl_##type name;
#define GEMM_CL_MEMORY(type, name) cl_mem name;
#define GEMM_CL_NOTHING(type, name)
#define GEMM_CL_DECLARE(name, LIST) \
    typedef struct gemm_cl_##name##_args { \
        LIST(GEMM_CL_NUMBER, GEMM_CL_NUMBER, GEMM_CL_MEMORY) \
    } gemm_cl_##name##_args; \
    gemm_cl_arguments gemm_cl_##name##_arguments(const gemm_cl_##name##_args *);
GEMM_CL_EACH_LIST(GEMM_CL_DECLARE)

/* The list from the members that are named here. All others are 0. It refers to a struct that lasts
   until the end of the block. */
#define GEMM_CL_ARGS(name, ...) \
    gemm_cl_##name##_arguments(&(const gemm_cl_##name##_args){__VA_ARGS__})

/* All kernels that multiply have one struct, and a list for each kind. A kernel takes the first
   arguments of its list, as many as it has. */
typedef struct gemm_cl_numbers {
    CL_DEPTHWISE_MORE_ARGUMENTS(GEMM_CL_NUMBER, GEMM_CL_NUMBER, GEMM_CL_NOTHING)
} gemm_cl_numbers;

typedef struct gemm_cl_multiply_args {
    CL_DEPTHWISE_MORE_ARGUMENTS(GEMM_CL_NUMBER, GEMM_CL_NUMBER, GEMM_CL_MEMORY)
    CL_SHARES_ARGUMENTS(GEMM_CL_NUMBER)
    gemm_cl_numbers numbers;    /* of a kernel with -DPACKED; gemm_cl_packed_list fills them */
} gemm_cl_multiply_args;

gemm_cl_arguments gemm_cl_wide_arguments(const gemm_cl_multiply_args *);
gemm_cl_arguments gemm_cl_conv_wide_arguments(const gemm_cl_multiply_args *);

/* That of a convolution: one with a depthwise layer before it, a shortcut behind it, or both. */
gemm_cl_arguments gemm_cl_conv_list(const gemm_cl_multiply_args *, bool depthwise, bool shortcut);

/* The same for a kernel with -DPACKED: its numbers, and then the memory of its list. */
gemm_cl_arguments gemm_cl_packed_list(gemm_cl_multiply_args *, bool depthwise, bool shortcut);

#endif
