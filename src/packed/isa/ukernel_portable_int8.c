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

/* Byte i of the quad in each lane, with its sign. */
#define byte_of(v, i) ((vint)((v) << (24 - 8 * (i))) >> 24)

#define STEP(c, a, b, apart, nv, turned)                                                           \
    {                                                                                              \
        for (int v = 0; v < nv; ++v) {                                                             \
            vint column;                                                                           \
            memcpy(&column, b + v * apart, sizeof column);                                         \
            for (int i = 0; i < MR; ++i) {                                                         \
                const vint row = vint_set((int32_t)a[i]);                                          \
                for (int k = 0; k < 4; ++k) c[i][v] += byte_of(column, k) * byte_of(row, k);       \
            }                                                                                      \
        }                                                                                          \
    }

static _Bool quads_supported(void)
{
    return 1;
}

#include "packed/isa/ukernel_quads.h"
