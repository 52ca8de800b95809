/* SPDX-License-Identifier: MIT */
/* What fp16 has numbers for: see half.h. */
#include "packed/half/half.h"

#include "util/ints.h"
#include "util/threads.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Floats of one sign are ordered as their bits are. */
typedef struct range_job {
    const float *x;
    size_t ld;
    int rows, columns, step;    /* step: rows of a chunk */
    atomic_int largest;         /* its bits */
} range_job;

static int largest_of_row(const float *x, int n)
{
    enum { MAGNITUDE = 0x7fffffff, INFINITE = 0x7f800000 };
    int largest = 0;
    for (int i = 0; i < n; ++i) {
        int bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= MAGNITUDE;
        bits = bits < INFINITE ? bits : 0;
        largest = largest > bits ? largest : bits;
    }
    return largest;
}

static void look(void *job, int chunk, void *scratch)
{
    (void)scratch;
    range_job *j = job;
    int largest = 0;
    const int end = min_int(j->rows, (chunk + 1) * j->step);
    for (int i = chunk * j->step; i < end; ++i)
        largest = max_int(largest, largest_of_row(j->x + (size_t)i * j->ld, j->columns));
    int known = atomic_load(&j->largest);
    while (largest > known && !atomic_compare_exchange_weak(&j->largest, &known, largest)) {}
}

float packed_half_largest(const float *x, int rows, int columns, size_t ld, int threads)
{
    enum { CHUNK = 64 * 1024 };     /* floats: fewer are read before a worker could help */
    range_job j = {.x = x, .ld = ld, .rows = rows, .columns = columns,
                   .step = max_int(1, CHUNK / columns)};
    if (gemm_parallel(threads, ceil_div(rows, j.step), look, &j)) return INFINITY;
    const int bits = atomic_load(&j.largest);
    float largest;
    memcpy(&largest, &bits, sizeof largest);
    return largest;
}

bool packed_half_fits(const gemm_pairs *p, float a, float b)
{
    const float infinite = 65520;       /* from here on */
    if (p->format != GEMM_FP16) return true;
    return a < infinite && b < infinite && (!p->most_product || a * b <= p->most_product);
}
