/*
 * A program that loads the library, runs a convolution in a thread and unloads the library while
 * the thread lives. The end of the thread must not need code that is gone.
 *
 *   test_dlclose libdarknet.so
 *
 * Each round is a child process, because a failure is a crash.
 */
#include "gemm_dispatch.h"
#include "support/report.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 40, CHANNELS = 8, TAPS = 9 };
enum { PASSED = 0, NO_LIBRARY = 3, DECLINED = 4, LOADED = 5, WRONG = 6 };

typedef bool conv_function(const conv_call *, const conv_norm *, gemm_plan **);

typedef struct visitor {
    conv_function *conv;
    bool ran, right;
    sem_t done, unloaded;
} visitor;

/* All weights and inputs are 1: the middle of the output is the number of products. */
static void convolve(visitor *v)
{
    static float input[CHANNELS * SIDE * SIDE], weights[CHANNELS * CHANNELS * TAPS];
    static float shift[CHANNELS], output[CHANNELS * SIDE * SIDE];
    for (size_t i = 0; i < sizeof input / sizeof *input; ++i) input[i] = 1;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i) weights[i] = 1;
    const conv_call c = {.batch = 1,
                         .groups = 1,
                         .c = CHANNELS,
                         .h = SIDE,
                         .w = SIDE,
                         .n = CHANNELS,
                         .size = 3,
                         .stride = 1,
                         .pad = 1,
                         .out_h = SIDE,
                         .out_w = SIDE,
                         .input = input,
                         .weights = weights,
                         .shift = shift,
                         .output = output};
    v->ran = v->conv(&c, NULL, NULL);
    v->right = output[SIDE * SIDE / 2 + SIDE / 2] == CHANNELS * TAPS;
}

static void *visit(void *arg)
{
    visitor *v = arg;
    convolve(v);
    sem_post(&v->done);
    sem_wait(&v->unloaded);
    return NULL;
}

/* The child's exit status. */
static int unload_under_thread(const char *path)
{
    visitor v = {0};
    pthread_t thread;
    void *library = dlopen(path, RTLD_NOW);
    if (!library) return NO_LIBRARY;
    *(void **)&v.conv = dlsym(library, "gemm_conv");
    if (!v.conv) return NO_LIBRARY;
    sem_init(&v.done, 0, 0);
    sem_init(&v.unloaded, 0, 0);
    if (pthread_create(&thread, NULL, visit, &v)) return NO_LIBRARY;
    sem_wait(&v.done);
    convolve(&v); /* this thread, too, keeps what a call leaves */
    dlclose(library);
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD)) return LOADED;
    sem_post(&v.unloaded);
    pthread_join(thread, NULL);
    return !v.ran ? DECLINED : v.right ? PASSED : WRONG;
}

static const char *explain(int status)
{
    switch (WEXITSTATUS(status)) {
    case NO_LIBRARY:
        return "the library cannot be loaded, or has no gemm_conv";
    case DECLINED:
        return "the convolution was declined";
    case LOADED:
        return "dlclose did not unload the library, so nothing was tested";
    case WRONG:
        return "the convolution is wrong";
    default:
        return "the child ended with an unknown status";
    }
}

int main(int argc, char **argv)
{
    const char *name = "thread outlives the library";
    if (argc != 2) {
        printf("test_dlclose: one argument is needed, the path of libdarknet.so\n");
        return 2;
    }
    setenv("GEMM_IMPL", "packed", 1);
    int status = 0;
    const pid_t child = fork();
    if (!child) _exit(unload_under_thread(argv[1]));
    if (child < 0 || waitpid(child, &status, 0) != child)
        report_fail(name, "no child process");
    else if (WIFSIGNALED(status))
        report_fail(name, "the child died of signal %d", WTERMSIG(status));
    else if (status)
        report_fail(name, "%s", explain(status));
    else
        report_pass(name);
    return report_status();
}
