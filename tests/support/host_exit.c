/* SPDX-License-Identifier: MIT */
/*
 * A host that lives on in handlers of atexit, and looks at errno and at its rights.
 *
 *   host_exit end THREADS   multiplies, in so many threads at once (0: in main). Its handler, which
 *                           was there first, joins them, multiplies once more and prints a line
 *   host_exit errno FIRST   prints the functions that change errno. FIRST is called first
 *   host_exit secure        multiplies, and prints whether the system calls this program secure
 *   host_exit rows HOW      multiplies twice: the second time in a child (fork), in another program
 *                           (exec), or when standard input has ended (wait). Or only once (one)
 *
 * Its gemm_cpu, which row stock takes, is wrong, so that GEMM_CHECK has something to find.
 */
#include "darknet_gemm.h"
#include "gemm_dispatch.h"
#include "lib/stock.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 70, CELLS = SIDE * SIDE, MOST = 16, MARK = 7777, NO_SECONDS = 60 };

static float a[CELLS], b[CELLS];
static pthread_t threads[MOST];
static int thread_count;
static sem_t multiplied;        /* posted by each; only the handler joins them */

gemm_darknet_function gemm_cpu;

void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
              int ldb, float BETA, float *C, int ldc)
{
    (void)TA, (void)TB, (void)M, (void)N, (void)K, (void)ALPHA, (void)A, (void)lda, (void)B;
    (void)ldb, (void)BETA, (void)ldc;
    C[0] = -1;
}

static void multiply(float *c)
{
    gemm(0, 0, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE);
}

static void *multiply_in_thread(void *unused)
{
    static _Thread_local float c[CELLS];
    multiply(c);
    sem_post(&multiplied);
    return unused;
}

/* The first thread that calls exit is joined by nobody. */
static void again(void)
{
    static float c[CELLS];
    const float one = 1, zero = 0;
    const int side = SIDE;
    for (int i = 0; i < thread_count; ++i)
        if (!pthread_equal(threads[i], pthread_self())) pthread_join(threads[i], NULL);
    multiply(c);
    sgemm_("N", "T", &side, &side, &side, &one, a, &side, b, &side, &zero, c, &side);
    cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE);
    printf("handler done\n");
}

static void end(int count)
{
    static float c[CELLS];
    atexit(again);
    sem_init(&multiplied, 0, 0);
    alarm(NO_SECONDS);
    for (int i = 0; i < count; ++i)
        if (!pthread_create(&threads[i], NULL, multiply_in_thread, NULL)) thread_count = i + 1;
    if (!count) multiply(c);
    for (int i = 0; i < thread_count; ++i) sem_wait(&multiplied);
}

/* ---- errno ---- */

static void judge(const char *function)
{
    if (errno != MARK) printf("%s: errno is %d: %s\n", function, errno, strerror(errno));
    errno = MARK;
}

static void judge_layers(void)
{
    static float out[CELLS];
    gemm_plan *plan = NULL;
    const conv_norm norm = {a, b, a};
    const conv_call c = {.batch = 1, .groups = 1, .c = 4, .h = 16, .w = 16, .n = 4, .size = 3,
                         .stride = 1, .pad = 1, .out_h = 16, .out_w = 16, .input = a,
                         .weights = b, .shift = a, .output = out};
    const layer_input input = {a, 4 * 16 * 16};
    const layer_call pool = {.kind = LAYER_MAXPOOL, .batch = 1, .c = 4, .h = 16, .w = 16,
                             .out_c = 4, .out_h = 8, .out_w = 8, .size = 2, .stride = 2,
                             .inputs = 1, .input = &input, .output = out};
    gemm_conv_offered();
    judge("gemm_conv_offered");
    gemm_conv(&c, &norm, &plan);
    judge("gemm_conv");
    gemm_plan_drop(&plan);
    judge("gemm_plan_drop");
    gemm_layer(&pool);
    judge("gemm_layer");
    const conv_call chain[2] = {
        {.batch = 1, .groups = 8, .c = 8, .h = 8, .w = 8, .n = 8, .size = 3, .stride = 1, .pad = 1,
         .out_h = 8, .out_w = 8, .input = a, .weights = b, .shift = a},
        {.batch = 1, .groups = 1, .c = 8, .h = 8, .w = 8, .n = 8, .size = 1, .stride = 1,
         .out_h = 8, .out_w = 8, .weights = b, .shift = a, .output = out}};
    const conv_norm *const norms[2] = {NULL, NULL};
    gemm_plan **const slots[2] = {NULL, NULL};
    gemm_conv_chain(chain, norms, 2, slots, NULL);
    judge("gemm_conv_chain");
    const gemm_chain chains[2] = {{chain, norms, 2, slots, NULL}, {chain, norms, 2, slots, NULL}};
    gemm_conv_chains(chains, 2);
    judge("gemm_conv_chains");
}

static void judge_memory(void)
{
    void *p = gemm_host_alloc(1000, 1);
    judge("gemm_host_alloc");
    p = gemm_host_realloc(p, 5000);
    judge("gemm_host_realloc");
    gemm_host_is_plain(p);
    judge("gemm_host_is_plain");
    gemm_host_read(p, 5000);
    gemm_host_write(p, 5000);
    judge("gemm_host_read and gemm_host_write");
    gemm_host_free(p);
    judge("gemm_host_free");
}

/* The first call of each kind sets most up, so `first` says which one that is. */
static void judge_errno(const char *first)
{
    static float c[CELLS];
    const float one = 1, zero = 0;
    const int side = SIDE, bad = -1;
    const gemm_call call = {0, 0, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, c, SIDE};
    errno = MARK;
    if (!strcmp(first, "layers")) judge_layers();
    if (!strcmp(first, "memory")) judge_memory();
    if (!strcmp(first, "dispatch")) gemm_dispatch(&call), judge("gemm_dispatch");
    if (!strcmp(first, "get")) darknet_gemm_get_threads(), judge("darknet_gemm_get_threads");
    if (!strcmp(first, "set")) darknet_gemm_set_threads(2), judge("darknet_gemm_set_threads");
    if (!strcmp(first, "cblas"))
        cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE),
            judge("cblas_sgemm");
    sgemm_("N", "T", &side, &side, &side, &one, a, &side, b, &side, &zero, c, &side);
    judge("sgemm_");
    multiply(c);
    judge("gemm");
    sgemm_("N", "T", &bad, &side, &side, &one, a, &side, b, &side, &zero, c, &side);
    judge("sgemm_ with a bad argument");
    judge_layers();
    judge_memory();
}

/* ---- a trace of several processes ---- */

static void multiply_twice(const char *how, char **argv)
{
    static float c[CELLS];
    static char one[] = "one";
    multiply(c);
    if (!strcmp(how, "one")) return;
    argv[2] = one;
    if (!strcmp(how, "exec")) execv(argv[0], argv);
    if (!strcmp(how, "wait")) while (getchar() >= 0) continue;
    if (!strcmp(how, "fork") && fork()) wait(NULL);
    else multiply(c);
}

int main(int argc, char **argv)
{
    static float c[CELLS];
    for (int i = 0; i < CELLS; ++i) a[i] = b[i] = 1;
    if (argc == 3 && !strcmp(argv[1], "end")) {
        end(atoi(argv[2]));
    } else if (argc == 3 && !strcmp(argv[1], "errno")) {
        judge_errno(argv[2]);
    } else if (argc == 3 && !strcmp(argv[1], "rows")) {
        multiply_twice(argv[2], argv);
    } else if (argc == 2 && !strcmp(argv[1], "secure")) {
        cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE);
        printf("secure %lu, C %g\n", getauxval(AT_SECURE), (double)c[1]);
    } else {
        fprintf(stderr, "host_exit: unknown arguments\n");
        return 2;
    }
    return 0;
}
