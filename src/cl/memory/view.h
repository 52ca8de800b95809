/* SPDX-License-Identifier: MIT */
/*
 * A matrix of the caller as the device sees it, and what a memory policy does with it. For the
 * OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_VIEW_H
#define GEMM_CL_VIEW_H

#include "cl/device/scratch.h"
#include "cl/memory/host.h"

typedef struct gemm_cl_view {
    /* The matrix of the caller, and what the call does with it. */
    float *host;
    size_t rows, cols, ld;      /* as stored: a transposed matrix keeps its shape here */
    bool overwrite;             /* an output that is written, and never read or added to */
    bool stored;                /* an output to add to, but the kernels store it in its copy */
    bool trusts;                /* an input may be left unchecked */
    bool beside;                /* the CPU works on the same block meanwhile: never in place */
    bool later;                 /* the call does not wait for the device: an output stays there,
                                   and an input may change as soon as the call returns */
    int threads;                /* that may copy it; 0 is 1 */

    /* What the policy made of it. */
    cl_mem mem;
    size_t offset, device_ld;   /* of the first element; between rows; in floats */
    const float *unchecked;     /* an input: mem is right if the input equals this copy. Nobody has
                                   compared them so far. NULL: it is right */
    size_t copied;              /* bytes between the CPU and the device, so far */
    gemm_cl_host_block *block;  /* the block it lies in, where the device works in place, or NULL */
    bool in_place;              /* the device works on the caller's memory */
    cl_event arrival;           /* an output in a copy: the transfer to the CPU, or NULL */
    float *arrived;             /* and where it puts the output, or NULL */

    /* What the launches did with an output. */
    bool touched;               /* the caller's memory may have changed */
    cl_event made;              /* the launch that wrote it, or NULL; not owned */
} gemm_cl_view;

/* How a device gets at the caller's matrices. Functions that return int return 0, or -1 after
   saying why. */
typedef struct gemm_cl_policy {
    bool shares;                /* the device uses blocks in place, and the CPU may fill images */
    int (*input)(gemm_cl_view *, gemm_cl_slot);     /* A or B, before the kernels */
    int (*output)(gemm_cl_view *);                  /* C, before the kernels */
    int (*ask)(gemm_cl_view *);     /* enqueues what brings C to the CPU, behind the kernels */
    void (*leave)(const gemm_cl_view *);    /* instead of ask and take: C stays on the device */
    int (*close)(gemm_cl_view *);   /* makes it the CPU's again; safe after any failure */
} gemm_cl_policy;

/* Of its elements, without the gaps between rows. */
static inline size_t gemm_cl_view_bytes(const gemm_cl_view *v)
{
    return v->rows * v->cols * sizeof(float);
}

/* Gives an output a buffer of its own, with rows without gaps. It is zeroed if the kernels add to
   it. 0 or -1. */
int gemm_cl_output_copy(gemm_cl_view *);

/* Copies `count` of the caller's rows to `out`, without gaps. */
void gemm_cl_gather_rows(float *out, const gemm_cl_view *, size_t from, size_t count);

/* The same, to pinned memory that the bus reads next. */
void gemm_cl_send_rows(float *pinned, const gemm_cl_view *, size_t from, size_t count);

/* Whether the caller's rows have the same bytes as `copy`, which has no gaps. */
bool gemm_cl_has_rows(const gemm_cl_view *, const float *copy);

/* Waits for an output's transfer, or with `all` for all that is enqueued, blocks included. -1: a
   launch failed. */
int gemm_cl_wait_for_output(const gemm_cl_view *, bool all);

/* After `ask`: waits, once. Then the caller has the output, added to its rows, or stored there with
   `overwrite`. 0 or -1. */
int gemm_cl_take_output(gemm_cl_view *, const gemm_cl_policy *);

#endif
