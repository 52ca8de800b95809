/* SPDX-License-Identifier: MIT */
/*
 * The layers of a false Darknet: they call gemm and gemm_cpu once, with matrices of ones, and print
 * an element of each result. It is the inner size, or 0 after the false loops of host_gemm.c.
 */
#include "lib/stock.h"

#include <stdio.h>

enum { SIDE = 64 };

gemm_darknet_function gemm, gemm_cpu;

void work(void);

void work(void)
{
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE], d[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; ++i) a[i] = b[i] = 1;
    gemm(0, 0, SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE);
    gemm_cpu(0, 1, SIDE, 50, 40, 1, a, SIDE, b, SIDE, 0, d, SIDE);
    printf("C %g %g\n", c[SIDE + 1], d[SIDE + 1]);
}
