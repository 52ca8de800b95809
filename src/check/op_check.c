/* SPDX-License-Identifier: MIT */
/* GEMM_CHECK of an op: see op_check.h. */
#include "check/op_check.h"

#include "check/conv_check.h"
#include "check/int8_check.h"
#include "check/layer_check.h"
#include "int8/scales.h"

#include <stdio.h>

bool gemm_check_before(const gemm_op *op, gemm_oracle *o)
{
    *o = (gemm_oracle){.expected = NULL};
    return op->kind != GEMM_MULTIPLY || !gemm_oracle_make(o, op->multiply);
}

bool gemm_check_after(const gemm_op *op, const gemm_oracle *o, const gemm_note *note,
                      const gemm_rounding *r, gemm_error *worst)
{
    switch (op->kind) {
    case GEMM_MULTIPLY:
        *worst = gemm_oracle_compare_rounded(o, op->multiply, r);
        return true;
    case GEMM_CONVOLUTION:
        if (note->scale)
            return !gemm_int8_compare(op->conv, note->scale->scale, note->scale->zero, worst);
        return !gemm_conv_compare_rounded(op->conv, note->transform, r, worst);
    case GEMM_LAYER:
        *worst = gemm_layer_compare(op->layer);
        return true;
    case GEMM_CHAIN: break;
    }
    return false;
}

void gemm_check_place(const gemm_op *op, const gemm_error *e, char text[GEMM_PLACE_TEXT])
{
    switch (op->kind) {
    case GEMM_MULTIPLY:
        snprintf(text, GEMM_PLACE_TEXT, "C[%d][%d]", e->row, e->column);
        break;
    case GEMM_CONVOLUTION: case GEMM_CHAIN:
        snprintf(text, GEMM_PLACE_TEXT, "image %d filter %d at %d", e->image, e->row, e->column);
        break;
    case GEMM_LAYER:
        snprintf(text, GEMM_PLACE_TEXT, "image %d output %d", e->image, e->column);
        break;
    }
}
