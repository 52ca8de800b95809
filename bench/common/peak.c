/* SPDX-License-Identifier: MIT */
/*
 * FMA peak: independent accumulators, each acc = acc * x + y, in registers only. (NEON computes
 * acc += x * y, because it has no other form.) x86-64: an FMA takes 4 or 5 cycles and 2 start in
 * each, so 10 chains are enough: 12. aarch64: 4 cycles, up to 4 start in each: 20. The steps are in
 * assembly, because clang 14 spills an accumulator and halves the figure.
 *
 * Bandwidth: every thread streams over its own share of arrays that are far larger than the caches.
 *
 * All threads start at a barrier, each on its own processor. The time is from the first start to
 * the last end.
 */
#include "common/peak.h"

#include "util/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define EACH12(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define EACH20(F) EACH12(F) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19)

/* x = 0.5 and y = 1 keep every accumulator near 2: no overflow, no denormal. */
#define SET(i) acc##i = (v){0} + (1 + 0.0625f * i);
#define STEP_GENERIC(i) acc##i = acc##i * x + y;
#define STEP_X86(i) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+v"(acc##i) : "v"(x), "v"(y));
#define STEP_NEON(i) __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc##i) : "w"(x), "w"(y));
#define SUM(i) sum += acc##i;
#define NAME(i) acc##i,

/* run_ISA: `steps` steps of each accumulator, a vector of `floats`. */
#define RUN(isa, floats, EACH, STEP)                                                              \
    static double run_##isa(long steps)                                                           \
    {                                                                                             \
        typedef float v __attribute__((vector_size(4 * (floats))));                               \
        v EACH(NAME) x = (v){0} + 0.5f, y = (v){0} + 1.0f, sum = {0};                             \
        EACH(SET)                                                                                 \
        for (long s = 0; s < steps; ++s) {                                                        \
            EACH(STEP)                                                                            \
        }                                                                                         \
        EACH(SUM)                                                                                 \
        double all = 0;                                                                           \
        for (int i = 0; i < (floats); ++i) all += (double)sum[i];                                 \
        return all;                                                                               \
    }

/* The compiler's baseline: SSE2 multiply and add on x86-64, NEON on aarch64. */
RUN(generic, 4, EACH12, STEP_GENERIC)

static bool always(void)
{
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

__attribute__((target("avx2,fma"))) RUN(avx2, 8, EACH12, STEP_X86)
__attribute__((target("avx512f"))) RUN(avx512, 16, EACH12, STEP_X86)
#elif defined(__aarch64__)
RUN(neon, 4, EACH20, STEP_NEON)
#endif

const peak_isa peak_isas[] = {
#if defined(__x86_64__)
    {"avx512", has_avx512, run_avx512, 2.0 * 16 * 12},
    {"avx2", has_avx2, run_avx2, 2.0 * 8 * 12},
#elif defined(__aarch64__)
    {"neon", always, run_neon, 2.0 * 4 * 20},
#endif
    {"generic", always, run_generic, 2.0 * 4 * 12},
};

const size_t peak_isa_count = sizeof(peak_isas) / sizeof(peak_isas[0]);

const peak_isa *peak_find(const char *name)
{
    for (size_t i = 0; i < peak_isa_count; ++i)
        if (!strcmp(peak_isas[i].name, name)) return &peak_isas[i];
    return NULL;
}

const peak_isa *peak_best(void)
{
    const peak_isa *isa = peak_isas;
    while (!isa->usable()) ++isa;           /* the last one always is */
    return isa;
}

/* ---- threads that start together ---- */

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    double (*work)(const struct worker *);
    const peak_isa *isa;
    long steps;
    float *a, *b, *c;                       /* this thread's share, `count` floats each */
    size_t count;
    int cpu;                                /* where it is to run; below 0: anywhere */
    double start, end, result;
} worker;

static void *run_worker(void *argument)
{
    worker *w = argument;
    if (w->cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(w->cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    pthread_barrier_wait(w->barrier);
    w->start = gemm_now_s();
    w->result = w->work(w);
    w->end = gemm_now_s();
    return NULL;
}

/* Each worker gets an allowed processor of its own, because new threads share one for their first
   milliseconds. The caller stays where it is. More threads than processors run anywhere. */
static void place_workers(worker *workers, int threads, const cpu_set_t *allowed)
{
    int cpu = sched_getcpu();
    const bool enough = cpu >= 0 && CPU_ISSET(cpu, allowed) && CPU_COUNT(allowed) >= threads;
    for (int t = 0; t < threads; ++t) {
        workers[t].cpu = enough ? cpu : -1;
        do cpu = (cpu + 1) % CPU_SETSIZE;
        while (enough && !CPU_ISSET(cpu, allowed));
    }
}

/* Seconds from the first start to the last end of `threads` copies of the work, or -1. */
static double run_together(worker *workers, int threads)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    place_workers(workers, threads, &allowed);
    pthread_barrier_t barrier;
    if (pthread_barrier_init(&barrier, NULL, (unsigned)threads)) return -1;
    for (int t = 0; t < threads; ++t) workers[t].barrier = &barrier;
    for (int t = 1; t < threads; ++t) {
        if (pthread_create(&workers[t].thread, NULL, run_worker, &workers[t])) {
            /* those that wait at the barrier would wait for ever */
            while (--t > 0) {
                pthread_cancel(workers[t].thread);
                pthread_join(workers[t].thread, NULL);
            }
            return -1;
        }
    }
    run_worker(&workers[0]);
    sched_setaffinity(0, sizeof allowed, &allowed);
    double first = workers[0].start;
    double last = workers[0].end;
    for (int t = 1; t < threads; ++t) {
        pthread_join(workers[t].thread, NULL);
        if (workers[t].start < first) first = workers[t].start;
        if (workers[t].end > last) last = workers[t].end;
    }
    pthread_barrier_destroy(&barrier);
    return last - first;
}

/* The shortest of `tries` runs in seconds, or -1. Long runs need fewer: two, and more until
   ENOUGH_SECONDS have passed. */
#define ENOUGH_SECONDS .2
static double best_of(int tries, worker *workers, int threads)
{
    double best = -1, all = 0;
    for (int i = 0; i < tries && (i < 2 || all < ENOUGH_SECONDS); ++i) {
        const double s = run_together(workers, threads);
        if (s < 0) return -1;
        if (best < 0 || s < best) best = s;
        all += s;
    }
    return best;
}

/* ---- multiply-adds ---- */

enum { TRIES = 9 };

static double work_fma(const worker *w)
{
    return w->isa->run(w->steps);
}

int peak_samples(const peak_isa *isa, int threads, double seconds, int count, double *gflops)
{
    worker *workers = calloc((size_t)threads, sizeof(worker));
    if (!workers) return -1;
    workers[0] = (worker){.work = work_fma, .isa = isa, .steps = 20000};
    const double probe = best_of(3, workers, 1);
    const long steps = probe > 0 ? (long)(20000 * seconds / probe) + 1 : 20000;
    for (int t = 0; t < threads; ++t)
        workers[t] = (worker){.work = work_fma, .isa = isa, .steps = steps};
    int i = -1;
    for (; i < count; ++i) {
        const double s = run_together(workers, threads);
        if (s <= 0) break;
        if (i >= 0) gflops[i] = 1e-9 * isa->flops_a_step * (double)steps * threads / s;
    }
    free(workers);
    return i == count ? 0 : -1;
}

double peak_gflops(const peak_isa *isa, int threads)
{
    double gflops[TRIES], best = -1;
    if (peak_samples(isa, threads, 5e-3, TRIES, gflops)) return -1;
    for (int i = 0; i < TRIES; ++i) best = gflops[i] > best ? gflops[i] : best;
    return best;
}

/* ---- bandwidth ---- */

typedef float v4 __attribute__((vector_size(16)));

/* Eight sums of four: one chain of additions would be slower than memory. */
static double work_read(const worker *w)
{
    v4 sum[8] = {{0}};
    for (size_t i = 0; i + 32 <= w->count; i += 32)
        for (size_t s = 0; s < 8; ++s) sum[s] += *(const v4 *)(w->a + i + 4 * s);
    double all = 0;
    for (size_t s = 0; s < 8; ++s)
        all += (double)sum[s][0] + (double)sum[s][1] + (double)sum[s][2] + (double)sum[s][3];
    return all;
}

static double work_triad(const worker *w)
{
    float *restrict a = w->a;
    const float *restrict b = w->b, *restrict c = w->c;
    for (size_t i = 0; i < w->count; ++i) a[i] = b[i] + 0.5f * c[i];
    return (double)a[0];
}

/* Touches the pages on the thread that will use them. */
static double work_fill(const worker *w)
{
    for (size_t i = 0; i < w->count; ++i) w->a[i] = 1;
    return 0;
}

/* GB/s of `work`, or -1. */
static double rate(double (*work)(const worker *), worker *workers, int threads, double bytes)
{
    for (int t = 0; t < threads; ++t) workers[t].work = work;
    const double best = best_of(TRIES, workers, threads);
    return best > 0 ? 1e-9 * bytes / best : -1;
}

/* A thread has a share of the memory. It reads the whole share, or each third of it is an array. */
peak_bandwidth peak_bandwidth_measure(int threads, size_t bytes)
{
    const size_t each = bytes / sizeof(float) / 3 / (size_t)threads / 64 * 64;
    const size_t floats = 3 * each * (size_t)threads;
    float *memory = NULL;
    worker *workers = calloc((size_t)threads, sizeof(worker));
    peak_bandwidth result = {-1, -1};
    if (workers && !posix_memalign((void **)&memory, 4096, floats * sizeof(float))) {
        for (int t = 0; t < threads; ++t)
            workers[t] = (worker){.work = work_fill, .count = 3 * each,
                                  .a = memory + 3 * each * (size_t)t};
        best_of(1, workers, threads);
        result.read_gbs = rate(work_read, workers, threads, (double)floats * sizeof(float));
        for (int t = 0; t < threads; ++t) {
            workers[t].count = each;
            workers[t].b = workers[t].a + each;
            workers[t].c = workers[t].b + each;
        }
        result.triad_gbs = rate(work_triad, workers, threads, (double)floats * sizeof(float));
    }
    free(memory);
    free(workers);
    return result;
}
