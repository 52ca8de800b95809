/* The OpenCL rows of a build with OPENCL=0: they say why they cannot run. */
#include "cl/configure.h"
#include "gemm_cl.h"

gemm_status gemm_cl_run(const gemm_call *g, const gemm_context *context, const void *row)
{
    (void)g, (void)context, (void)row;
    return GEMM_DECLINED;
}

gemm_status gemm_cl_run_parts(const gemm_call *g, const gemm_context *context,
                              const gemm_cl_row *row, int parts)
{
    (void)parts;
    return gemm_cl_run(g, context, row);
}

gemm_status gemm_cl_conv(const conv_call *c, const gemm_context *context, const void *row)
{
    (void)c, (void)context, (void)row;
    return GEMM_DECLINED;
}

gemm_status gemm_cl_conv_parts(const conv_call *c, const gemm_context *context,
                               const gemm_cl_row *row, int parts)
{
    (void)parts;
    return gemm_cl_conv(c, context, row);
}

const char *gemm_cl_unusable(const void *row)
{
    (void)row;
    return "built with OPENCL=0";
}

int gemm_cl_time(const gemm_call *g, const gemm_cl_row *row, int parts, int reps,
                 gemm_cl_times *times)
{
    (void)g, (void)row, (void)parts, (void)reps, (void)times;
    return -1;
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

void gemm_cl_configure(const gemm_cl_configuration *configuration)
{
    (void)configuration;
}

void *gemm_cl_alloc(size_t bytes)
{
    (void)bytes;
    return NULL;
}

bool gemm_cl_free(void *p)
{
    (void)p;
    return false;
}

size_t gemm_cl_alloc_size(const void *p)
{
    (void)p;
    return 0;
}
