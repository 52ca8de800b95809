/* SPDX-License-Identifier: MIT */
/* Rows by turns: see times.h. */
#include "cl/times.h"

#include "common/random.h"
#include "driver/driver.h"
#include "gemm_cl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rng random_state = {88172645463325252u};

static float *random_matrix(size_t count)
{
    float *m = gemm_host_alloc(count, sizeof *m);
    if (!m) {
        fprintf(stderr, "bench_cl: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < count; ++i)
        m[i] = rng_float(&random_state);
    return m;
}

gemm_call times_make_call(shape_size s)
{
    return (gemm_call){.M = s.M, .N = s.N, .K = s.K, .ALPHA = 1.0f,
                       .A = random_matrix((size_t)s.M * (size_t)s.K), .lda = s.K,
                       .B = random_matrix((size_t)s.K * (size_t)s.N), .ldb = s.N,
                       .C = random_matrix((size_t)s.M * (size_t)s.N), .ldc = s.N};
}

void times_free_call(gemm_call *g)
{
    gemm_host_free((float *)g->A);
    gemm_host_free((float *)g->B);
    gemm_host_free(g->C);
}

double times_gflop(shape_size s)
{
    return 2e-9 * s.M * s.N * s.K;
}

/* ---- turns ---- */

static int by_wall(const void *a, const void *b)
{
    const double x = ((const gemm_cl_times *)a)->wall_ms, y = ((const gemm_cl_times *)b)->wall_ms;
    return (x > y) - (x < y);
}

/* Two calls that are not counted. The second one says how many calls fill a turn. */
static void warm_up(const gemm_call *g, const named_row *row, measured *m)
{
    gemm_cl_times once = {.wall_ms = 0};
    *m = (measured){.reps = 1};
    for (int warm = 0; warm < 2 && once.wall_ms <= 500.0; ++warm) {
        m->failed = gemm_cl_unusable(row->row) || gemm_cl_time(g, row->row, 1, &once) != 0;
        if (m->failed) return;
    }
    const double calls = 20.0 / (once.wall_ms + 1e-3);
    m->reps = calls < 1.0 ? 1 : calls > 200.0 ? 200 : (int)calls;
}

void times_measure(shape_size s, const named_row *rows, int count, measured *out)
{
    gemm_call g = times_make_call(s);
    for (int r = 0; r < count; ++r) warm_up(&g, &rows[r], &out[r]);
    for (int round = 0; round < TIMES_ROUNDS; ++round)
        for (int r = 0; r < count; ++r)
            if (!out[r].failed)
                out[r].failed =
                    gemm_cl_time(&g, rows[r].row, out[r].reps, &out[r].all[round]) != 0;
    for (int r = 0; r < count; ++r) {
        qsort(out[r].all, TIMES_ROUNDS, sizeof out[r].all[0], by_wall);
        out[r].median = out[r].all[TIMES_ROUNDS / 2];
        out[r].low = out[r].all[0].wall_ms;
        out[r].high = out[r].all[TIMES_ROUNDS - 1].wall_ms;
    }
    times_free_call(&g);
}
