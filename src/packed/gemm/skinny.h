/* SPDX-License-Identifier: MIT */
/*
 * Calls whose C is one row, or one or two columns, and outer products. Each element of the matrix
 * is used once or twice there, so nothing is packed: memory is the limit.
 */
#ifndef PACKED_SKINNY_H
#define PACKED_SKINNY_H

#include "gemm_dispatch.h"
#include "packed/isa/ukernel.h"

typedef enum skinny_way {
    NOT_SKINNY,                 /* the tiles have to do it */
    SKINNY_ROWS,                /* rows of the matrix are added to C, which is one vector */
    SKINNY_DOTS,                /* each element of C is the dot product of two vectors */
    SKINNY_OUTER                /* K = 1: each row of C is a multiple of B added to it */
} skinny_way;

/* The way that suits the sizes, the transposes and the leading dimensions of a call. */
skinny_way packed_skinny_way(const gemm_call *);

/* Runs the call that way, which is not NOT_SKINNY, on up to `threads` threads. Returns 0, or -1
   without memory; C is then untouched. */
int packed_skinny(const gemm_call *, skinny_way, const gemm_ukernel *, int threads);

#endif
