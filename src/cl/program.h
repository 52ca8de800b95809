/*
 * OpenCL programs: each is built once per set of options. For the OpenCL files only; called with
 * gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_PROGRAM_H
#define GEMM_CL_PROGRAM_H

#include "cl/device.h"

typedef struct gemm_cl_program {
    struct gemm_cl_program *next;
    const char *name;
    char *options;
    cl_program program;
    cl_kernel kernel;
    cl_uint args;
    size_t group_items;         /* CL_KERNEL_WORK_GROUP_SIZE */
    cl_ulong spilled;           /* CL_KERNEL_PRIVATE_MEM_SIZE */
    cl_ulong local;             /* CL_KERNEL_LOCAL_MEM_SIZE */
    char *why;                  /* it could not be built */
} gemm_cl_program;

/* kernels/<name>.cl built with these options, or NULL and the reason. `name` is not copied. No
   options, NULL: there was no memory for them. */
const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why);

/* The group of a kernel that is not a row's: a line of 64 items, or fewer where the device has no
   such group or where half of them suffice for `count` items. There are few sizes, because PoCL
   compiles a kernel once for each. */
static inline size_t gemm_cl_line(const gemm_cl_program *p, size_t count)
{
    size_t items = p->group_items < 64 ? p->group_items : 64;
    while (items > 1 && items / 2 >= count) items /= 2;
    return items;
}

/* Releases all programs. */
void gemm_cl_release_programs(void);

/* kernels/ as text, made by kernels/embed.sh. */
typedef struct gemm_cl_source {
    const char *name, *text;
} gemm_cl_source;

extern const gemm_cl_source gemm_cl_sources[];
extern const size_t gemm_cl_source_count;

#endif
