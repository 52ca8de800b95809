/* SPDX-License-Identifier: MIT */
/*
 * gemm and gemm_cpu under Darknet's names. They take the place of Darknet's own where the library
 * is preloaded, or is loaded before Darknet.
 */
#include "darknet_gemm.h"
#include "lib/darknet.h"

#include <stddef.h>

GEMM_DARKNET_FUNCTION(gemm, NULL)
GEMM_DARKNET_FUNCTION(gemm_cpu, NULL)
