/* SPDX-License-Identifier: MIT */
/*
 * A program that was built, or is left out. For the OpenCL files only.
 */
#ifndef GEMM_CL_BUILT_H
#define GEMM_CL_BUILT_H

#include "cl/device/device.h"

typedef struct gemm_cl_program {
    struct gemm_cl_program *next;
    const char *name;
    char *options;
    cl_program program;
    bool shared;                /* it is another one's of the list */
    cl_kernel kernel;
    cl_uint args;
    size_t group_items;         /* CL_KERNEL_WORK_GROUP_SIZE */
    cl_ulong spilled;           /* CL_KERNEL_PRIVATE_MEM_SIZE */
    cl_ulong local;             /* CL_KERNEL_LOCAL_MEM_SIZE */
    double build_ms;            /* of work, from its text */
    bool late;                  /* the driver of a CPU compiled at its first launch */
    bool built, unbuilt;        /* it was; it cannot be */
    bool lasts;                 /* and the next process shall know that */
    bool right;                 /* it was tried on this device, now or by an earlier process */
    bool on_trial;              /* at this moment */
    bool foreseen;              /* it will be needed, is not in the cache, and was not made since */
    bool wanted;                /* gemm_cl_build_wanted shall build it */
    int unfinished;             /* trials that could not be made */
    char *why;                  /* it is left out; NULL: it is not */
    char reason[160];           /* the same without its name */
    bool faulty;                /* for what it is, not because the driver is short of memory */
    bool said;                  /* and that was said */
} gemm_cl_program;

/* The group of a kernel that is not a row's: a line of 64 items, or fewer where the device has no
   such group or where half of them suffice for `count` items. There are few sizes, because PoCL
   compiles a kernel once for each. */
static inline size_t gemm_cl_line(const gemm_cl_program *p, size_t count)
{
    size_t items = p->group_items < 64 ? p->group_items : 64;
    while (items > 1 && items / 2 >= count) items /= 2;
    return items;
}

#endif
