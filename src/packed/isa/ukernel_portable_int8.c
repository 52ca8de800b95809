/* SPDX-License-Identifier: MIT */
/* Quads for any processor: 4 x 8, one whole number after the other. */
#include <stdint.h>

#define ISA portable_int8
#define BASE gemm_ukernel_generic
#define VL 4
#define NV 2
#define MR 4
#define OFFSET false

typedef int32_t vint __attribute__((vector_size(VL * sizeof(int32_t))));
#define vint_set(x) ((vint){x, x, x, x})
#define vint_max(x, y) (((x) & ((x) > (y))) | ((y) & ((x) <= (y))))
#define vint_min(x, y) (((x) & ((x) < (y))) | ((y) & ((x) >= (y))))
#define vint_swap(x) ((vint){(x)[1], (x)[0], (x)[3], (x)[2]})

/* Byte i of the quad in each lane, with its sign. */
#define byte_of(v, i) ((vint)((v) << (24 - 8 * (i))) >> 24)
#define products(a, b, i) (byte_of(a, i) * byte_of(b, i))
#define dot(sum, b, a, turned)                                                                     \
    ((sum) + products(a, b, 0) + products(a, b, 1) + products(a, b, 2) + products(a, b, 3))

static inline vint vint_load(const uint32_t *p)
{
    vint v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

static _Bool quads_supported(void)
{
    return 1;
}

#include "packed/isa/ukernel_quads.h"
