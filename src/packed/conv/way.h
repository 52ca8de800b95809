/* SPDX-License-Identifier: MIT */
/*
 * The ways of `packed` to compute a convolution. convolution.c has their table. A new way is a file
 * with a packed_way, and its name in the table and here.
 */
#ifndef PACKED_WAY_H
#define PACKED_WAY_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

/* What `plan` found out, for `run`. It lasts from call to call of a layer. */
typedef struct packed_choice {
    bool asked;                 /* the user named the way, so it takes what it can and not only what
                                   it is fastest for */
    char weighed[48];           /* where context->timed: how it compares, such as "0.61 times as
                                   long as implicit"; else "" */
    _Alignas(16) unsigned char own[512];    /* the way's own struct: all that depends on sizes and
                                               settings, and no address */
} packed_choice;

/* From `plan` to `run`. */
static inline void packed_put(packed_choice *choice, const void *own, size_t bytes)
{
    assert(bytes <= sizeof choice->own);
    memcpy(choice->own, own, bytes);
}

static inline void packed_get(const packed_choice *choice, void *own, size_t bytes)
{
    memcpy(own, choice->own, bytes);
}

typedef struct packed_way {
    const char *name;
    bool one_sum;               /* an output is one sum over its taps, in their order. Else it is as
                                   in a packed gemm, or depends on the shape alone */
    bool adds;                  /* `run` takes a shortcut; else it is always NULL */

    /* NULL: the way takes this convolution. Else why not, in a few words, which live as long as the
       choice. Depends on sizes and settings, on no address. */
    const char *(*plan)(const conv_call *, const gemm_context *, packed_choice *);

    /* 0, or -1: there is no room, because memory or a thread's scratch is too small. The output is
       then unchanged. The shortcut is NULL, or added by packed_add_shortcut. */
    int (*run)(const conv_call *, const layer_call *shortcut, const packed_choice *,
               const gemm_context *);
} packed_way;

/* By a model: the time of Winograd's algorithm with m, 2 or 4, over that of the product. */
double packed_winograd_ratio(const conv_call *, const gemm_context *, int m);

extern const packed_way packed_way_dots, packed_way_winograd4, packed_way_winograd2,
    packed_way_banded, packed_way_nchwc, packed_way_depthwise, packed_way_polyphase,
    packed_way_implicit;

#endif
