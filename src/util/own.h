/* SPDX-License-Identifier: MIT */
/*
 * Variables of which each thread has its own.
 *
 * The first use of one takes no memory, so a thread that has none left goes on. The default of a
 * library that is opened by dlopen would ask malloc, and end the program without memory. The price:
 * they lie in the reserve that the loader keeps for such libraries, about 1,500 bytes for all of
 * them together. So only a few words may be declared in this way.
 *
 * The loaders of Android and musl refuse that for libraries opened later. musl's takes the memory
 * when it opens the library.
 */
#ifndef GEMM_OWN_H
#define GEMM_OWN_H

#include <limits.h> /* __GLIBC__ */

#ifdef __GLIBC__
#define GEMM_OWN _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define GEMM_OWN _Thread_local
#endif

#endif
