/* SPDX-License-Identifier: MIT */
/*
 * The choice of the memory policy.
 */
#include "cl/memory/memory.h"

static int forced;

void gemm_cl_force_memory(int policy)
{
    forced = policy;
}

const gemm_cl_policy *gemm_cl_memory_policy(void)
{
    const bool unified = forced ? forced == 'u' : gemm_cl_opened()->traits.unified;
    return unified ? &gemm_cl_unified : &gemm_cl_discrete;
}
