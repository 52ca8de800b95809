/* The layers of a false Darknet: they call gemm and gemm_cpu once. */
#include "lib/stock.h"

gemm_darknet_function gemm, gemm_cpu;

void work(void);

void work(void)
{
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {0};
    gemm(0, 0, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    gemm_cpu(0, 0, 2, 1, 2, 1, a, 2, b, 2, 0, c, 2);
}
