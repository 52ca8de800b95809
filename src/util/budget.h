/* SPDX-License-Identifier: MIT */
/*
 * The time that this process may spend on tuning, under `auto` and `cl` together.
 *
 * A shape that is not measured because the time is over is left: it keeps its usual choice, and the
 * next process goes on with it. At exit one line says how many shapes were left. One shape may take
 * as long as it needs, so that every process gets on. With 0 seconds none is measured.
 *
 * Any thread may call at any time. In the child of a fork the time and the count begin again.
 */
#ifndef GEMM_BUDGET_H
#define GEMM_BUDGET_H

#include <stdbool.h>

/* Without a call there is no limit. The clock has ms, and is gemm_now_ms but for tests. Forgets
   what was spent and left. */
void gemm_budget_set(double seconds, double (*clock)(void));

/* Around each shape that is measured. The time of measurements that contain one another, or that
   overlap, counts once. `done`: the shape got its entry. */
void gemm_budget_begin(void);
void gemm_budget_end(bool done);

/* Whether no further shape may be measured, and the present one shall be left. */
bool gemm_budget_is_over(void);

/* A shape is left. To be called once for a shape. */
void gemm_budget_leave(void);

/* How many were left. */
int gemm_budget_left(void);

#endif
