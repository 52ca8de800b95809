/* SPDX-License-Identifier: MIT */
/*
 * A burst, in order:
 *   - calls that are not timed wake the threads and warm the caches; the very first of a row is its
 *     "first call" and is judged alone;
 *   - the timed calls;
 *   - C is judged: it must be C0 plus as many products as there were calls on it. So a row that is
 *     only sometimes wrong is found too.
 * Calls go through the driver, as those of Darknet do: what a row declines runs on stock.
 *
 * Memory: each matrix starts OFFSET bytes behind a page, where malloc puts Darknet's large buffers.
 * With `host_alloc` a row on a device gets blocks of its driver, as the patched Darknet gets them
 * from gemm_host_alloc. A, B and C hold random values of [-1, 1).
 *
 * A sample is at least 20 us long. Shorter calls are timed several at once.
 */
#include "gemm-bench/measure.h"

#include "cl/configure.h"
#include "common/apart.h"
#include "common/cycles.h"
#include "common/machine.h"
#include "common/random.h"
#include "driver/memory.h"
#include "driver/start.h"
#include "gemm_dispatch.h"
#include "util/clock.h"
#include "util/cores.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/*
 * The calls that are not timed last 5 ms. A sleeping thread wakes up in tenths of a millisecond.
 * The host of a virtual machine may then need milliseconds to give each processor a core.
 * There are at least 8 of them, or 20 ms: a last-level cache full of other data needs so many calls
 * until it keeps what fits of these matrices. A row that learns from its calls gets as many as it
 * needs (gemm_device.warm_up).
 */
static const double WARM_S = 5e-3, WARM_MOST_S = 20e-3;
enum { WARM_CALLS = 8, OFFSET = 16 };

static void sleep_seconds(double s)
{
    const struct timespec t = {(time_t)s, (long)(1e9 * (s - (double)(time_t)s))};
    nanosleep(&t, NULL);
}

/* ---- the problem ---- */

static void *allocate(size_t bytes, bool shared)
{
    void *memory;
    if (shared) return gemm_cl_alloc(bytes);
    return posix_memalign(&memory, 4096, bytes) ? NULL : memory;
}

static float *make_matrix(problem *p, int slot, size_t rows, size_t columns, size_t ld,
                          rng *random)
{
    const size_t count = (rows - 1) * ld + columns, offset = p->shared ? 0 : OFFSET;
    p->memory[slot] = allocate(offset + count * sizeof(float), p->shared);
    if (!p->memory[slot]) return NULL;
    float *m = (float *)((char *)p->memory[slot] + offset);
    for (size_t i = 0; i < count; ++i) m[i] = rng_float(random);
    return m;
}

static size_t floats_of_C(const shape *s)
{
    return (size_t)(s->M - 1) * (size_t)s->ldc + (size_t)s->N;
}

static gemm_call call_of(const problem *p, float *C)
{
    const shape *s = &p->shape;
    return (gemm_call){.TA = s->TA, .TB = s->TB, .M = s->M, .N = s->N, .K = s->K, .ALPHA = 1,
                       .A = p->A, .lda = s->lda, .B = p->B, .ldb = s->ldb, .C = C,
                       .ldc = s->ldc};
}

static void problem_free(problem *p)
{
    if (p->ready) reference_free(&p->reference);
    for (size_t i = 0; i < sizeof(p->memory) / sizeof(p->memory[0]); ++i)
        gemm_host_free(p->memory[i]);
    *p = (problem){0};
}

/* Whether the row gets memory of the device. */
static bool is_shared(const burst_job *job)
{
    return job->host_alloc && gemm_shares_memory(&gemm_variants[job->variant]);
}

static bool problem_make(problem *p, const burst_job *job, bool shared)
{
    if (p->ready && !memcmp(&p->shape, &job->shape, sizeof(shape)) && p->seed == job->seed)
        return true;
    problem_free(p);
    const shape *s = &job->shape;
    const size_t M = (size_t)s->M, N = (size_t)s->N, K = (size_t)s->K;
    rng random = rng_make(job->seed, 0);
    p->shape = *s;
    p->seed = job->seed;
    p->shared = shared;
    p->A = make_matrix(p, 0, s->TA ? K : M, s->TA ? M : K, (size_t)s->lda, &random);
    p->B = make_matrix(p, 1, s->TB ? N : K, s->TB ? K : N, (size_t)s->ldb, &random);
    p->C0 = make_matrix(p, 2, M, N, (size_t)s->ldc, &random);
    p->C = make_matrix(p, 3, M, N, (size_t)s->ldc, &random);
    const gemm_call c = call_of(p, p->C0);
    p->ready = p->A && p->B && p->C0 && p->C
               && !reference_make(&p->reference, &c, gemm_allowed_cores());
    return p->ready;
}

void problems_free(problems *all)
{
    problem_free(&all->plain);
    problem_free(&all->shared);
}

/* ---- caches ---- */

static void flush(const float *m, size_t rows, size_t columns, size_t ld)
{
#if defined(__x86_64__)
    const char *end = (const char *)(m + (rows - 1) * ld + columns);
    for (const char *line = (const char *)m; line < end; line += 64) _mm_clflush(line);
    _mm_mfence();
#else
    (void)m, (void)rows, (void)columns, (void)ld;
#endif
}

/* Reads and writes twice the largest cache, so that what a row keeps for itself leaves it too. */
static void sweep_caches(void)
{
    static volatile char *junk;
    static size_t size;
    if (!junk) {
        machine m;
        machine_read(&m);
        size = 2 * (size_t)(m.last_level_bytes > 0 ? m.last_level_bytes : 32 << 20);
        junk = malloc(size);
    }
    for (size_t i = 0; junk && i < size; i += 64) ++junk[i];
}

static void empty_caches(const problem *p)
{
    const shape *s = &p->shape;
    const size_t M = (size_t)s->M, N = (size_t)s->N, K = (size_t)s->K;
    sweep_caches();
    flush(p->A, s->TA ? K : M, s->TA ? M : K, (size_t)s->lda);
    flush(p->B, s->TB ? N : K, s->TB ? K : N, (size_t)s->ldb);
    flush(p->C, M, N, (size_t)s->ldc);
}

/* Waits until no thread of this process works any more. Those of OpenMP and OpenBLAS spin for a
   while after a call, and would take a core from the next row. */
static void wait_for_idle(void)
{
    struct timespec before, after;
    for (int i = 0; i < 100; ++i) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        const double start = gemm_now_s();
        sleep_seconds(5e-4);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
        const double used = (double)(after.tv_sec - before.tv_sec)
                            + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
        if (used < 0.2 * (gemm_now_s() - start)) return;
    }
}

/* ---- the burst ---- */

typedef struct run {
    problem *p;
    const burst_job *job;
    const gemm_variant *v, *ran;    /* ran: by the last call */
    gemm_call call;
    long calls;                     /* since C was C0 */
    gemm_note note;                 /* of the last call */
    burst_result *result;
} run;

/* Seconds of `n` calls. */
static double time_calls(run *r, long n)
{
    const double start = gemm_now_s();
    for (long i = 0; i < n; ++i) r->ran = gemm_run(r->v, &r->call, &r->note);
    const double s = gemm_now_s() - start;
    r->calls += n;
    r->result->spent_s += s;
    return s;
}

static bool judge(run *r)
{
    burst_result *result = r->result;
    if (reference_holds(&r->p->reference, &r->call, r->calls, r->v->rounding, result->text,
                        sizeof(result->text)))
        return true;
    result->status = BURST_WRONG;
    return false;
}

static void reset(run *r)
{
    memcpy(r->p->C, r->p->C0, floats_of_C(&r->p->shape) * sizeof(float));
    r->calls = 0;
}

/* Whether the row multiplies such transposes itself. The try is large enough that no row leaves it
   to stock because stock is faster. */
static bool does_transposes(const gemm_variant *v, int TA, int TB)
{
    enum { SIDE = 64 };
    static float A[SIDE * SIDE], B[SIDE * SIDE], C[SIDE * SIDE];
    const gemm_call c = {.TA = TA, .TB = TB, .M = SIDE, .N = SIDE, .K = SIDE, .ALPHA = 1, .A = A,
                         .lda = SIDE, .B = B, .ldb = SIDE, .C = C, .ldc = SIDE};
    return gemm_run(v, &c, NULL) == v;
}

/* What the last call ran. */
static void tell_ran(run *r)
{
    burst_result *result = r->result;
    const char *ran = r->ran == r->v ? r->note.ran : r->ran->name;
    snprintf(result->ran, sizeof(result->ran), "%s", ran);
    if (r->ran == r->v && r->note.why)
        gemm_append(result->ran, sizeof(result->ran), " (%s)", r->note.why);
}

/* The first call of a row for this shape; false when it is wrong. */
static bool first_call(run *r)
{
    burst_result *result = r->result;
    result->first_s = time_calls(r, 1);
    const bool right = judge(r);
    reset(r);
    if (right && r->ran != r->v && !does_transposes(r->v, r->call.TA, r->call.TB))
        result->status = BURST_DECLINED;
    return right;
}

/* Makes the calls that are not timed and returns the seconds of one, or -1 when the first is wrong.
   After the first few calls C is made anew for each, because sums in a C that has grown large are
   rounded more coarsely. */
static double warm_up(run *r)
{
    reset(r);
    if (r->job->first && !first_call(r)) return -1;
    const int least = r->job->first && r->v->device ? r->v->device->warm_up : 0;
    if (r->job->first && !least && r->result->first_s > WARM_MOST_S) return r->result->first_s;
    double once = 0, spent = 0;
    for (int n = 0; n < least || spent < WARM_S || (n < WARM_CALLS && spent < WARM_MOST_S); ++n) {
        if (n >= WARM_CALLS) reset(r);
        once = time_calls(r, 1);
        spent += once;
    }
    return once;
}

static void take_samples(run *r, double once)
{
    const burst_job *job = r->job;
    const double call = once > 1e-8 ? once : 1e-8;
    const long calls = job->cold || once > 20e-6 ? 1 : (long)(20e-6 / call) + 1;
    for (int i = 0; i < job->samples; ++i) {
        if (job->cold) empty_caches(r->p);
        cycles_start();
        const double s = time_calls(r, calls);
        const double cycles = cycles_stop();
        r->result->seconds[i] = s / (double)calls;
        r->result->cycles[i] = cycles < 0 ? -1 : cycles / (double)calls;
        r->result->samples = i + 1;
    }
}

__attribute__((format(printf, 1, 2)))
static burst_result failed(const char *format, ...)
{
    burst_result result = {.status = BURST_FAILED, .first_s = -1};
    va_list args;
    va_start(args, format);
    vsnprintf(result.text, sizeof(result.text), format, args);
    va_end(args);
    return result;
}

burst_result measure_burst(problems *all, const burst_job *job)
{
    const bool shared = is_shared(job);
    problem *p = shared ? &all->shared : &all->plain;
    burst_result result = {.status = BURST_OK, .first_s = -1};
    const gemm_variant *v = &gemm_variants[job->variant];
    const char *reason = job->first ? gemm_unusable(v) : NULL;
    if (reason) return failed("it cannot run here: %s", reason);
    if (gemm_get_state()->check) return failed("GEMM_CHECK=1 would be timed too: unset it");
    if (!problem_make(p, job, shared))
        return failed("no memory%s for M=%d N=%d K=%d", shared ? " of the device" : "",
                      job->shape.M, job->shape.N, job->shape.K);
    run r = {.p = p, .job = job, .v = v, .call = call_of(p, p->C), .result = &result};
    gemm_set_threads(job->threads);
    gemm_wait_for_compilers();
    const double once = warm_up(&r);
    if (once >= 0) take_samples(&r, once);
    tell_ran(&r);
    wait_for_idle();
    if (result.status != BURST_WRONG) judge(&r);
    return result;
}

/* ---- a burst in another process ---- */

static bool transfer(int fd, void *data, size_t size, ssize_t (*move)(int, void *, size_t))
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = move(fd, (char *)data + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static ssize_t put(int fd, void *data, size_t size)
{
    return write(fd, data, size);
}

static void set_environment(const char *settings)
{
    char *copy = strdup(settings);
    char *rest = copy;
    for (char *setting; copy && (setting = strsep(&rest, "+"));) {
        char *equals = strchr(setting, '=');
        *equals = '\0';
        setenv(setting, equals + 1, 1);
    }
    free(copy);
}

static _Noreturn void serve(int in, int out)
{
    problems all = {0};
    burst_job job;
    while (transfer(in, &job, sizeof(job), read)) {
        burst_result result = measure_burst(&all, &job);
        if (!transfer(out, &result, sizeof(result), put)) break;
    }
    problems_free(&all);
    exit(0);
}

int worker_start(worker *w, const char *settings)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) return -1;
    fflush(NULL);
    const pid_t parent = getpid();
    w->pid = fork();
    if (w->pid < 0) return -1;
    if (w->pid == 0) {
        apart_follow_parent(parent);
        signal(SIGINT, SIG_IGN);            /* Ctrl-C is the parent's to handle */
        close(to[1]);
        close(from[0]);
        if (settings) set_environment(settings);
        serve(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    w->to = to[1];
    w->from = from[0];
    return 0;
}

burst_result worker_burst(worker *w, const burst_job *job)
{
    burst_result result;
    burst_job copy = *job;
    if (!w->pid) return failed("its process %s at an earlier shape", w->end);
    if (transfer(w->to, &copy, sizeof(copy), put)
        && transfer(w->from, &result, sizeof(result), read))
        return result;
    int status = 0;
    waitpid(w->pid, &status, 0);
    w->pid = 0;
    apart_explain(status, w->end, sizeof(w->end));
    return failed("its process %s", w->end);
}

void worker_stop(worker *w)
{
    close(w->to);
    close(w->from);
    if (w->pid > 0) waitpid(w->pid, NULL, 0);
    w->pid = 0;
}
