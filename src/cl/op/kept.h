/* SPDX-License-Identifier: MIT */
/*
 * What the plan of a layer keeps on the device, so that no later call uploads or builds it again.
 * For the OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_KEPT_H
#define GEMM_CL_KEPT_H

#include "cl/op/direct.h"
#include "cl/op/winograd.h"

/* The sizes of a layer under its row. */
typedef struct gemm_cl_sizes {
    gemm_cl_winograd winograd;      /* of a row with `winograd` */
    gemm_cl_packed packed;          /* of a row with `direct` */
    int width, strips;              /* of the image of B: pixels a row, rows for a row of B; 0: B is
                                       no image that is filled */
    bool has_room;                  /* the plan has room for the weights */
} gemm_cl_sizes;

/* What was decided for a layer (cl/op/ways.h), and the facts that it rests on. */
typedef struct gemm_cl_decision {
    struct {
        const gemm_cl_row *asked, *form;
        const char *way;
        int asked_parts, form_parts;
        int sizes[2][12];               /* of the layer, and of the depthwise one before it */
        int pools, adds, aligned, exact;    /* adds: a shortcut; aligned: the input. No bool, so
                                   that no bytes lie between members */
    } facts;
    const gemm_cl_row *row;
    int parts;
    bool measured;                  /* it is the form */
    const gemm_cl_program *program; /* NULL: nothing is decided */
    char weighed[sizeof((gemm_note *)0)->weighed];
} gemm_cl_decision;

typedef struct gemm_cl_kept {
    cl_mem weights, norm;           /* weights as the row takes them; norm: see gemm_cl_make_norm */
    int winograd;                   /* weights are U for this m; 0: they are the layer's */
    const gemm_cl_row *packed;      /* for this row (cl/op/direct.h); NULL: not */
    gemm_cl_kernel *kernels[STAGES];
    gemm_cl_decision decided;
    struct gemm_cl_kept *next;      /* of those that plans dropped */
} gemm_cl_kept;

/* n scales, then n shifts. The caller frees them. NULL: no memory, and that was said. */
float *gemm_cl_make_norm(const conv_call *);

/* The bytes on the device of what a plan keeps for this row. */
size_t gemm_cl_kept_bytes(const gemm_cl_row *, const conv_call *, const gemm_cl_sizes *);

/*
 * What the plan has for this layer, or gets now, for the row of the work. The layer's kernel
 * objects are then those of the work, and A.copied and B.copied count what was uploaded. NULL:
 * nothing can be kept.
 */
gemm_cl_kept *gemm_cl_keep(gemm_cl_work *, const conv_call *, const gemm_cl_sizes *,
                           gemm_kept *plan);

/* What `cl` keeps there, or NULL. Without gemm_cl_lock. */
gemm_cl_kept *gemm_cl_kept_of(const gemm_kept *plan);

/* What the plan keeps for a layer in 8 bits, or NULL. */
gemm_cl_kept *gemm_cl_kept_quads(const gemm_cl_row *, const gemm_kept *plan);

/* Uploads packed weights and the floats of `norm` as the kernels read it, for the plan, which has
   nothing for the row. *own: it has no room, and the caller drops them at the end of the call.
   NULL: refused. */
gemm_cl_kept *gemm_cl_keep_quads(const gemm_cl_row *, gemm_kept *plan, const void *quads,
                                 size_t bytes, const float *norm, size_t norms, bool *own);

/* Releases what plans dropped while another thread had the lock. */
void gemm_cl_release_dropped(void);

/* Releases what no plan has. */
void gemm_cl_drop_kept(gemm_cl_kept *);

#endif
