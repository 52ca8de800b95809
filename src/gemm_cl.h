/*
 * The OpenCL rows, as the table sees them. Each is data that names a kernel of kernels/ and its
 * tile. From here down:
 *
 *   gemm_cl.c            the way in: opens the device, runs a call, closes
 *   cl/multiply.c        one multiply; cl/panels.c: its B as images; cl/timing.c: for benchmarks
 *   cl/convolution.c     one whole convolution; cl/winograd.c: its sizes and kernels by Winograd's
 *                        algorithm; cl/layers.c: a layer without weights
 *   cl/launch.c          what all do on the queue, and how a call ends
 *   cl/memory.c          the memory policy: cl/unified.c or cl/discrete.c, both on cl/view.c
 *   cl/left.c            outputs that stay on the device, and the way back to the CPU
 *   cl/pending.c         launches that nothing has waited for; cl/counts.h: waits, for benchmarks
 *   cl/scratch.c         buffers and images that last
 *   cl/host.c            memory that the device and the CPU share
 *   cl/kernel.c          kernel objects that keep their arguments
 *   cl/program.c         programs, and their cache on disk: cl/cache.c
 *   cl/device.c          the device; cl/error.c: its errors; cl/loader.c: OpenCL's functions
 *   cl/choice.c          what `cl` chooses from cl/rows.c, the rows as data
 *
 * Built with OPENCL=0, cl/none.c stands for all but the rows, and says so.
 */
#ifndef GEMM_CL_H
#define GEMM_CL_H

#include "cl/configure.h"
#include "cl/rows.h"
#include "gemm_variant.h"

/* One multiply; params is a gemm_cl_row. Declines what cannot be done while C is untouched. */
gemm_row_run gemm_cl_run;

/* The same for a whole convolution. Declines on a row that has no kernel for it. */
gemm_row_conv gemm_cl_conv;

/* A depthwise convolution and the 1x1 behind it as one launch, on desktop GPUs. Declines other
   chains, also those of three layers or with a shortcut. Declines all where a plan cannot keep the
   weights. */
gemm_row_chain gemm_cl_chain;

/* One layer without weights, whatever the row. */
gemm_row_layer gemm_cl_layer;

/*
 * A multiply and a convolution in two halves, so that the CPU can work between them. One of the
 * first two enqueues the call. When it returns GEMM_DONE, the same thread must call gemm_cl_finish,
 * and makes no other OpenCL call before. Other threads that want the device wait until then. The
 * call and its arrays last until then too, and A and B (the input and the weights) do not change.
 *
 * The device works on copies. It writes nothing but C of the call (the output), and of a multiply
 * not before gemm_cl_finish. So the CPU may read and write all other memory in between, and memory
 * of gemm_cl_alloc too.
 */
gemm_row_run gemm_cl_run_start;
gemm_row_conv gemm_cl_conv_start;

/* Waits, makes C right, and fills the note. take: false drops the result of a multiply. The status
   is then GEMM_DECLINED, as after a failure that leaves C as it was. */
gemm_status gemm_cl_finish(bool take, gemm_note *);

/* NULL, or why the row cannot run here. Opens the device and builds the row's kernel. */
const char *gemm_cl_unusable(const void *row);

#endif
