/* SPDX-License-Identifier: MIT */
/* The kernels of a convolution: with which options they are built, and what they can do. */
#ifndef GEMM_CL_CONV_BUILD_H
#define GEMM_CL_CONV_BUILD_H

#include "cl/op/conv_job.h"

/* Whether B goes into an image. A B that is the input as it lies is read there, in 32 bits. But the
   kernel must not want 16 bits, and B must be as wide as a tile. */
bool gemm_cl_conv_has_image(const gemm_cl_conv_job *);

/* Lays all rows of B of all products out in one image. False: none is large enough. */
bool gemm_cl_conv_lay_out(gemm_cl_conv_job *);

/* The program that fills it. NULL: there is none, for *why. */
const gemm_cl_program *gemm_cl_conv_build_fill(const gemm_cl_conv_job *, const char **why);

/* Whether the row pools this layer. cl_conv_wide keeps all of K in one strip then. */
bool gemm_cl_conv_can_pool(const gemm_cl_conv_job *);

/* Whether the kernel of the row has one argument for all numbers. Not on a GPU that shares its
   memory: those compilers are the least tried. */
bool gemm_cl_conv_packs(const gemm_cl_conv_job *);

/* The options of cl_sum. */
const char *gemm_cl_conv_sum_options(const gemm_cl_conv_job *);

/* A gemm_cl_attempt, of a gemm_cl_conv_job: builds the kernel of its row, and those beside it. The
   header of each kernel explains the options that it takes. NULL, or why there is none. */
const char *gemm_cl_conv_build(void *job);

#endif
