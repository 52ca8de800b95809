/* SPDX-License-Identifier: MIT */
/*
 * Programs that several processes build, because a driver of a GPU may build one at a time in a
 * process. For the OpenCL files only; called with gemm_cl_lock held.
 *
 * Each program is an order. All orders are in one pipe, from which this process and its children
 * take one after the other. A child builds it, tries it, and stores it in the cache. Then it writes
 * the order's number to a second pipe.
 *
 * A child is the same executable with an argument of its own (gemm_cl_compile_apart). It has all
 * settings of this process, and prints nothing. It ends when all orders are taken. It ends at once
 * when nobody can write orders any more, because its parent has ended.
 */
#ifndef GEMM_CL_BUILDERS_H
#define GEMM_CL_BUILDERS_H

#include <stdbool.h>

enum { GEMM_CL_ORDERS = 64 };       /* of 1 KiB: the room of a pipe on Linux */

typedef struct gemm_cl_order {
    const char *source;         /* of this process alone */
    int number;
    char names[244];            /* of kernels of one text, with blanks between them */
    char options[768];
} gemm_cl_order;

/* Whether this text with these options is that of the order. */
bool gemm_cl_joins(const gemm_cl_order *, const char *source, const char *options);

/* Adds a kernel. False: it does not fit. */
bool gemm_cl_add_order(gemm_cl_order *, const char *name, const char *options);

/* Begins processes that build the orders, which have the numbers from 0 on. False where none can
   help: a few orders, a CPU as the device, no folder of a cache, a program that does not allow it. */
bool gemm_cl_start_builders(const gemm_cl_order *, int count);

/* The number of an order that this process shall build; below 0: there are no more. */
int gemm_cl_take_order(void);

/* The number of an order that a child is done with, in any way; below 0: there are no more. */
int gemm_cl_wait_for_order(void);

/* The children end. Whether one had been killed by somebody, and not by a fault of the compiler. */
bool gemm_cl_end_builders(void);

/* In a child: takes orders from the parent until there are no more. */
void gemm_cl_serve_orders(void (*build)(const gemm_cl_order *));

/* In a child, before the device is opened: ends this process when the parent ends. False: it
   cannot. */
bool gemm_cl_end_with_parent(void);

#endif
