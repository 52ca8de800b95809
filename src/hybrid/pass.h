/* SPDX-License-Identifier: MIT */
/*
 * Who computes the whole passes of a network: the device alone, the CPU alone, or both on each
 * layer. The first passes of a network measure them. From then on the fastest one has them.
 *
 * Any thread may call at any time.
 */
#ifndef GEMM_HYBRID_PASS_H
#define GEMM_HYBRID_PASS_H

#include "gemm_variant.h"

typedef enum gemm_hybrid_side {
    GEMM_HYBRID_DEVICE,
    GEMM_HYBRID_CPU,
    GEMM_HYBRID_BOTH,
    GEMM_HYBRID_SIDES
} gemm_hybrid_side;

/* After so many passes of a network its choice stands. */
enum { GEMM_HYBRID_PASSES = 48 };

/* The side that takes the next pass, and when it has lost. */
gemm_taker gemm_hybrid_choose(const gemm_network *);

/* A pass by this side took so many ms, or so many until it had lost; INFINITY: the side failed. */
void gemm_hybrid_learn(const gemm_network *, int side, double ms);

#endif
