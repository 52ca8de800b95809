/* SPDX-License-Identifier: MIT */
/*
 * The shape of an op: all that decides how long it takes, and nothing of its data. `auto` keeps the
 * fastest row for each shape, and `hybrid` the share of the device.
 */
#ifndef GEMM_SHAPE_H
#define GEMM_SHAPE_H

#include "op/op.h"

#include <stdint.h>

enum { GEMM_SHAPE_NUMBERS = 14 };

typedef enum gemm_shape_kind {
    GEMM_SHAPE_MULTIPLY,
    GEMM_SHAPE_CONV,
    GEMM_SHAPE_LAYER,           /* the first of the layers: + layer_kind */
} gemm_shape_kind;

/* Numbers that the kind does not have are 0. Of a convolution the last one is 8 where the layer has
   a scale of 8 bits, and it is written only then. */
typedef struct gemm_shape {
    int kind;
    int n[GEMM_SHAPE_NUMBERS];
} gemm_shape;

/* A chain has no shape of its own, because its parts have one each. */
gemm_shape gemm_op_shape(const gemm_op *, const gemm_context *);

/* Whether the variant computes ops of the shape's kind. */
bool gemm_shape_offered(int kind, const gemm_variant *);

uint32_t gemm_shape_hash(const gemm_shape *);

/* Below 0, 0 or above, as memcmp. Sorts by kind, then by the numbers. */
int gemm_shape_compare(const gemm_shape *, const gemm_shape *);

/* The most bytes of a shape as text. */
enum { GEMM_SHAPE_TEXT = 256 };

/* Such as "multiply TA 0 TB 0 M 16 N 173056 K 27 threads 2". */
void gemm_shape_print(const gemm_shape *, char text[GEMM_SHAPE_TEXT]);

/* Reads what gemm_shape_print writes. Returns the text behind it, or NULL when it is no shape. */
const char *gemm_shape_parse(const char *text, gemm_shape *);

#endif
