/*
 * The driver of whole convolutions: folds batch norm, hands the call to the row, and traces and
 * checks where the environment asks for it.
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

static bool is_whole(const conv_call *c)
{
    return c->batch > 0 && c->groups > 0 && c->c > 0 && c->h > 0 && c->w > 0 && c->n > 0 &&
           c->out_h > 0 && c->out_w > 0 && c->c % c->groups == 0 && c->n % c->groups == 0;
}

/* Whether the row did it. */
static bool run_row(const gemm_variant *v, const conv_call *c, gemm_note *note)
{
    const gemm_context context = gemm_make_context(note);
    const gemm_status status = v->conv(c, &context, v->params);
    if (status == GEMM_FAILED)
        gemm_die("%s failed for a convolution of %d filters %dx%d/%d over %dx%dx%d and its output "
                 "is undefined: %s", v->name, c->n, c->size, c->size, c->stride, c->w, c->h, c->c,
                 note->reason);
    return status == GEMM_DONE;
}

static bool run_traced(const gemm_variant *v, const conv_call *c, gemm_note *note)
{
    if (!gemm_get_state()->trace) return run_row(v, c, note);
    const double start = gemm_now_ms();
    if (!run_row(v, c, note)) return false;
    gemm_trace_conv(v, c, gemm_now_ms() - start, note);
    return true;
}

static bool run_checked(const gemm_variant *v, const conv_call *c, gemm_note *note)
{
    if (!run_traced(v, c, note)) return false;
    conv_error worst;
    if (gemm_conv_compare(c, &worst)) gemm_die("GEMM_CHECK: no memory for the reference of a convolution");
    if (!(worst.ratio <= 1))
        gemm_die("GEMM_CHECK: %s is wrong for a convolution of %d filters %dx%d/%d pad %d groups %d over "
                 "%dx%dx%d: image %d filter %d at %d is off by %g, %.3g times the bound", v->name, c->n,
                 c->size, c->size, c->stride, c->pad, c->groups, c->w, c->h, c->c, worst.image,
                 worst.filter, worst.at, worst.difference, worst.ratio);
    const gemm_call gemm = gemm_of_conv(c);
    gemm_record_check(&gemm, worst.ratio);
    return true;
}

bool gemm_conv_run(const gemm_variant *v, const conv_call *c, gemm_note *note)
{
    gemm_note own;
    if (!is_whole(c)) return false;
    if (!note) note = &own;
    return gemm_get_state()->check ? run_checked(v, c, note) : run_traced(v, c, note);
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
