/* SPDX-License-Identifier: MIT */
/* Processor cycles of the calling thread in user mode, where kernel and machine count them. */
#ifndef BENCH_CYCLES_H
#define BENCH_CYCLES_H

void cycles_start(void);

/* Since cycles_start, or below 0 when they are not counted here. */
double cycles_stop(void);

#endif
