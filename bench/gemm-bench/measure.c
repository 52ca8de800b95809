/*
 * A burst, in order: calls that are not timed wake the threads and warm the caches (the very first is
 * the "first call" and is judged strictly); then the timed calls; then C is judged again, C0 plus as
 * many products as there were calls on it, so that a row which is only sometimes wrong is found too.
 *
 * Memory: each matrix starts `offset` bytes behind a page. The default of 16 is where malloc puts
 * Darknet's large buffers. A, B and C hold random values of [-1, 1].
 *
 * A sample is at least 20 us long: below, several calls make one.
 */
#include "gemm-bench/measure.h"

#include "common/cycles.h"
#include "common/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/*
 * The untimed calls. 5 ms: a thread that sleeps wakes up in tenths of a millisecond, and a virtual machine's
 * host then takes milliseconds to give each of its processors a core. 8 calls: a last-level cache full of
 * other data takes so many until it keeps what fits of these; 20 ms of them are enough.
 */
static const double WARM_S = 5e-3, WARM_MOST_S = 20e-3;
enum { WARM_CALLS = 8 };

double measure_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_seconds(double s)
{
    const struct timespec t = {(time_t)s, (long)(1e9 * (s - (double)(time_t)s))};
    nanosleep(&t, NULL);
}

/* ---- the problem ---- */

/* xorshift64*: the same operands for the same seed everywhere. */
static float random_float(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    const uint32_t high = (uint32_t)((*state * 2685821657736338717u) >> 40);
    return (float)high / 8388608.0f - 1;
}

static float *make_matrix(problem *p, int slot, size_t rows, size_t columns, size_t ld,
                          uint64_t *state)
{
    const size_t count = (rows - 1) * ld + columns;
    if (posix_memalign(&p->memory[slot], 4096, p->offset + count * sizeof(float))) {
        p->memory[slot] = NULL;
        return NULL;
    }
    float *m = (float *)((char *)p->memory[slot] + p->offset);
    for (size_t i = 0; i < count; ++i) m[i] = random_float(state);
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

static bool problem_make(problem *p, const burst_job *job)
{
    if (p->ready && !memcmp(&p->shape, &job->shape, sizeof(shape)) && p->seed == job->seed
        && p->offset == job->offset)
        return true;
    problem_free(p);
    const shape *s = &job->shape;
    const size_t M = (size_t)s->M, N = (size_t)s->N, K = (size_t)s->K;
    uint64_t state = job->seed * 2 + 1;     /* never 0, which would stay 0 */
    p->shape = *s;
    p->seed = job->seed;
    p->offset = job->offset;
    p->A = make_matrix(p, 0, s->TA ? K : M, s->TA ? M : K, (size_t)s->lda, &state);
    p->B = make_matrix(p, 1, s->TB ? N : K, s->TB ? K : N, (size_t)s->ldb, &state);
    p->C0 = make_matrix(p, 2, M, N, (size_t)s->ldc, &state);
    p->C = make_matrix(p, 3, M, N, (size_t)s->ldc, &state);
    machine m;
    machine_read(&m);
    const gemm_call c = call_of(p, p->C0);
    p->ready = p->A && p->B && p->C0 && p->C && !reference_make(&p->reference, &c, m.cores);
    return p->ready;
}

void problem_free(problem *p)
{
    if (p->ready) reference_free(&p->reference);
    for (size_t i = 0; i < sizeof(p->memory) / sizeof(p->memory[0]); ++i) free(p->memory[i]);
    *p = (problem){0};
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

/* Reads and writes twice the largest cache: what a row packed or keeps for itself goes too. */
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

/*
 * Waits until no thread of this process works any more: those of OpenMP and OpenBLAS spin for a
 * while after a call and would take a core from the next row, which may be in another process.
 */
static void wait_for_idle(void)
{
    struct timespec before, after;
    for (int i = 0; i < 100; ++i) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        const double start = measure_seconds();
        sleep_seconds(5e-4);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
        const double used = (double)(after.tv_sec - before.tv_sec)
                            + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
        if (used < 0.2 * (measure_seconds() - start)) return;
    }
}

/* ---- the burst ---- */

typedef struct run {
    problem *p;
    const burst_job *job;
    const gemm_variant *v;
    gemm_call call;
    long calls;                 /* since C was C0 */
    gemm_note note;             /* of the last call */
    burst_result *result;
} run;

/* Seconds of `n` calls, or -1 when the row declines. */
static double time_calls(run *r, long n)
{
    const double start = measure_seconds();
    for (long i = 0; i < n; ++i) {
        const gemm_context context = gemm_make_context(&r->note);
        if (r->v->run(&r->call, &context, r->v->params) != GEMM_DONE) {
            r->result->status = BURST_DECLINED;
            return -1;
        }
    }
    const double s = measure_seconds() - start;
    r->calls += n;
    r->result->spent_s += s;
    return s;
}

static bool judge(run *r)
{
    burst_result *result = r->result;
    if (!reference_holds(&r->p->reference, &r->call, r->calls, result->text,
                         sizeof(result->text)))
        result->status = BURST_WRONG;
    return result->status == BURST_OK;
}

static void reset(run *r)
{
    memcpy(r->p->C, r->p->C0, floats_of_C(&r->p->shape) * sizeof(float));
    r->calls = 0;
}

/* The very first call of a row for this shape; false when it declines or is wrong. */
static bool first_call(run *r)
{
    r->result->first_s = time_calls(r, 1);
    snprintf(r->result->ran, sizeof(r->result->ran), "%s", r->note.ran);
    const bool good = r->result->status == BURST_OK && judge(r);
    reset(r);
    return good;
}

/* Returns how long an untimed call takes, or -1. Calls so short that more than a few are made have C made
   anew each time: what is added to it is rounded more coarsely the larger it has grown. */
static double warm_up(run *r)
{
    reset(r);
    if (r->job->first && !first_call(r)) return -1;
    if (r->job->first && r->result->first_s > WARM_MOST_S) return r->result->first_s;
    double once = 0, spent = 0;
    for (int n = 0; spent < WARM_S || (n < WARM_CALLS && spent < WARM_MOST_S); ++n) {
        if (n >= WARM_CALLS) reset(r);
        once = time_calls(r, 1);
        if (once < 0) break;
        spent += once;
    }
    return once;
}

static void take_samples(run *r, double once)
{
    const burst_job *job = r->job;
    const bool alone = job->cold || job->idle_s > 0;
    const long calls = alone || once > 20e-6 ? 1 : (long)(20e-6 / (once > 1e-8 ? once : 1e-8)) + 1;
    for (int i = 0; i < job->samples; ++i) {
        if (job->cold) empty_caches(r->p);
        if (job->idle_s > 0) sleep_seconds(job->idle_s);
        cycles_start();
        const double s = time_calls(r, calls);
        const double cycles = cycles_stop();
        if (s < 0) return;
        r->result->seconds[i] = s / (double)calls;
        r->result->cycles[i] = cycles < 0 ? -1 : cycles / (double)calls;
        r->result->samples = i + 1;
    }
}

burst_result measure_burst(problem *p, const burst_job *job)
{
    burst_result result = {.status = BURST_OK, .first_s = -1};
    const gemm_variant *v = &gemm_variants[job->variant];
    const char *reason = job->first ? gemm_unusable(v) : NULL;
    if (reason) {
        result.status = BURST_FAILED;
        snprintf(result.text, sizeof(result.text), "it cannot run here: %s", reason);
        return result;
    }
    if (!problem_make(p, job)) {
        result.status = BURST_FAILED;
        snprintf(result.text, sizeof(result.text), "no memory for M=%d N=%d K=%d", job->shape.M,
                 job->shape.N, job->shape.K);
        return result;
    }
    run r = {.p = p, .job = job, .v = v, .call = call_of(p, p->C),
             .result = &result};
    gemm_set_threads(job->threads);
    const double once = warm_up(&r);
    if (once >= 0) take_samples(&r, once);
    wait_for_idle();
    if (result.status == BURST_OK) judge(&r);
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
    problem p = {0};
    burst_job job;
    while (transfer(in, &job, sizeof(job), read)) {
        burst_result result = measure_burst(&p, &job);
        if (!transfer(out, &result, sizeof(result), put)) break;
    }
    problem_free(&p);
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
        /* ends with its parent, however that ends; Ctrl-C is the parent's to handle */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) exit(1);
        signal(SIGINT, SIG_IGN);
        close(to[1]);
        close(from[0]);
        set_environment(settings);
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
    if (w->pid == 0)
        return (burst_result){.status = BURST_FAILED, .first_s = -1, .text = "its process is gone"};
    if (transfer(w->to, &copy, sizeof(copy), put) && transfer(w->from, &result, sizeof(result), read))
        return result;
    int status = 0;
    waitpid(w->pid, &status, 0);
    w->pid = 0;
    result = (burst_result){.status = BURST_FAILED, .first_s = -1};
    if (WIFSIGNALED(status))
        snprintf(result.text, sizeof(result.text), "its process died: %s",
                 strsignal(WTERMSIG(status)));
    else
        snprintf(result.text, sizeof(result.text), "its process ended with status %d",
                 WEXITSTATUS(status));
    return result;
}

void worker_stop(worker *w)
{
    close(w->to);
    close(w->from);
    if (w->pid > 0) waitpid(w->pid, NULL, 0);
    w->pid = 0;
}
