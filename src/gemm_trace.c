/*
 * GEMM_TRACE: a CSV row for every call. kernel_ms is empty where no device worked.
 */
#include "gemm_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *trace;
static const char *trace_path;

static _Noreturn void die_of_write(void)
{
    fprintf(stderr, "gemm: GEMM_TRACE='%s' cannot be written: %s\n", trace_path, strerror(errno));
    _exit(1);
}

static void close_trace(void)
{
    if (fclose(trace)) die_of_write();
}

void gemm_trace_open(const char *path)
{
    trace_path = path;
    trace = strcmp(path, "-") ? fopen(path, "w") : stderr;
    if (!trace) gemm_die("GEMM_TRACE='%s' cannot be written: %s", path, strerror(errno));
    fputs("variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c\n", trace);
    if (trace != stderr) atexit(close_trace);
}

void gemm_trace_call(const gemm_variant *ran, const gemm_call *c, double ms, const gemm_note *note)
{
    const double flop = 2.0 * c->M * c->N * c->K;
    char kernel_ms[32] = "";
    if (note->kernel_ms >= 0) snprintf(kernel_ms, sizeof kernel_ms, "%.4f", note->kernel_ms);
    const int written = fprintf(trace, "%s,%d,%d,%d,%d,%d,%.4f,%.3f,%s,%zu,%zu,%zu\n",
                                note->ran ? note->ran : ran->name, c->TA != 0, c->TB != 0, c->M,
                                c->N, c->K, ms, flop / ms * 1e-6, kernel_ms, note->copied_a,
                                note->copied_b, note->copied_c);
    if (written < 0) die_of_write();
}
