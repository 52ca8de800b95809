/* SPDX-License-Identifier: MIT */
/* Which layers go in 8 bits: see layer.h. */
#include "int8/layer.h"

#include "int8/scales.h"

#include <math.h>

bool gemm_int8_is_narrow(const conv_call *c)
{
    enum { FEW = 16 };
    return c->size == 1 && (c->c / c->groups <= FEW || c->n / c->groups <= FEW);
}

/* Where a filter sees few channels, or meets one place, there is no product of matrices. */
bool gemm_int8_takes(const conv_call *c, const gemm_scale *scale, const char *way)
{
    enum { FEW_CHANNELS = 2, FEW_FILTERS = 4, MOST_STRIDE = 8 };
    return scale && scale->scale > 0 && !way && c->activation != CONV_LOGISTIC &&
           c->c / c->groups > FEW_CHANNELS && c->n / c->groups > FEW_FILTERS &&
           !(scale->by_noise && gemm_int8_is_narrow(c)) &&
           c->size * c->size <= GEMM_INT8_MOST_TAPS && c->stride <= MOST_STRIDE &&
           !gemm_conv_is_dots(c) && gemm_conv_taps(c) <= GEMM_INT8_MOST_K;
}

bool gemm_int8_step(const float *w, int n, float *step, float *inverse)
{
    float most = 0;
    for (int i = 0; i < n; ++i) {
        if (!isfinite(w[i])) return false;
        most = fabsf(w[i]) > most ? fabsf(w[i]) : most;
    }
    *inverse = most > 0 && isfinite(127 / most) ? 127 / most : 0;
    *step = *inverse > 0 ? most / 127 : 0;
    return true;
}
