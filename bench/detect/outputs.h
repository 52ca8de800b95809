/* SPDX-License-Identifier: MIT */
/* The raw outputs of a network: what its output layers hold after a forward pass. */
#ifndef DETECT_OUTPUTS_H
#define DETECT_OUTPUTS_H

#include <stddef.h>

#include "darknet.h"

/* A copy of the values of all output layers, *count in all; the caller frees it. */
float *outputs_copy(const network *, size_t *count);

/* The raw values: what each [yolo], [region] and [detection] layer reads. A network that ends in
   another layer has the output of its last layer before softmax and cost. */
float *outputs_raw_copy(const network *, size_t *count);

/* The largest |a - b| of n values; infinite when one is no number. */
double outputs_difference(const float *a, const float *b, size_t n);

/* The largest |v|. */
double outputs_largest(const float *v, size_t n);

/* malloc that ends the program when there is no memory. */
void *outputs_alloc(size_t bytes);

#endif
