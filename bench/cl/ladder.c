/* SPDX-License-Identifier: MIT */
/*
 * The search of a paper, with cl_naive, cl_image and cl beside it.
 *
 * The authors decided one thing after the other: the side of a block, local memory, the width of a
 * vector, the unrolling. Each decision keeps the ones before it. The search here times all
 * combinations too, and shows what that order misses.
 *
 * Source: Wang, Shi, Wen: CNN convolution on mobile GPUs (2018). Its figures are marked as theirs.
 */
#include "cl/ladder.h"

#include "cl/times.h"
#include "common/stats.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "util/clock.h"

#include <stdio.h>

typedef struct candidate {
    named_row row;
    int side;                   /* of a block; 0: not of the search, but beside it */
    bool local;                 /* blocks in local memory */
    int floats, unrolling;
} candidate;

#define A_BLOCK(name, side) {{"cl_block_" #name, &gemm_cl_block_##name}, side, false, 1, 1},
#define A_LOCAL(name, side, floats, unrolling) \
    {{"cl_local_" #name, &gemm_cl_local_##name}, side, true, floats, unrolling},
static const candidate candidates[] = {
    {{"cl_naive", &gemm_cl_naive}, 0, false, 1, 1},
    {{"cl_block", &gemm_cl_block}, 32, false, 1, 1},
    GEMM_CL_BLOCKS(A_BLOCK)
    {{"cl_local", &gemm_cl_local}, 32, true, 1, 1},
    GEMM_CL_SEARCH(A_LOCAL)
    {{"cl_image", &gemm_cl_image}, 0, false, 1, 1},
    {{"cl", &gemm_cl_best}, 0, false, 1, 1},
};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

/* Whether c is one of the choices of a decision that keeps what `chosen` has. */
typedef bool is_choice(const candidate *c, const candidate *chosen);

static bool is_block(const candidate *c, const candidate *chosen)
{
    (void)chosen;
    return !c->local && c->side;
}

static bool is_searched(const candidate *c, const candidate *chosen)
{
    (void)chosen;
    return c->side;
}

static bool is_local(const candidate *c, const candidate *chosen)
{
    return c->local && c->side == chosen->side && c->floats == 1 && c->unrolling == 1;
}

static bool is_vector(const candidate *c, const candidate *chosen)
{
    return c->local && c->side == chosen->side && c->unrolling == 1;
}

static bool is_unrolling(const candidate *c, const candidate *chosen)
{
    return c->local && c->side == chosen->side && c->floats == chosen->floats;
}

static const struct decision {
    const char *name;
    is_choice *may_be;
    const char *paper;          /* what it took, and its gain */
} decisions[] = {
    {"block", is_block, "32"},
    {"local memory", is_local, "yes, 3"},
    {"vector", is_vector, "float4, 1.25"},
    {"unrolling", is_unrolling, "8, 1.16"},
};

/* The fastest candidate that may be chosen, or -1. */
static int fastest(const measured *m, is_choice *may_be, const candidate *chosen)
{
    int best = -1;
    for (int i = 0; i < CANDIDATES; ++i) {
        if (m[i].failed || !may_be(&candidates[i], chosen)) continue;
        if (best < 0 || m[i].median.device_ms < m[best].median.device_ms) best = i;
    }
    return best;
}

/* The same: the decisions of the paper, one after the other. */
static int decide(const measured *m)
{
    int chosen = -1;
    printf("| decision | taken | ms | gain | the paper's, on an Adreno 330 |\n"
           "|---|---|---|---|---|\n");
    for (size_t d = 0; d < sizeof decisions / sizeof decisions[0]; ++d) {
        const candidate *before = chosen >= 0 ? &candidates[chosen] : NULL;
        const int next = fastest(m, decisions[d].may_be, before);
        if (next < 0) return chosen;
        const double ms = m[next].median.device_ms;
        printf("| %s | %s | %.4f | %.2f | %s |\n", decisions[d].name, candidates[next].row.name, ms,
               before ? m[chosen].median.device_ms / ms : 1.0, decisions[d].paper);
        chosen = next;
    }
    return chosen;
}

/* naive_ms: what cl_naive, the first candidate, takes. */
static bool print_candidate(int i, const measured *m, shape_size s, double naive_ms)
{
    const candidate *c = &candidates[i];
    const char *why = gemm_cl_unusable(c->row.row);
    printf("| %s |", c->row.name);
    if (c->side)
        printf(" %d | %s | %d | %d |", c->side, c->local ? "yes" : "no", c->floats,
               c->unrolling);
    else printf(" | | | |");
    if (m->failed) {
        printf(" %s |\n", why ? why : "failed");
        return why != NULL;
    }
    printf(" %.4f | %.4f | %.1f |", m->median.device_ms, m->median.kernel_ms,
           times_gflop(s) / m->median.device_ms * 1e3);
    printf(" %.1f |\n", naive_ms / m->median.device_ms);
    return true;
}

/* Milliseconds of a multiply by OpenBLAS on the CPU: the paper's baseline. Below 0: it cannot run
   here. */
static double openblas_ms(shape_size s)
{
    enum { ROUNDS = 5 };
    const gemm_variant *row = gemm_find("openblas");
    const char *why = gemm_unusable(row);
    double ms[ROUNDS];
    if (why) {
        printf("\nopenblas: SKIP %s\n", why);
        return -1;
    }
    gemm_call g = times_make_call(s);
    gemm_run(row, &g, NULL);
    for (int i = 0; i < ROUNDS; ++i) {
        const double start = gemm_now_ms();
        gemm_run(row, &g, NULL);
        ms[i] = gemm_now_ms() - start;
    }
    times_free_call(&g);
    return stats_median(ms, ROUNDS);
}

bool ladder_search(shape_size s)
{
    named_row rows[CANDIDATES];
    static measured m[CANDIDATES];
    bool right = true;
    for (int i = 0; i < CANDIDATES; ++i) rows[i] = candidates[i].row;
    times_measure(s, rows, CANDIDATES, m);
    printf("the paper's search on %dx%dx%d; ms a call by events, padding and turning included\n",
           s.M, s.N, s.K);
    printf("| row | block | local | vector | unrolled | all kernels | multiply | GFLOP/s | "
           "over cl_naive |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < CANDIDATES; ++i)
        right = print_candidate(i, &m[i], s, m[0].median.device_ms) && right;
    printf("\nby the paper's order of decisions:\n");
    const int chosen = decide(m), best = fastest(m, is_searched, NULL);
    if (chosen < 0) return false;
    printf("\nchosen: %s, %.4f ms; best of all: %s, %.4f ms, %.2f of it\n\n",
           candidates[chosen].row.name, m[chosen].median.device_ms, candidates[best].row.name,
           m[best].median.device_ms, m[best].median.device_ms / m[chosen].median.device_ms);
    const double cpu_ms = openblas_ms(s);
    if (cpu_ms > 0)
        printf("OpenBLAS on the CPU: %.4f ms; chosen over it: %.2f (the paper: 16.39, theirs)\n\n",
               cpu_ms, cpu_ms / m[chosen].median.device_ms);
    fflush(stdout);
    return right;
}
