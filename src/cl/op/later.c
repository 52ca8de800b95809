/* SPDX-License-Identifier: MIT */
/*
 * Programs that are built beside the calls: see later.h.
 *
 * At exit the thread must end before the compiler's own data goes. A compiler makes some of it when
 * it first needs it, and registers its end then. Ends run in reverse order, so one that was
 * registered before that would wait for the thread too late. What ends with the main thread runs
 * before them all (glibc). Where another thread asks first, its call compiles the first program,
 * and an end is registered behind it.
 */
#include "cl/op/later.h"

#include "cl/device/program.h"
#include "util/forked.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;       /* of all members */
    pthread_cond_t idle;        /* runs became false */
    pthread_t thread;
    bool runs, begun, ending;   /* begun: the thread is to be joined */
    bool compiled, registered;  /* a call compiled; what waits for the thread at exit */
    atomic_bool busy;
    unsigned questions;         /* that found one more program missing */
    atomic_bool late;           /* ops go elsewhere */
    int complete;               /* ops since then that lacked nothing */
    const void *first;          /* the first one of them */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

/* The child has no such thread, and cannot use the device. */
static void after_fork(void)
{
    pthread_mutex_init(&own.lock, NULL);
    pthread_cond_init(&own.idle, NULL);
    atomic_store(&own.busy, false);
    atomic_store(&own.late, false);
    own.runs = own.begun = false;
}
GEMM_IN_CHILD(after_fork)

bool gemm_cl_is_busy(void)
{
    return atomic_load(&own.busy);
}

bool gemm_cl_was_late(void)
{
    return atomic_load(&own.late);
}

/* ---- the thread ---- */

/* For `idle`, whose clock this is. */
static struct timespec in_ms(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Waits until all questions of a pass were asked: none found anything missing for some time. */
static unsigned wait_for_questions(void)
{
    enum { QUIET_MS = 20 };
    for (unsigned seen = own.questions;; seen = own.questions) {
        const struct timespec until = in_ms(QUIET_MS);
        pthread_cond_timedwait(&own.idle, &own.lock, &until);
        if (own.ending || seen == own.questions) return own.questions;
    }
}

/* Builds a program that is wanted. Whether there was one. */
static bool build_one(void)
{
    gemm_cl_lock();
    const bool built = gemm_cl_opened() && gemm_cl_build_wanted();
    gemm_cl_unlock();
    return built;
}

/* Others get gemm_cl_lock between two programs. */
static void *build_all(void *unused)
{
    static const struct timespec moment = {0, 1000000};
    pthread_mutex_lock(&own.lock);
    for (unsigned seen = own.questions - 1; !own.ending && seen != own.questions;) {
        seen = wait_for_questions();
        atomic_store(&own.busy, true);
        for (bool built = true; built && !own.ending;) {
            pthread_mutex_unlock(&own.lock);
            built = build_one();
            nanosleep(&moment, NULL);
            pthread_mutex_lock(&own.lock);
        }
        atomic_store(&own.busy, false);
    }
    own.runs = false;
    pthread_cond_broadcast(&own.idle);
    pthread_mutex_unlock(&own.lock);
    return unused;
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));
extern void *__dso_handle;

static void end_at_exit(void)
{
    gemm_cl_end_building();
}

static void end_with_thread(void *unused)
{
    (void)unused;
    gemm_cl_end_building();
}

/* False: the call shall compile. */
static bool register_end(void)
{
    const bool main = syscall(SYS_gettid) == getpid();
    if (own.registered) return true;
    if (main && __cxa_thread_atexit_impl)
        own.registered = !__cxa_thread_atexit_impl(end_with_thread, NULL, &__dso_handle);
    else if (own.compiled)
        own.registered = !atexit(end_at_exit);
    return own.compiled = true, own.registered;
}

/* An earlier thread has ended, but was not joined. Signals are for the program's own threads. */
static bool begin_thread(void)
{
    sigset_t all, old;
    if (own.begun) pthread_join(own.thread, NULL);
    if (!register_end()) return own.begun = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    own.runs = own.begun = !pthread_create(&own.thread, NULL, build_all, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return own.runs;
}

/* ---- calls ---- */

bool gemm_cl_is_late(gemm_cl_lack lack, const void *op)
{
    enum { LONGEST_PASS = 1024 };
    pthread_mutex_lock(&own.lock);
    if (lack != GEMM_CL_LACKS_NOTHING) {
        own.questions += lack == GEMM_CL_LACKS_MORE;
        own.complete = 0;
        own.late = !own.ending && (own.runs || begin_thread());
    } else if (own.late) {
        const bool again = own.complete && op && own.first == op;
        if (!own.complete++ || !own.first) own.first = op;
        own.late = own.runs || !(again || own.complete > LONGEST_PASS);
    }
    const bool late = own.late;
    pthread_mutex_unlock(&own.lock);
    return late;
}

bool gemm_cl_end_building(void)
{
    enum { MOST_MS = 10000 };
    const struct timespec until = in_ms(MOST_MS);
    int error = 0;
    pthread_mutex_lock(&own.lock);
    own.ending = true;
    pthread_cond_broadcast(&own.idle);
    while (own.runs && !error) error = pthread_cond_timedwait(&own.idle, &own.lock, &until);
    const bool ended = !own.runs;
    pthread_mutex_unlock(&own.lock);
    if (ended && own.begun) pthread_join(own.thread, NULL);
    if (ended) own.begun = false;
    return ended;
}
