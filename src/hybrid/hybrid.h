/* SPDX-License-Identifier: MIT */
/*
 * The row `hybrid`: one multiply, or one convolution, by the device and the CPU together
 * (docs/hybrid.md).
 *
 *   hybrid.c     starts the device's part, computes the CPU's part, joins
 *   cut.c        the parts of a call
 *   share.c      how much the device gets
 *   pass.c       who computes the whole passes of a network
 *
 * The row knows no other row. The table gives it the functions of both sides.
 */
#ifndef GEMM_HYBRID_H
#define GEMM_HYBRID_H

#include "gemm_variant.h"

/* So many calls of a shape settle the share, in most cases. */
enum { GEMM_HYBRID_WARM_UP = 32 };

typedef struct gemm_hybrid_sides {
    gemm_variant cpu;           /* name, run, conv; `layer` is for the pool of a convolution that
                                   `conv` declines with it */
    gemm_variant device;        /* `run` and `conv` are first halves, as gemm_cl.h describes them */
    gemm_status (*finish)(bool take, gemm_note *);      /* the second half of both */
    double forced;              /* for tests: the device's share, 0 to 1; below 0: as measured */
} gemm_hybrid_sides;

/* One multiply; params is a gemm_hybrid_sides. */
gemm_row_run gemm_hybrid;

/* One convolution, with or without the pool. */
gemm_row_conv gemm_hybrid_conv;

/* NULL, or why the device cannot be used. */
const char *gemm_hybrid_unusable(const void *sides);

/* The same by the device's limits alone. */
const char *gemm_hybrid_limits(const void *sides);

#endif
