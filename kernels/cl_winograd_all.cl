/* SPDX-License-Identifier: MIT */
/* The kernels of Winograd's algorithm as one program: those of a CPU, or those of a GPU. */
#define CONV
#include "cl_conv.h"
#include "cl_vector.h"
#include "cl_winograd.h"
#include "cl_winograd_finish.h"
#include "cl_winograd_filter.cl"
#include "cl_winograd_input.cl"
#if VECTOR > 1
#include "cl_winograd.cl"
#else
#include "cl_winograd_output.cl"
#endif
