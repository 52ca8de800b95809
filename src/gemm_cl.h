/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL rows, as the table sees them. A row is data: it names a kernel of kernels/ and its
 * tile. The files:
 *
 *   gemm_cl.c            the way in: opens the device, runs one call at a time, closes
 *
 * What runs, and where, in cl/:
 *   rows.c            the rows and tiles, as data
 *   choice.c          which tile `cl` takes for a device and a shape
 *   form.c            a row with its parts and groups as a text
 *   configure.h       what the driver tells these files, and asks them for
 *
 * One call, in cl/op/:
 *   ways.c            the ways to compute it: one list, and one walk through it
 *   multiply.c        a multiply
 *   panels.c          its B as images
 *   convolution.c     a whole convolution, or a chain of two
 *   kept.c            what the plan of a layer keeps on the device
 *   direct.c          the packed weights of cl_direct
 *   winograd.c        the sizes and kernels of Winograd's algorithm
 *   clblast.c         the reference CLBlast, which works on the same device
 *   int8.c            a convolution in 8 bits
 *   layers.c          a layer without weights
 *   launch.c          what all of these do on the queue, work-groups, and how a call ends
 *   later.c           programs that a thread builds, while another row computes
 *
 * Tuned on the device, in cl/tune/:
 *   tune.c            which forms of an op tune/turns.c measures; the fastest one is kept
 *
 * The trial of a program before its first use, in cl/trial/:
 *   trial.c           one program
 *   ops.c             one that has an op, by that op and src/check
 *   helpers.c         any other one, by itself
 *   kit.c             what these two do it with
 *
 * The caller's memory, in cl/memory/:
 *   memory.c          the policy: unified.c or discrete.c
 *   view.c            a matrix of the caller as the device sees it
 *   left.c            outputs that stay on the device, and the way back to the CPU
 *   host.c            blocks that the device and the CPU share
 *
 * The device, in cl/device/:
 *   pending.c         launches that nothing has waited for; counts.h: what benchmarks count
 *   kernel.c          kernel objects that keep their arguments
 *   arguments.c       the arguments of each kernel, from the lists in kernels/
 *   scratch.c         buffers and images that last from call to call
 *   program.c         programs; built.h: one of them; cache.c: those on disk; builders.c: processes
 *                     that build them
 *   device.c          the device and its limits; adreno.c: which Adreno it is
 *   error.c           OpenCL's errors
 *   loader.c          OpenCL's functions and their library; opencl.h: its types
 *
 * Built with OPENCL=0, cl/none.c takes the place of all but the rows: nothing can run.
 */
#ifndef GEMM_CL_H
#define GEMM_CL_H

#include "cl/configure.h"
#include "cl/rows.h"
#include "gemm_variant.h"

/* One multiply; params is a gemm_cl_row. Declines what cannot be done while C is untouched. */
gemm_row_multiply gemm_cl_multiply;

/* The same for a whole convolution. Declines on a row that has no kernel for it. */
gemm_row_conv gemm_cl_conv;

/* A depthwise convolution and the 1x1 behind it as one launch, on desktop GPUs. Declines every
   other chain, and each chain whose weights the plans cannot keep. */
gemm_row_chain gemm_cl_chain;


/* These two, and one layer without weights, whatever the row. */
gemm_row_run gemm_cl_run;

/* The same for `cl_int8`: in 8 bits where gemm_int8_takes (int8/layer.h) says so, and to the bit as
   `packed_int8`; else as under `cl`. Declines a pool behind a convolution in 8 bits, and a chain
   with such a one. */
gemm_row_run gemm_cl_int8_run;

/* A multiply beside one of the CPU, which uses A, B and the rest of C at once, also in memory of
   gemm_cl_alloc: the device works on copies. */
gemm_row_multiply gemm_cl_multiply_beside;

/* A row's `later`: while programs of the op are compiled by a thread. The same for a call of
   gemm_cl_multiply_beside. */
gemm_row_later gemm_cl_later, gemm_cl_later_beside;

/* A row's `b_ld`: so that B's own buffer can be the image that cl_image reads. */
gemm_row_b_ld gemm_cl_b_ld;

/* NULL, or why the row cannot run here. Opens the device and builds the row's kernel; for `cl` that
   of a layer, unless the driver's settings say that only multiplies come. */
const char *gemm_cl_unusable(const void *row);

/* The same by the device's limits alone. Builds nothing: for a list of rows, which would wait for
   the compiler, and for the rows of the paper's search, which are many. */
const char *gemm_cl_limits(const void *row);

#endif
