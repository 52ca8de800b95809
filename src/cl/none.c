/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL rows of a build with OPENCL=0: they say why they cannot run.
 */
#include "gemm_cl.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- rows ---- */

gemm_status gemm_cl_multiply(const gemm_call *g, const gemm_context *context, const void *row)
{
    return GEMM_DECLINED;
}

gemm_status gemm_cl_multiply_beside(const gemm_call *g, const gemm_context *context,
                                    const void *row)
{
    return GEMM_DECLINED;
}

gemm_status gemm_cl_conv(const conv_call *c, const gemm_context *context, const void *row)
{
    return GEMM_DECLINED;
}

gemm_status gemm_cl_chain(const conv_call *calls, int count, const layer_call *shortcut,
                          const gemm_context *context, const void *row)
{
    return GEMM_DECLINED;
}

gemm_status gemm_cl_run(const gemm_op *op, const gemm_context *context, const void *row)
{
    return GEMM_DECLINED;
}

gemm_status gemm_cl_int8_run(const gemm_op *op, const gemm_context *context, const void *row)
{
    return GEMM_DECLINED;
}

const char *gemm_cl_later(const gemm_op *op, const gemm_context *x, const void *row)
{
    return NULL;
}

const char *gemm_cl_later_beside(const gemm_op *op, const gemm_context *x, const void *row)
{
    return NULL;
}

const char *gemm_cl_unusable(const void *row) { return "built with OPENCL=0"; }
const char *gemm_cl_limits(const void *row) { return gemm_cl_unusable(row); }
int gemm_cl_b_ld(int columns, const void *row) { return columns; }

/* ---- the device and its memory ---- */

void gemm_cl_configure(const gemm_cl_configuration *configuration) {}
char *gemm_cl_identify(void) { return NULL; }
const char *gemm_cl_describe(void) { return NULL; }
bool gemm_cl_has_gpu(void) { return false; }
bool gemm_cl_is_of_parent(void) { return false; }
void gemm_cl_make_foreseen(void) {}
void gemm_cl_compile_apart(const char *argument, char **(*environment)(void)) {}
void gemm_cl_serve(void) {}
void gemm_cl_force_memory(int policy) {}
void *gemm_cl_alloc(size_t bytes) { return NULL; }
bool gemm_cl_free(void *p) { return false; }
size_t gemm_cl_alloc_size(const void *p) { return 0; }
bool gemm_cl_has_left(void) { return false; }
const char *gemm_cl_way(int i) { return NULL; }

const char *gemm_cl_give_to_cpu(const void *data, size_t bytes, gemm_cl_cpu_use use)
{
    return NULL;
}

/* ---- tuned forms ---- */

void gemm_cl_set_tuning(gemm_cl_tuning tuning) {}
int gemm_cl_settle_forms(bool kept) { return 0; }
