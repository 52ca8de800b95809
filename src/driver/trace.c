/*
 * GEMM_TRACE: a CSV row for every call. `layer` and `algorithm` are empty for a multiply. kernel_ms
 * is empty when no device worked. `auto` has the row that the row `auto` took, and why in
 * parentheses.
 *
 * A row is written at once, and nothing is left in a buffer: a child of fork would write it again.
 */
#include "driver/trace.h"

#include "auto/shape.h"
#include "util/die.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int trace = -1;
static const char *trace_path;

static void die_of_write(void)
{
    gemm_die_first("GEMM_TRACE='%s' cannot be written: %s", trace_path, strerror(errno));
}

/* Handlers of the host may run after this one, and multiply: then there is no trace. */
static void close_trace(void)
{
    const int closing = trace;
    trace = -1;
    if (close(closing)) die_of_write();
}

/* false, with errno, where not all of the text could be written. */
static bool write_text(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const ssize_t n = write(trace, text, left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        text += n;
        left -= (size_t)n;
    }
    return true;
}

/* O_APPEND keeps rows of a child and of its parent whole. */
int gemm_trace_open(const char *path)
{
    const bool file = strcmp(path, "-");
    trace_path = path;
    trace = file ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)
                 : STDERR_FILENO;
    if (trace < 0) return errno;
    if (!write_text("variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c,layer,"
                    "algorithm,auto\n"))
        return errno;
    if (file) atexit(close_trace);
    return 0;
}

static void trace_row(const gemm_variant *ran, const gemm_call *c, double flop, const char *layer,
                      double ms, const gemm_note *note)
{
    if (trace < 0) return;
    char row[640] = "", kernel_ms[32] = "", chosen[64] = "";
    if (note->kernel_ms >= 0) gemm_append(kernel_ms, sizeof kernel_ms, "%.4f", note->kernel_ms);
    if (note->chosen) snprintf(chosen, sizeof chosen, "%s (%s)", note->chosen, note->why);
    const double gflops = ms > 0 ? flop / ms * 1e-6 : 0;        /* not 0 / 0 */
    gemm_append(row, sizeof row, "%s,%d,%d,%d,%d,%d,%.4f,%.3f,%s,%zu,%zu,%zu,%s,%s,%s\n",
                *note->ran ? note->ran : ran->name, c->TA != 0, c->TB != 0, c->M, c->N, c->K, ms,
                gflops, kernel_ms, note->copied_a, note->copied_b, note->copied_c, layer,
                note->algorithm, chosen);
    if (!write_text(row)) die_of_write();
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
