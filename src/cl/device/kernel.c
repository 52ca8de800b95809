/* SPDX-License-Identifier: MIT */
/*
 * Kernel objects that keep their arguments: see kernel.h.
 */
#include "cl/device/kernel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, MOST_BYTES = 8 };

struct gemm_cl_kernel {
    const gemm_cl_program *program;
    cl_kernel kernel;
    bool set;                   /* values are those of the kernel */
    unsigned long released;     /* gemm_cl_released_memory() then */
    unsigned char values[MOST][MOST_BYTES];
};

int gemm_cl_set_shared(const gemm_cl_program *p, const gemm_cl_argument *args)
{
    for (cl_uint i = 0; i < p->args; ++i)
        CL_TRY(clSetKernelArg(p->kernel, i, args[i].bytes, args[i].value));
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
static int set_changed(gemm_cl_kernel *k, const gemm_cl_argument *args)
{
    const bool all = !k->set || k->released != gemm_cl_released_memory();
    k->set = false;
    assert(k->program->args <= MOST);
    for (cl_uint i = 0; i < k->program->args; ++i) {
        assert(args[i].bytes <= MOST_BYTES);
        if (!all && !memcmp(k->values[i], args[i].value, args[i].bytes)) continue;
        CL_TRY(clSetKernelArg(k->kernel, i, args[i].bytes, args[i].value));
        memcpy(k->values[i], args[i].value, args[i].bytes);
    }
    k->released = gemm_cl_released_memory();
    k->set = true;
    return 0;
fail:
    return -1;
}

cl_kernel gemm_cl_set_own(gemm_cl_kernel **slot, const gemm_cl_program *p,
                          const gemm_cl_argument *args)
{
    if (*slot && (*slot)->program != p) gemm_cl_release_own(slot);
    if (!*slot) *slot = make(p);
    return *slot && set_changed(*slot, args) == 0 ? (*slot)->kernel : NULL;
}
