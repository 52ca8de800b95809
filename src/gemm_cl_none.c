/* The OpenCL rows of a build with OPENCL=0: they say why they cannot run. */
#include "gemm_cl.h"
#include "gemm_host.h"

#include <stdlib.h>

int gemm_cl_run(const gemm_call *g, const void *row)
{
    (void)g;
    (void)row;
    return 1;
}

int gemm_cl_run_parts(const gemm_call *g, const gemm_cl_row *row, int parts)
{
    (void)parts;
    return gemm_cl_run(g, row);
}

int gemm_cl_conv(const conv_call *c, const void *row)
{
    (void)c;
    (void)row;
    return 1;
}

int gemm_cl_conv_parts(const conv_call *c, const gemm_cl_row *row, int parts)
{
    (void)parts;
    return gemm_cl_conv(c, row);
}

const char *gemm_cl_unusable(const void *row)
{
    (void)row;
    return "built with OPENCL=0";
}

int gemm_cl_time(const gemm_call *g, const gemm_cl_row *row, int parts, int reps,
                 gemm_cl_times *times)
{
    (void)reps;
    (void)times;
    return gemm_cl_run_parts(g, row, parts);
}

void gemm_cl_force_memory(int policy)
{
    (void)policy;
}

const char *gemm_cl_describe(void)
{
    return NULL;
}

void gemm_cl_list(FILE *f)
{
    (void)f;
}

void *gemm_host_alloc(size_t count, size_t size)
{
    return calloc(count, size);
}

void *gemm_host_realloc(void *p, size_t bytes)
{
    return realloc(p, bytes);
}

void gemm_host_free(void *p)
{
    free(p);
}
