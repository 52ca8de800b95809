/* SPDX-License-Identifier: MIT */
/* Convolutions by their geometry, with arrays of their own, for tests. */
#ifndef CONV_SHAPE_H
#define CONV_SHAPE_H

#include "common/random.h"
#include "gemm_variant.h"

#include <stddef.h>

typedef struct conv_shape {
    const char *name;
    int batch, groups, c, h, w, n, size, stride, pad;
} conv_shape;

/* Darknet's size of the output for n pixels, which gives 1 even where a large filter hangs over the
   image. Reads size, stride and pad of the call. */
int conv_places(int n, const conv_call *);

/* The floats of the output. Pooled: a quarter. */
size_t conv_outputs(const conv_call *);

/* The call, not pooled, with zeroes in arrays beside guard pages. conv_shape_free frees them, by
   the input of the call. One thread makes, fills and frees calls. */
conv_call conv_shape_make(const conv_shape *, conv_activation);
void conv_shape_free(conv_call *);

/* The same with a pool, over outputs that are even: the output gets a quarter. */
void conv_shape_pool(conv_call *);

/* Random numbers in all arrays but the output. */
void conv_shape_fill(conv_call *, rng *);

#endif
