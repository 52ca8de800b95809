/* SPDX-License-Identifier: MIT */
/*
 * One multiply under GEMM_IMPL, for a simulator of caches.
 *
 *   one_call M N K
 *
 * Each matrix begins 16 bytes behind a page, as in gemm-bench. The multiply is the only call of the
 * row, so that the counts of the row's own function are those of one call.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/random.h"
#include "gemm_dispatch.h"
#include "util/number.h"

enum { PAGE = 4096, OFFSET = 16, MOST = 4096 };

/* Random numbers of its own stream. Ends the program where memory is short. The memory is never
   freed, because the program ends after one call. */
static float *make_matrix(int rows, int columns, uint64_t stream)
{
    const size_t count = (size_t)rows * (size_t)columns;
    const size_t bytes = (OFFSET + count * sizeof(float) + PAGE - 1) / PAGE * PAGE;
    char *memory = aligned_alloc(PAGE, bytes);
    if (!memory) {
        fprintf(stderr, "one_call: no memory for %d x %d floats\n", rows, columns);
        exit(1);
    }
    float *m = (float *)(memory + OFFSET);
    rng r = rng_make(1, stream);
    for (size_t i = 0; i < count; ++i) m[i] = rng_float(&r);
    return m;
}

int main(int argc, char **argv)
{
    int size[3];
    if (argc != 4) {
        fprintf(stderr, "usage: one_call M N K\n");
        return 2;
    }
    for (int i = 0; i < 3; ++i) {
        if (!gemm_parse_int(argv[i + 1], 1, MOST, &size[i])) {
            fprintf(stderr, "one_call: '%s': a whole number from 1 to %d is needed\n", argv[i + 1],
                    MOST);
            return 2;
        }
    }
    const int M = size[0], N = size[1], K = size[2];
    const gemm_call call = {.M = M, .N = N, .K = K, .ALPHA = 1,
                            .A = make_matrix(M, K, 0), .lda = K,
                            .B = make_matrix(K, N, 1), .ldb = N,
                            .C = make_matrix(M, N, 2), .ldc = N};
    gemm_dispatch(&call);
    return 0;
}
