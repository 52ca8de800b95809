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
 */
#ifndef GEMM_FORKED_H
#define GEMM_FORKED_H

#include <pthread.h>

#define GEMM_IN_CHILD(function)                                                                   \
    __attribute__((constructor)) static void register_##function(void)                            \
    {                                                                                             \
        pthread_atfork(NULL, NULL, function);                                                     \
    }

#endif
