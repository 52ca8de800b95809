/* SPDX-License-Identifier: MIT */
/* In the place of the driver, the rows and the device, which no fuzz target runs: their build with
   sanitizers would take minutes. */
#include "cl/configure.h"

#include <stdlib.h>

const gemm_cl_configuration *gemm_cl_settings(void);
void *gemm_host_alloc(size_t, size_t);
void *gemm_host_realloc(void *, size_t);
void gemm_host_free(void *);
bool gemm_host_is_plain(const void *);
size_t gemm_b_bytes(int rows, int columns);

/* That it is not called is a part of what is tested. */
#define LEFT_OUT(name)                                                                             \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }
LEFT_OUT(gemm_dispatch)
LEFT_OUT(gemm_beta)
LEFT_OUT(gemm_b_ld)
LEFT_OUT(gemm_conv)
LEFT_OUT(gemm_conv_chain)
LEFT_OUT(gemm_conv_chains)
LEFT_OUT(gemm_images_apart)
LEFT_OUT(gemm_plan_lend)
LEFT_OUT(gemm_plan_network)
LEFT_OUT(gemm_plan_set_network)
LEFT_OUT(gemm_plan_step)
LEFT_OUT(gemm_plan_set_step)
LEFT_OUT(gemm_chosen)
LEFT_OUT(gemm_find)
LEFT_OUT(gemm_make_context)
LEFT_OUT(gemm_set_threads)
LEFT_OUT(gemm_set_variant)
LEFT_OUT(gemm_unusable)
LEFT_OUT(gemm_variants)
LEFT_OUT(gemm_variant_count)

/* As with a row that has no layers and no device. */
#define NOTHING(name)                                                                              \
    size_t name(void);                                                                             \
    size_t name(void)                                                                              \
    {                                                                                              \
        return 0;                                                                                  \
    }
NOTHING(gemm_conv_offered)
NOTHING(gemm_threads_apart)
NOTHING(gemm_plan_drop)
NOTHING(gemm_prepare)
NOTHING(gemm_foresee)
NOTHING(gemm_host_read)
NOTHING(gemm_host_write)
NOTHING(gemm_layer)
NOTHING(gemm_is_dying)

void *gemm_host_alloc(size_t n, size_t size)
{
    return calloc(n, size);
}

void *gemm_host_realloc(void *p, size_t size)
{
    return realloc(p, size);
}

void gemm_host_free(void *p)
{
    free(p);
}

bool gemm_host_is_plain(const void *p)
{
    return p;
}

size_t gemm_b_bytes(int rows, int columns)
{
    return (size_t)rows * (size_t)columns * sizeof(float);
}

static gemm_cl_configuration configuration;

void gemm_cl_configure(const gemm_cl_configuration *c)
{
    configuration = *c;
}

const gemm_cl_configuration *gemm_cl_settings(void)
{
    return &configuration;
}

char *gemm_cl_identify(void)
{
    return NULL;
}

bool gemm_cl_has_gpu(void)
{
    return false;
}
