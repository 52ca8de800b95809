/* SPDX-License-Identifier: MIT */
/*
 * GEMM_TRACE: a CSV row for every call. `layer` and `algorithm` are empty for a multiply. kernel_ms
 * is empty when no device worked. `auto` has the row that the row `auto` took, and why in
 * parentheses. `why` has the ways that were asked, and why they do not run, or why this one does.
 * `kept` is what all plans together keep behind the call, in bytes.
 *
 * A row is written at once, in one write, and nothing is left in a buffer: a child of fork would
 * write it again. Several processes may append to one file: see src/util/started.h for a run. The
 * first one empties the file of an older run, and writes the header.
 */
#include "driver/trace.h"

#include "util/die.h"
#include "util/forked.h"
#include "util/started.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char header[] = "variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c,"
                             "layer,algorithm,auto,why,kept\n";

static int trace = -1;
static const char *trace_path;  /* as GEMM_TRACE has it */
static int64_t run_began;
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
    if (closing >= 0 && close(closing)) die_of_write();
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

/*
 * Whether the file needs a header. It is locked while this is found out, and from then on shared
 * with all that write it. So a file that can be locked alone is of no process that still writes.
 */
static bool begin_file(void)
{
    struct stat st;
    if (fstat(trace, &st) || !S_ISREG(st.st_mode)) return true;
    if (flock(trace, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        while (flock(trace, LOCK_SH) && errno == EINTR) continue;
        return false;
    }
    const bool first = fstat(trace, &st) || st.st_size == 0 || !gemm_is_later(&st, run_began);
    return first && ftruncate(trace, 0) == 0;
}

/* O_APPEND keeps the rows of all processes whole. Returns 0, or the errno. */
static int open_file(void)
{
    char *name = gemm_own_name(trace_path);
    if (!name) return ENOMEM;
    trace = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    free(name);
    if (trace < 0) return errno;
    const bool right = !begin_file() || write_text(header);
    const int error = right ? 0 : errno;
    flock(trace, LOCK_SH);
    return error;
}

int gemm_trace_open(const char *path, bool reproducible)
{
    trace_path = path;
    mode = reproducible ? "reproducible" : "";
    if (!strcmp(path, "-")) {
        trace = STDERR_FILENO;
        return write_text(header) ? 0 : errno;
    }
    run_began = gemm_run_began("GEMM_TRACE", path);
    const int error = open_file();
    if (!error) atexit(close_trace);
    return error;
}

/* ---- a child of fork with a file of its own, which its first row opens ---- */

static bool lacks_own;

static void open_own(void)
{
    if (lacks_own && (errno = open_file())) die_of_write();
}
GEMM_ONCE_A_PROCESS(open_own)

static void after_fork(void)
{
    if (trace < 0 || trace == STDERR_FILENO || !strstr(trace_path, "%p")) return;
    close(trace);
    trace = -1;
    lacks_own = true;
}
GEMM_IN_CHILD(after_fork)

void gemm_trace_op(const gemm_variant *ran, const gemm_op *op, double ms, const gemm_note *note,
                   size_t kept)
{
    once_open_own();
    if (trace < 0) return;
    char row[1280] = "", layer[GEMM_OP_TEXT], kernel_ms[32] = "", chosen[64] = "";
    const gemm_call p = gemm_op_product(op);
    const bool multiply = op->kind == GEMM_MULTIPLY;
    if (note->kernel_ms >= 0) gemm_append(kernel_ms, sizeof kernel_ms, "%.4f", note->kernel_ms);
    if (note->chosen) snprintf(chosen, sizeof chosen, "%s (%s)", note->chosen, note->why);
    gemm_op_name_layer(op, layer);
    const char *why = *note->weighed || ran->way ? note->weighed : "its only way";
    const double gflops = ms > 0 ? gemm_op_flop(op) / ms * 1e-6 : 0;    /* not 0 / 0 */
    gemm_append(row, sizeof row, "%s,%d,%d,%d,%d,%d,%.4f,%.3f,%s,%zu,%zu,%zu,%s,%s,%s,%s%s%s,%zu\n",
                *note->ran ? note->ran : ran->name, multiply && op->multiply->TA,
                multiply && op->multiply->TB, p.M, p.N, p.K, ms, gflops, kernel_ms,
                note->copied_a, note->copied_b, note->copied_c, layer, note->algorithm, chosen,
                mode, *mode && *why ? "; " : "", why, kept);
    if (!write_text(row)) die_of_write();
}
