/* SPDX-License-Identifier: MIT */
/* Threads and version of the library. */
#include "darknet_gemm.h"
#include "driver/driver.h"
#include "driver/start.h"

#include <errno.h>

int darknet_gemm_set_threads(int threads)
{
    const int before = errno;
    if (threads < 1 || threads > GEMM_MAX_THREADS) return -1;
    gemm_set_threads(threads);
    errno = before;
    return 0;
}

int darknet_gemm_get_threads(void)
{
    const int before = errno;
    const int threads = gemm_get_state()->threads;
    errno = before;
    return threads;
}

const char *darknet_gemm_version(void)
{
    return DARKNET_GEMM_VERSION;
}
