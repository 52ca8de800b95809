/*
 * What both memory policies do with a matrix.
 */
#include "cl/view.h"

#include "cl/program.h"

#include <string.h>

int gemm_cl_output_beside(gemm_cl_view *c)
{
    const size_t count = c->rows * c->cols;
    const char *why;
    c->mem = gemm_cl_scratch(SLOT_C, count * sizeof(float));
    c->device_ld = c->cols;
    if (!c->mem || c->overwrite) return c->mem ? 0 : -1;
    const gemm_cl_program *zero = gemm_cl_build("cl_zero", "", &why);
    if (!zero) return -1;
    CL_TRY(clSetKernelArg(zero->kernel, 0, sizeof c->mem, &c->mem));
    CL_TRY(clEnqueueNDRangeKernel(gemm_cl_opened()->queue, zero->kernel, 1, NULL, &count, NULL, 0,
                                  NULL, NULL));
    return 0;
fail:
    return -1;
}

void gemm_cl_gather_rows(float *out, const gemm_cl_view *v, size_t from, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        memcpy(out + i * v->cols, v->host + (from + i) * v->ld, v->cols * sizeof(float));
}

void gemm_cl_take_rows(const gemm_cl_view *c, const float *sums)
{
    for (size_t i = 0; i < c->rows; ++i, sums += c->cols) {
        float *row = c->host + i * c->ld;
        if (c->overwrite) {
            memcpy(row, sums, c->cols * sizeof *row);
            continue;
        }
        for (size_t j = 0; j < c->cols; ++j) row[j] += sums[j];
    }
}

int gemm_cl_check_launch(const gemm_cl_view *c)
{
    cl_int status = CL_COMPLETE;
    if (!c->made) return 0;
    CL_TRY(clGetEventInfo(c->made, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                          NULL));
    if (status >= 0) return 0;
    gemm_cl_say_failed(__FILE__, __LINE__, "the kernel that writes C", status);
fail:
    return -1;
}
