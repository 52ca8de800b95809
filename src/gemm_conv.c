/*
 * The driver of whole convolutions: folds batch norm, hands the call to the row, and traces and
 * checks where the environment asks for it.
 */
#include "gemm_conv_check.h"
#include "gemm_driver.h"

#include <math.h>
#include <stdlib.h>

bool gemm_conv_offered(void)
{
    return gemm_get_settings()->conv && gemm_chosen()->conv;
}

static bool is_whole(const conv_call *c)
{
    return c->batch > 0 && c->groups > 0 && c->c > 0 && c->h > 0 && c->w > 0 && c->n > 0 &&
           c->out_h > 0 && c->out_w > 0 && c->c % c->groups == 0 && c->n % c->groups == 0;
}

static bool run_traced(const gemm_variant *v, const conv_call *c)
{
    gemm_note *note = gemm_this_note();
    *note = (gemm_note){.kernel_ms = -1};
    const double start = gemm_now_ms();
    if (v->conv(c, v->params)) return false;
    if (gemm_get_settings()->trace) gemm_trace_conv(v, c, gemm_now_ms() - start, note);
    return true;
}

static bool run_checked(const gemm_variant *v, const conv_call *c)
{
    if (!run_traced(v, c)) return false;
    conv_error worst;
    if (gemm_conv_compare(c, &worst)) gemm_die("GEMM_CHECK: no memory for the reference of a convolution");
    if (!(worst.ratio <= 1))
        gemm_die("GEMM_CHECK: %s is wrong for a convolution of %d filters %dx%d/%d pad %d groups %d over "
                 "%dx%dx%d: image %d filter %d at %d is off by %g, %.3g times the bound", v->name, c->n,
                 c->size, c->size, c->stride, c->pad, c->groups, c->w, c->h, c->c, worst.image,
                 worst.filter, worst.at, worst.difference, worst.ratio);
    const gemm_call gemm = {.M = c->n / c->groups, .N = c->out_h * c->out_w,
                            .K = c->c / c->groups * c->size * c->size};
    gemm_record_check(&gemm, worst.ratio);
    return true;
}

bool gemm_conv_run(const gemm_variant *v, const conv_call *c)
{
    if (!is_whole(c)) return false;
    return gemm_get_settings()->check ? run_checked(v, c) : run_traced(v, c);
}

/* scale and shift, 2 n floats, such that scale * x + shift is Darknet's batch norm at inference. */
static float *fold(const conv_call *c, const conv_norm *norm)
{
    float *folded = malloc(2 * (size_t)c->n * sizeof *folded);
    for (int i = 0; folded && i < c->n; ++i) {
        const double scale = norm->scales[i] / (sqrt((double)norm->variance[i]) + .000001);
        folded[i] = (float)scale;
        folded[c->n + i] = (float)(c->shift[i] - norm->mean[i] * scale);
    }
    return folded;
}

bool gemm_conv(const conv_call *c, const conv_norm *norm)
{
    if (!gemm_conv_offered() || !is_whole(c)) return false;
    if (!norm) return gemm_conv_run(gemm_chosen(), c);
    float *folded = fold(c, norm);
    if (!folded) return false;
    conv_call call = *c;
    call.scale = folded;
    call.shift = folded + c->n;
    const bool done = gemm_conv_run(gemm_chosen(), &call);
    free(folded);
    return done;
}
