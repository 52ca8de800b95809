/*
 * The ways of `packed` to compute a convolution. convolution.c has their table. A new way is a file
 * with a packed_way, and its name in the table and here.
 */
#ifndef PACKED_WAY_H
#define PACKED_WAY_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

/* What `plan` found out, for `run`. A way uses what it needs. */
typedef struct packed_choice {
    const char *name;           /* for the trace: that of the way, unless plan sets another */
    int m;                      /* of Winograd's algorithm */
    int rows;                   /* of the output in a chunk */
} packed_choice;

typedef struct packed_way {
    const char *name;

    /* Whether the way takes this convolution. Depends on sizes, weights' form and settings, on no
       address. */
    bool (*plan)(const conv_call *, const gemm_context *, packed_choice *);

    /* 0, or -1: there is no room, because memory or a thread's scratch is too small. The output is
       then unchanged. */
    int (*run)(const conv_call *, const packed_choice *, const gemm_context *);
} packed_way;

extern const packed_way packed_way_dots, packed_way_winograd, packed_way_banded, packed_way_nchwc,
    packed_way_depthwise, packed_way_polyphase, packed_way_implicit;

#endif
