/* SPDX-License-Identifier: MIT */
/*
 * Kernel objects that keep their arguments: see kernel.h.
 */
#include "cl/device/kernel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct gemm_cl_kernel {
    const gemm_cl_program *program;
    cl_kernel kernel;
    bool set;                   /* values are those of the kernel */
    unsigned long released;     /* gemm_cl_released_memory() when they were set */
    unsigned char values[GEMM_CL_MOST_BYTES];   /* one behind the other */
};

static unsigned long released;  /* memory objects */

cl_int gemm_cl_release_memory(cl_mem mem)
{
    ++released;
    return gemm_cl_function.ReleaseMemObject(mem);
}

unsigned long gemm_cl_released_memory(void)
{
    return released;
}

int gemm_cl_set_shared(const gemm_cl_program *p, const gemm_cl_arguments *args)
{
    assert(p->args <= args->count);
    for (cl_uint i = 0; i < p->args; ++i)
        CL_TRY(clSetKernelArg(p->kernel, i, args->of[i].bytes, args->of[i].value));
    return 0;
fail:
    return -1;
}

int gemm_cl_run_shared(const gemm_cl_program *p, const gemm_cl_arguments *args,
                       const size_t *global, const size_t *local)
{
    if (gemm_cl_set_shared(p, args)) return -1;
    CL_TRY(clEnqueueNDRangeKernel(gemm_cl_opened()->queue, p->kernel, 3, NULL, global, local, 0,
                                  NULL, NULL));
    return 0;
fail:
    return -1;
}

void gemm_cl_release_own(gemm_cl_kernel **slot)
{
    gemm_cl_kernel *k = *slot;
    if (!k) return;
    CL_RELEASE(clReleaseKernel, k->kernel);
    free(k);
    *slot = NULL;
}

static gemm_cl_kernel *make(const gemm_cl_program *p)
{
    gemm_cl_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        gemm_cl_say("out of memory");
        return NULL;
    }
    k->program = p;
    CL_MAKE(k->kernel, clCreateKernel(p->program, p->name, &error));
    return k;
fail:
    free(k);
    return NULL;
}

/* A new memory object may get the handle of one that was released. So all arguments are set again
   once any was released. */
static int set_changed(gemm_cl_kernel *k, const gemm_cl_arguments *args)
{
    const bool all = !k->set || k->released != released;
    unsigned char *at = k->values;
    k->set = false;
    assert(k->program->args <= args->count);
    for (cl_uint i = 0; i < k->program->args; at += args->of[i++].bytes) {
        const size_t bytes = args->of[i].bytes;
        const void *value = args->of[i].value;
        if (!all && !memcmp(at, value, bytes)) continue;
        CL_TRY(clSetKernelArg(k->kernel, i, bytes, value));
        memcpy(at, value, bytes);
    }
    k->released = released;
    k->set = true;
    return 0;
fail:
    return -1;
}

cl_kernel gemm_cl_set_own(gemm_cl_kernel **slot, const gemm_cl_program *p,
                          const gemm_cl_arguments *args)
{
    if (*slot && (*slot)->program != p) gemm_cl_release_own(slot);
    if (!*slot) *slot = make(p);
    return *slot && set_changed(*slot, args) == 0 ? (*slot)->kernel : NULL;
}
