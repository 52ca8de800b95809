/* SPDX-License-Identifier: MIT */
/* Random numbers, xorshift64*: see random.h. */
#include "common/random.h"

rng rng_make(uint64_t seed, uint64_t stream)
{
    rng r = {(seed + 1) * 0x9E3779B97F4A7C15u ^ (stream + 1) * 0xD1B54A32D192ED03u};
    if (!r.state) r.state = 1;
    for (int i = 0; i < 8; ++i) rng_next(&r);
    return r;
}

uint32_t rng_next(rng *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return (uint32_t)((r->state * 0x2545F4914F6CDD1Du) >> 32);
}

int rng_below(rng *r, int n)
{
    return (int)(((uint64_t)rng_next(r) * (uint64_t)n) >> 32);
}

float rng_float(rng *r)
{
    return (float)((int32_t)rng_next(r) >> 8) / (float)(1 << 23);
}
