/*
 * The driver of whole convolutions.
 *
 * gemm_conv folds batch norm into a scale and a shift for each filter -> gemm_conv_run -> check and
 * trace, as for a multiply -> the row. When the row declines, Darknet runs its own code.
 */
#include "driver/check.h"
#include "driver/conv_check.h"
#include "driver/driver.h"
#include "driver/start.h"
#include "driver/trace.h"
#include "util/clock.h"
#include "util/die.h"

#include <math.h>
#include <stdlib.h>

bool gemm_conv_offered(void)
{
    return gemm_get_state()->conv && gemm_chosen()->conv;
}

/* Whether sizes and groups are those of a convolution that has outputs. */
static bool is_valid(const conv_call *c)
{
    return c->batch > 0 && c->groups > 0 && c->c > 0 && c->h > 0 && c->w > 0 && c->n > 0 &&
           c->out_h > 0 && c->out_w > 0 && c->c % c->groups == 0 && c->n % c->groups == 0;
}

/* Runs the row. Returns false when it declines. */
static bool run_row(const gemm_state *s, const gemm_variant *v, const conv_call *c, gemm_note *note)
{
    const gemm_context context = gemm_state_context(s, note);
    const gemm_status status = v->conv(c, &context, v->params);
    if (status == GEMM_FAILED)
        gemm_die("%s failed for a convolution of %d filters %dx%d/%d over %dx%dx%d, and its output "
                 "is undefined: %s", v->name, c->n, c->size, c->size, c->stride, c->w, c->h, c->c,
                 note->reason);
    return status == GEMM_DONE;
}

static bool run_traced(const gemm_state *s, const gemm_variant *v, const conv_call *c,
                       gemm_note *note)
{
    if (!s->trace) return run_row(s, v, c, note);
    const double start = gemm_now_ms();
    if (!run_row(s, v, c, note)) return false;
    gemm_trace_conv(v, c, gemm_now_ms() - start, note);
    return true;
}

static bool run_checked(const gemm_state *s, const gemm_variant *v, const conv_call *c,
                        gemm_note *note)
{
    if (!run_traced(s, v, c, note)) return false;
    conv_error worst;
    if (gemm_conv_compare(c, &worst))
        gemm_die("GEMM_CHECK: no memory for the reference of a convolution");
    if (!(worst.ratio <= 1))
        gemm_die(
            "GEMM_CHECK: %s is wrong for a convolution of %d filters %dx%d/%d pad %d groups %d "
            "over %dx%dx%d: image %d filter %d at %d is off by %g, %.3g times the bound",
            v->name, c->n, c->size, c->size, c->stride, c->pad, c->groups, c->w, c->h, c->c,
            worst.image, worst.filter, worst.at, worst.difference, worst.ratio);
    const gemm_call gemm = gemm_of_conv(c);
    gemm_record_check(&gemm, worst.ratio);
    return true;
}

bool gemm_conv_run(const gemm_variant *v, const conv_call *c, gemm_note *note)
{
    gemm_note own;
    if (!is_valid(c)) return false;
    if (!note) note = &own;
    const gemm_state *s = gemm_get_state();
    return s->check ? run_checked(s, v, c, note) : run_traced(s, v, c, note);
}

/* Returns n scales, then n shifts, so that scale * x + shift is Darknet's batch norm at inference.
   NULL without memory. The caller frees it. */
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
    if (!gemm_conv_offered() || !is_valid(c)) return false;
    if (!norm) return gemm_conv_run(gemm_chosen(), c, NULL);
    float *folded = fold(c, norm);
    if (!folded) return false;
    conv_call call = *c;
    call.scale = folded;
    call.shift = folded + c->n;
    const bool done = gemm_conv_run(gemm_chosen(), &call, NULL);
    free(folded);
    return done;
}
