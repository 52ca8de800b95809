/* SPDX-License-Identifier: MIT */
/*
 * A program that loads the library by dlopen. Nothing of it may stay behind.
 *
 *   thread outlives the library       the end of a thread must not need code that is gone
 *   loaded 1,100 times                the system has 1,024 keys for thread-specific data
 *   all keys are the host's           the library neither needs one nor writes to one
 *   a thread's first call without memory
 *
 *   test_dlclose libdarknet.so
 *
 * Each test is a child process, because a failure is a crash.
 */
#include "gemm_dispatch.h"
#include "support/report.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 40, CHANNELS = 8, TAPS = 9 };
enum {
    PASSED, NO_LIBRARY = 3, DECLINED, LOADED, WRONG, KEY_CHANGED, KEYS_GONE
};

typedef bool conv_function(const conv_call *, const conv_norm *, gemm_plan **);

typedef struct visitor {
    conv_function *conv;
    bool ran, right;
    sem_t done, unloaded;
} visitor;

/* ---- memory that runs out ---- */

static _Thread_local bool no_memory;

/* The loader asks these functions too. A sanitizer has its own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define CAN_FAIL 1
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes)
{
    return no_memory ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return no_memory ? NULL : __libc_calloc(count, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return no_memory ? NULL : __libc_memalign(alignment, bytes);
}
#endif

/* ---- the tests, each the body of a child that returns its exit status ---- */

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

/* NULL: there is no such library. */
static void *load(const char *path, visitor *v)
{
    void *library = dlopen(path, RTLD_NOW);
    if (library) *(void **)&v->conv = dlsym(library, "gemm_conv");
    return v->conv ? library : NULL;
}

static int judge(const visitor *v)
{
    return !v->ran ? DECLINED : v->right ? PASSED : WRONG;
}

static int unload_under_thread(const char *path)
{
    visitor v = {0};
    pthread_t thread;
    void *library = load(path, &v);
    if (!library) return NO_LIBRARY;
    sem_init(&v.done, 0, 0);
    sem_init(&v.unloaded, 0, 0);
    if (pthread_create(&thread, NULL, visit, &v)) return NO_LIBRARY;
    sem_wait(&v.done);
    convolve(&v); /* this thread, too, keeps what a call leaves */
    dlclose(library);
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD)) return LOADED;
    sem_post(&v.unloaded);
    pthread_join(thread, NULL);
    return judge(&v);
}

static int load_often(const char *path)
{
    enum { ROUNDS = 1100 };
    for (int i = 0; i < ROUNDS; ++i) {
        visitor v = {0};
        void *library = load(path, &v);
        if (!library) return NO_LIBRARY;
        convolve(&v);
        if (judge(&v)) return judge(&v);
        dlclose(library);
        if (dlopen(path, RTLD_NOW | RTLD_NOLOAD)) return LOADED;
    }
    /* The handlers of fork are gone too. */
    int status = 1;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, &status, 0) != child || status) return WRONG;
    pthread_key_t key;
    return pthread_key_create(&key, NULL) ? KEYS_GONE : PASSED;
}

static int use_up_keys(const char *path)
{
    static const char own[] = "the host's";
    pthread_key_t keys[PTHREAD_KEYS_MAX];
    int count = 0;
    while (count < PTHREAD_KEYS_MAX && !pthread_key_create(&keys[count], NULL))
        pthread_setspecific(keys[count++], own);
    visitor v = {0};
    if (!load(path, &v)) return NO_LIBRARY;
    convolve(&v);
    for (int i = 0; i < count; ++i)
        if (pthread_getspecific(keys[i]) != own) return KEY_CHANGED;
    return judge(&v);
}

/* It may decline. It must not end the host. */
static void *visit_without_memory(void *arg)
{
    visitor *v = arg;
    no_memory = true;
    convolve(v);
    no_memory = false;
    v->right = v->right || !v->ran;
    return NULL;
}

static int call_without_memory(const char *path)
{
    visitor v = {0};
    pthread_t thread;
    if (!load(path, &v)) return NO_LIBRARY;
    convolve(&v);       /* what a process needs once */
    if (judge(&v)) return judge(&v);
    if (pthread_create(&thread, NULL, visit_without_memory, &v)) return NO_LIBRARY;
    pthread_join(thread, NULL);
    return v.right ? PASSED : WRONG;
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
    case KEY_CHANGED:
        return "a key of the host has another value";
    case KEYS_GONE:
        return "no key is left for the host";
    default:
        return "the child ended with an unknown status";
    }
}

static void test(const char *name, int (*body)(const char *), const char *path)
{
    int status = 0;
    const pid_t child = fork();
    if (!child) _exit(body(path));
    if (child < 0 || waitpid(child, &status, 0) != child)
        report_fail(name, "no child process");
    else if (WIFSIGNALED(status))
        report_fail(name, "the child died of signal %d", WTERMSIG(status));
    else if (status)
        report_fail(name, "%s", explain(status));
    else
        report_pass(name);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        printf("test_dlclose: one argument is needed, the path of libdarknet.so\n");
        return 2;
    }
    setenv("GEMM_IMPL", "packed", 1);
    setenv("GEMM_THREADS", "2", 1);
    test("thread outlives the library", unload_under_thread, argv[1]);
    test("loaded 1,100 times", load_often, argv[1]);
    test("all keys are the host's", use_up_keys, argv[1]);
#if CAN_FAIL
    test("a thread's first call without memory", call_without_memory, argv[1]);
#else
    (void)call_without_memory;
    report_skip_machine("a thread's first call without memory", "malloc is a sanitizer's");
#endif
    return report_status();
}
