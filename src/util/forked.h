/* SPDX-License-Identifier: MIT */
/*
 * What a module does in the child of a fork.
 *
 * Only the thread that forked lives on there. A lock that another thread held stays locked for
 * ever, so each module with a lock makes it new, and brings what the lock guards into order.
 * Nothing is locked before a fork: a signal handler may fork while its thread holds the lock.
 *
 *   static void after_fork(void) { ... }
 *   GEMM_IN_CHILD(after_fork)
 *
 * GEMM_ONCE(find) defines once_find(), which calls find() at its first call. A child calls it again
 * if another thread was inside, because that thread does not end it there. After
 * GEMM_ONCE_A_PROCESS(find) each child calls it anew.
 *
 * tests/system/test_forks.sh finds locks that no child renews.
 */
#ifndef GEMM_FORKED_H
#define GEMM_FORKED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define GEMM_IN_CHILD(function)                                                                   \
    __attribute__((constructor)) static void register_##function(void)                            \
    {                                                                                             \
        pthread_atfork(NULL, NULL, function);                                                     \
    }

#define GEMM_ONCE(function)                                                                       \
    static pthread_once_t function##_once = PTHREAD_ONCE_INIT;                                    \
    static atomic_bool function##_done;                                                           \
    static void function##_again(void)                                                            \
    {                                                                                             \
        static const pthread_once_t fresh = PTHREAD_ONCE_INIT;                                    \
        if (!atomic_load(&function##_done)) function##_once = fresh;                              \
    }                                                                                             \
    GEMM_IN_CHILD(function##_again)                                                               \
    static void once_##function(void)                                                             \
    {                                                                                             \
        if (atomic_load_explicit(&function##_done, memory_order_acquire)) return;                 \
        pthread_once(&function##_once, function);                                                 \
        atomic_store(&function##_done, true);                                                     \
    }

#define GEMM_ONCE_A_PROCESS(function)                                                             \
    static pthread_once_t function##_once = PTHREAD_ONCE_INIT;                                    \
    static void function##_again(void)                                                            \
    {                                                                                             \
        static const pthread_once_t fresh = PTHREAD_ONCE_INIT;                                    \
        function##_once = fresh;                                                                  \
    }                                                                                             \
    GEMM_IN_CHILD(function##_again)                                                               \
    static void once_##function(void) { pthread_once(&function##_once, function); }

#endif
