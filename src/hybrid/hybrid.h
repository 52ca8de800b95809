/* SPDX-License-Identifier: MIT */
/*
 * The row `hybrid`: a multiply by the device and the CPU together, and whole layers by the one that
 * multiplies faster (docs/hybrid.md).
 *
 *   hybrid.c     the device's part, the CPU's part beside it, and who replaces whom
 *   share.c      how much the device gets
 *   side.c       who has whole layers
 *
 * The row knows no other row. The table gives it the functions of both sides.
 */
#ifndef GEMM_HYBRID_H
#define GEMM_HYBRID_H

#include "gemm_variant.h"

/* So many calls of a shape settle the share, in most cases. */
enum { GEMM_HYBRID_WARM_UP = 32 };

typedef struct gemm_hybrid_sides {
    gemm_variant cpu, device;   /* name, multiply, run, params; `device` also has a device */
    gemm_row_multiply *beside;  /* a multiply by the device beside one by the CPU: gemm_cl.h */
    gemm_row_later *later;      /* of `beside`; or NULL */
    double forced;              /* for tests: the device's share, 0 to 1; below 0: as measured. From
                                   a half on the device has whole layers */
} gemm_hybrid_sides;

/* One multiply by both; params is a gemm_hybrid_sides. */
gemm_row_multiply gemm_hybrid;

/* Whole layers, by one side. Outputs stay where this side leaves them. */
gemm_row_run gemm_hybrid_run;

/* NULL, or why the device cannot be used, by its limits alone. */
const char *gemm_hybrid_limits(const void *sides);

#endif
