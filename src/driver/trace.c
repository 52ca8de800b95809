/* SPDX-License-Identifier: MIT */
/*
 * GEMM_TRACE: a CSV row for every call. `layer` and `algorithm` are empty for a multiply. kernel_ms
 * is empty when no device worked. `auto` has the row that the row `auto` took, and why in
 * parentheses. `why` has the ways of a convolution that were asked, and why they do not run.
 * `kept` is what all plans together keep behind the call, in bytes.
 *
 * A row is written at once, and nothing is left in a buffer: a child of fork would write it again.
 */
#include "driver/trace.h"

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
static const char *mode = "";   /* what `why` begins with */

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
int gemm_trace_open(const char *path, bool reproducible)
{
    const bool file = strcmp(path, "-");
    trace_path = path;
    mode = reproducible ? "reproducible" : "";
    trace = file ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)
                 : STDERR_FILENO;
    if (trace < 0) return errno;
    if (!write_text("variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c,layer,"
                    "algorithm,auto,why,kept\n"))
        return errno;
    if (file) atexit(close_trace);
    return 0;
}

void gemm_trace_op(const gemm_variant *ran, const gemm_op *op, double ms, const gemm_note *note,
                   size_t kept)
{
    if (trace < 0) return;
    char row[1280] = "", layer[GEMM_OP_TEXT], kernel_ms[32] = "", chosen[64] = "";
    const gemm_call p = gemm_op_product(op);
    const bool multiply = op->kind == GEMM_MULTIPLY;
    if (note->kernel_ms >= 0) gemm_append(kernel_ms, sizeof kernel_ms, "%.4f", note->kernel_ms);
    if (note->chosen) snprintf(chosen, sizeof chosen, "%s (%s)", note->chosen, note->why);
    gemm_op_name_layer(op, layer);
    const double gflops = ms > 0 ? gemm_op_flop(op) / ms * 1e-6 : 0;    /* not 0 / 0 */
    gemm_append(row, sizeof row, "%s,%d,%d,%d,%d,%d,%.4f,%.3f,%s,%zu,%zu,%zu,%s,%s,%s,%s%s%s,%zu\n",
                *note->ran ? note->ran : ran->name, multiply && op->multiply->TA,
                multiply && op->multiply->TB, p.M, p.N, p.K, ms, gflops, kernel_ms,
                note->copied_a, note->copied_b, note->copied_c, layer, note->algorithm, chosen,
                mode, *mode && *note->weighed ? "; " : "", note->weighed, kept);
    if (!write_text(row)) die_of_write();
}
