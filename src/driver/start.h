/*
 * What the settings mean here: names become rows and micro-kernels, and each part of src/ gets its
 * share of the environment. Done once, at the first call that needs it.
 */
#ifndef GEMM_START_H
#define GEMM_START_H

#include "gemm_variant.h"

typedef struct gemm_state {
    const gemm_variant *impl;
    int threads;
    const struct gemm_ukernel *isa;
    bool conv, check, trace;
} gemm_state;

/* The present state. Ends the program when a variable has a bad value. */
const gemm_state *gemm_get_state(void);

#endif
