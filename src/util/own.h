/* SPDX-License-Identifier: MIT */
/*
 * Variables of which each thread has its own.
 *
 * The first use of one takes no memory, so a thread that has none left goes on. The default of a
 * library that is opened by dlopen would ask malloc, and end the program without memory. The price:
 * they lie in the reserve that the loader keeps for such libraries, about 1,500 bytes for all of
 * them together. So only a few words may be declared in this way.
 *
 * Android's loader refuses that for libraries opened later.
 */
#ifndef GEMM_OWN_H
#define GEMM_OWN_H

#if defined(__ANDROID__)
#define GEMM_OWN _Thread_local
#else
#define GEMM_OWN _Thread_local __attribute__((tls_model("initial-exec")))
#endif

#endif
