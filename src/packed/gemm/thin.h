/*
 * Calls whose C is one row or one column, and outer products. Each element of the matrix is used
 * once there, so nothing is packed: memory is the limit.
 */
#ifndef PACKED_THIN_H
#define PACKED_THIN_H

#include "gemm_dispatch.h"
#include "packed/isa/ukernel.h"

typedef enum thin_way {
    NOT_THIN,                   /* the tiles have to do it */
    THIN_ROWS,                  /* rows of the matrix are added to C, which is one vector */
    THIN_DOTS,                  /* each element of C is the dot product of two vectors */
    THIN_OUTER                  /* K = 1: each row of C is a multiple of B added to it */
} thin_way;

/* The way that suits the sizes, the transposes and the leading dimensions of a call. */
thin_way packed_thin_way(const gemm_call *);

/* Runs the call that way, which is not NOT_THIN, on up to `threads` threads. Returns 0, or -1 when
   there is no memory; C is then untouched. */
int packed_thin(const gemm_call *, thin_way, const gemm_ukernel *, int threads);

#endif
