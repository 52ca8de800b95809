/* SPDX-License-Identifier: MIT */
/*
 * Programs that several processes build, because a driver of a GPU may build one at a time in a
 * process. For the OpenCL files only; called with gemm_cl_lock held.
 *
 * All orders are in one pipe, from which this process and its children take one after the other. A
 * child builds and tries the programs of an order, which puts them into the cache. Then it writes
 * the order's number to a second pipe.
 *
 * A child is the same executable with an argument of its own (gemm_cl_compile_apart). It has the
 * settings of this process, and prints nothing. It ends when all orders are taken, or behind its
 * order when the parent has ended. To open the device takes long, so children begin with the first
 * program that has to be compiled, and wait for orders.
 */
#ifndef GEMM_CL_BUILDERS_H
#define GEMM_CL_BUILDERS_H

/* Kernels of one text that are built with the same options. */
typedef struct gemm_cl_order {
    int number;
    char names[252], options[768];      /* with a blank behind each name */
} gemm_cl_order;

typedef void gemm_cl_build_one(const gemm_cl_order *);

/* Begins the children, once in a process. Does nothing where none can help: a CPU as the device, no
   folder of a cache, a program that does not allow it. */
void gemm_cl_begin_builders(void);

/* Builds the orders, whose numbers are from 0 on, and waits for all. An order of a child is built
   here once more, which loads it. Few orders, and those without children, are left to the caller.
   Children end then. */
void gemm_cl_build_apart(const gemm_cl_order *, int count, gemm_cl_build_one *);

/* In a child. */
void gemm_cl_serve_orders(gemm_cl_build_one *);

#endif
