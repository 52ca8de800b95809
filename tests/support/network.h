/* SPDX-License-Identifier: MIT */
/* Networks of Darknet with random weights, for tests. */
#ifndef NETWORK_H
#define NETWORK_H

#include "common/random.h"

#include "darknet.h"

#include <stdbool.h>
#include <stddef.h>

/* Numbers from 0 to 1. */
void network_fill(float *, size_t n, rng *);

/* From now on Darknet draws the same first weights for the same networks. */
void network_seed(int seed);

/* The network of a cfg with random weights, and a batch norm that does something. Another seed
   gives other weights. free_network frees it. */
network *network_make(const char *cfg, int seed);

/* Calls visit(l, data) for every connected layer and every convolution, those inside of [crnn]
   too. */
void network_visit(network *, void (*visit)(layer *l, void *data), void *data);

/* A pass of a network of this layer alone; the members of `net` that it needs are set. */
void network_run_layer(layer *l, network *net);

/* Whether a program reads the output of layer i: one with boxes, or the last. */
bool network_is_output(const network *, int i);

/* How far two arrays are apart, relative to the largest number of `a`. */
double network_distance(const float *a, const float *b, size_t n);

#endif
