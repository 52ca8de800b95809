/*
 * GEMM_TRACE: a CSV row for every call. `layer` and `algorithm` are empty for a multiply. kernel_ms
 * is empty when no device worked. `auto` has the row that the row `auto` took, and why in
 * parentheses.
 */
#include "driver/trace.h"

#include "driver/shape.h"
#include "util/die.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *trace;
static const char *trace_path;

static void die_of_write(void)
{
    gemm_die_first("GEMM_TRACE='%s' cannot be written: %s", trace_path, strerror(errno));
}

/* Handlers of the host may run after this one, and multiply: then there is no trace. */
static void close_trace(void)
{
    FILE *closing = trace;
    trace = NULL;
    if (fclose(closing)) die_of_write();
}

int gemm_trace_open(const char *path)
{
    trace_path = path;
    trace = strcmp(path, "-") ? fopen(path, "w") : stderr;
    if (!trace) return errno;
    fputs("variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c,layer,"
          "algorithm,auto\n", trace);
    if (trace != stderr) atexit(close_trace);
    return 0;
}

static void trace_row(const gemm_variant *ran, const gemm_call *c, double flop, const char *layer,
                      double ms, const gemm_note *note)
{
    if (!trace) return;
    char kernel_ms[32] = "";
    if (note->kernel_ms >= 0) snprintf(kernel_ms, sizeof kernel_ms, "%.4f", note->kernel_ms);
    char chosen[64] = "";
    if (note->chosen) snprintf(chosen, sizeof chosen, "%s (%s)", note->chosen, note->why);
    const double gflops = ms > 0 ? flop / ms * 1e-6 : 0;        /* not 0 / 0 */
    const int written = fprintf(trace, "%s,%d,%d,%d,%d,%d,%.4f,%.3f,%s,%zu,%zu,%zu,%s,%s,%s\n",
                                *note->ran ? note->ran : ran->name, c->TA != 0, c->TB != 0, c->M,
                                c->N, c->K, ms, gflops, kernel_ms, note->copied_a,
                                note->copied_b, note->copied_c, layer, note->algorithm, chosen);
    if (written < 0) die_of_write();
}

static double flop_of(const gemm_call *c)
{
    return 2.0 * c->M * c->N * c->K;
}

void gemm_trace_call(const gemm_variant *ran, const gemm_call *c, double ms, const gemm_note *note)
{
    trace_row(ran, c, flop_of(c), "", ms, note);
}

gemm_call gemm_of_conv(const conv_call *c)
{
    return (gemm_call){.M = c->n / c->groups, .N = gemm_conv_places(c),
                       .K = gemm_conv_taps(c)};
}

static double flop_of_conv(const conv_call *c)
{
    const gemm_call gemm = gemm_of_conv(c);
    return flop_of(&gemm) * c->groups * c->batch;
}

/* A 1x1 convolution of a map of one place is a connected layer, whatever Darknet calls it. */
void gemm_trace_conv(const gemm_variant *ran, const conv_call *c, double ms, const gemm_note *note)
{
    const gemm_call gemm = gemm_of_conv(c);
    const bool connected = c->h == 1 && c->w == 1 && c->size == 1 && c->groups == 1;
    char layer[112];
    if (connected)
        snprintf(layer, sizeof layer, "connected %d over %d batch %d", c->n, c->c, c->batch);
    else
        snprintf(layer, sizeof layer, "%dx%d/%d pad %d groups %d batch %d%s", c->size, c->size,
                 c->stride, c->pad, c->groups, c->batch, c->pool ? " pool" : "");
    trace_row(ran, &gemm, flop_of_conv(c), layer, ms, note);
}

void gemm_trace_chain(const gemm_variant *ran, const conv_call *c, int count,
                      const layer_call *shortcut, double ms, const gemm_note *note)
{
    const conv_call *depth = &c[count - 2], *last = &c[count - 1];
    const gemm_call gemm = gemm_of_conv(last);
    char layer[112], first[16] = "";
    double flop = 0;
    for (int i = 0; i < count; ++i) flop += flop_of_conv(&c[i]);
    if (count == 3) snprintf(first, sizeof first, "%d ", c->c);
    snprintf(layer, sizeof layer, "chain %s%d %d %d %dx%d/%d over %dx%d batch %d%s", first,
             depth->c, depth->n, last->n, depth->size, depth->size, depth->stride, depth->w,
             depth->h, depth->batch, shortcut ? " shortcut" : "");
    trace_row(ran, &gemm, flop, layer, ms, note);
}

void gemm_trace_layer(const gemm_variant *ran, const layer_call *c, double ms,
                      const gemm_note *note)
{
    const gemm_call none = {.M = 0};
    char layer[112];
    snprintf(layer, sizeof layer, "%s %dx%dx%d to %dx%dx%d batch %d", gemm_layer_name(c->kind),
             c->w, c->h, c->c, c->out_w, c->out_h, c->out_c, c->batch);
    trace_row(ran, &none, 0, layer, ms, note);
}
