/*
 * The driver of layers without weights: pooling, route, upsample, shortcut, yolo.
 *
 * gemm_layer -> gemm_layer_run -> check and trace, as for a multiply -> the row. When the row
 * declines, Darknet runs its own code.
 */
#include "auto/bytes.h"
#include "check/check.h"
#include "check/layer_check.h"
#include "driver/driver.h"
#include "driver/failure.h"
#include "driver/start.h"
#include "driver/trace.h"
#include "driver/valid.h"
#include "util/clock.h"
#include "util/die.h"

#include <errno.h>

static void inputs_to_cpu(const layer_call *c)
{
    for (int i = 0; i < c->inputs; ++i)
        gemm_host_read(c->input[i].data, gemm_layer_input_bytes(c, i));
}

/* Runs the row. Returns false when it declines. */
static bool run_row(const gemm_state *s, const gemm_variant *v, const layer_call *c,
                    gemm_note *note)
{
    const gemm_context context = gemm_state_context(s, note);
    if (!v->leaves) {
        inputs_to_cpu(c);
        gemm_host_write(c->output, gemm_layer_output_bytes(c));
    }
    const gemm_status status = v->layer(c, &context, v->params);
    if (status == GEMM_FAILED)
        gemm_say_failed("%s failed for a layer of %dx%dx%d, which is left to the caller: %s",
                        v->name, c->out_w, c->out_h, c->out_c, note->reason);
    return status == GEMM_DONE;
}

static bool run_traced(const gemm_state *s, const gemm_variant *v, const layer_call *c,
                       gemm_note *note)
{
    if (!s->trace) return run_row(s, v, c, note);
    const double start = gemm_now_ms();
    if (!run_row(s, v, c, note)) return false;
    gemm_trace_layer(v, c, gemm_now_ms() - start, note);
    return true;
}

static bool run_checked(const gemm_state *s, const gemm_variant *v, const layer_call *c,
                        gemm_note *note)
{
    if (!run_traced(s, v, c, note)) return false;
    inputs_to_cpu(c);
    gemm_host_read(c->output, gemm_layer_output_bytes(c));
    const layer_error worst = gemm_layer_compare(c);
    if (!(worst.ratio <= 1))
        gemm_die_first("GEMM_CHECK: %s is wrong for a layer of %dx%dx%d: image %d output %d is "
                       "off by %g, %.3g times the bound", v->name, c->out_w, c->out_h, c->out_c,
                       worst.image, worst.at, worst.difference, worst.ratio);
    const gemm_call none = {.M = 0};
    gemm_record_check(&none, worst.ratio);
    return true;
}

bool gemm_layer_run(const gemm_variant *v, const layer_call *c, gemm_note *note)
{
    gemm_note own;
    if (!gemm_layer_is_valid(c)) return false;
    if (!note) note = &own;
    const gemm_state *s = gemm_get_state();
    return s->check ? run_checked(s, v, c, note) : run_traced(s, v, c, note);
}

bool gemm_layer(const layer_call *c)
{
    const int before = errno;
    const gemm_variant *v = gemm_chosen();
    const bool done =
        gemm_get_state()->conv != GEMM_IM2COL && v->layer && gemm_layer_run(v, c, NULL);
    errno = before;
    return done;
}
