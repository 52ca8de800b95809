/* SPDX-License-Identifier: MIT */
/*
 * The list of a launch's arguments, from its struct: see arguments.h.
 */
#include "cl/device/arguments.h"

#include <string.h>

#define COUNT(type, name) +1
#define ENTRY(type, name) {sizeof at->name, &at->name},
#define DEFINE_FOR(scope, args, name, LIST) \
    _Static_assert(LIST(COUNT, COUNT, COUNT) <= GEMM_CL_MOST_ARGS, "GEMM_CL_MOST_ARGS"); \
    scope gemm_cl_arguments gemm_cl_##name##_arguments(const gemm_cl_##args##_args *at) \
    { \
        return (gemm_cl_arguments){LIST(COUNT, COUNT, COUNT), {LIST(ENTRY, ENTRY, ENTRY)}}; \
    }
#define DEFINE(name, LIST) DEFINE_FOR(, name, name, LIST)

GEMM_CL_EACH_LIST(DEFINE)
DEFINE_FOR(, multiply, wide, CL_WIDE_ARGUMENTS)
DEFINE_FOR(static, multiply, depthwise, CL_DEPTHWISE_ARGUMENTS)
DEFINE_FOR(, multiply, conv_wide, CL_CONV_WIDE_ARGUMENTS)
DEFINE_FOR(static, multiply, conv_more, CL_CONV_MORE_ARGUMENTS)
DEFINE_FOR(static, multiply, depthwise_more, CL_DEPTHWISE_MORE_ARGUMENTS)

gemm_cl_arguments gemm_cl_conv_list(const gemm_cl_multiply_args *args, bool depthwise,
                                    bool shortcut)
{
    if (depthwise && shortcut) return gemm_cl_depthwise_more_arguments(args);
    if (shortcut) return gemm_cl_conv_more_arguments(args);
    return depthwise ? gemm_cl_depthwise_arguments(args) : gemm_cl_conv_wide_arguments(args);
}

_Static_assert(sizeof(gemm_cl_numbers) + 8 * sizeof(cl_mem) <= GEMM_CL_MOST_BYTES, "");

gemm_cl_arguments gemm_cl_packed_list(gemm_cl_multiply_args *at, bool depthwise, bool shortcut)
{
    gemm_cl_arguments list = {1, {{sizeof at->numbers, &at->numbers}}};
#define COPY(type, name) at->numbers.name = at->name;
#define ADD(type, name) list.of[list.count].bytes = sizeof at->name, \
                        list.of[list.count++].value = &at->name;
    memset(&at->numbers, 0, sizeof at->numbers);    /* what lies between them too */
    CL_DEPTHWISE_MORE_ARGUMENTS(COPY, COPY, GEMM_CL_NOTHING)
    if (depthwise) {
        CL_DEPTHWISE_ARGUMENTS(GEMM_CL_NOTHING, GEMM_CL_NOTHING, ADD)
    } else {
        CL_CONV_ARGUMENTS(GEMM_CL_NOTHING, GEMM_CL_NOTHING, ADD)
    }
    if (shortcut) {
        CL_MORE_ARGUMENTS(GEMM_CL_NOTHING, ADD)
    }
    return list;
}
