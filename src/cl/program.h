/*
 * OpenCL programs: each is built once per set of options, and tried once on its device
 * (cl/trial.h). For the OpenCL files only; called with
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
    bool right;                 /* it was tried on this device, now or by an earlier process */
    int unfinished;             /* trials that could not be made */
    char *why;                  /* it is left out; NULL: it is not */
    char reason[160];           /* the same without its name */
    bool faulty;                /* because of what it is, not because the driver is short of memory */
    bool said;                  /* and that was said */
} gemm_cl_program;

/* kernels/<name>.cl built with these options, or NULL and the reason. A program is left out for
   good where it does not build, or where its results are wrong. `name` is not copied. */
const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why);

/* Whether this is the reason of a program that can never be used on this device. */
bool gemm_cl_is_faulty(const char *why);

/* Says a reason that gemm_cl_build gave, once for each program. */
void gemm_cl_say_left_out(const char *why);

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
