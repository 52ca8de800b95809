/* Threads and version of the library. */
#include "darknet_gemm.h"
#include "driver/driver.h"
#include "driver/start.h"

int darknet_gemm_set_threads(int threads)
{
    if (threads < 1 || threads > GEMM_MAX_THREADS) return -1;
    gemm_set_threads(threads);
    return 0;
}

int darknet_gemm_get_threads(void)
{
    return gemm_get_state()->threads;
}

const char *darknet_gemm_version(void)
{
    return DARKNET_GEMM_VERSION;
}
