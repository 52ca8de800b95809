/* SPDX-License-Identifier: MIT */
/* A hash of small numbers, for tables in memory. */
#ifndef GEMM_HASH_H
#define GEMM_HASH_H

#include <stdint.h>

/* FNV-1a over whole numbers instead of bytes: `first`, then the others. The last step mixes the
   high bits into the low ones. */
static inline uint32_t gemm_hash(int first, const int *numbers, int count)
{
    uint32_t h = (UINT32_C(2166136261) ^ (uint32_t)first) * UINT32_C(16777619);
    for (int i = 0; i < count; ++i) h = (h ^ (uint32_t)numbers[i]) * UINT32_C(16777619);
    return h ^ h >> 16;
}

#endif
