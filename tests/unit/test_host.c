/* SPDX-License-Identifier: MIT */
/*
 * What a host may do with its process while the library is loaded.
 *
 *   fork       a network is made, or has predicted, before the fork. The child predicts what the
 *              parent does. Where the parent has the OpenCL device, or threads of OpenMP, one line
 *              says why it cannot
 *   trace      a child and its parent write each row once
 *   locale     numbers have a point, and are read with one, where the host's have a comma
 *
 *   test_host CFG      each test in a process of its own
 */
#include "driver/driver.h"
#include "support/child.h"
#include "support/network.h"
#include "support/report.h"
#include "util/die.h"
#include "util/number.h"
#include "util/text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
              int ldb, float BETA, float *C, int ldc);

enum { HANG_S = 60, OK = 0, CHILD_FAILED = 10, DIFFERENT = 11, NO_TEST = 12, HANGS = 13 };

static const char *cfg;

/* ---- fork ---- */

typedef struct scenario {
    const char *row;
    bool makes, predicts;       /* what the parent does before the fork */
    bool anew;                  /* the child makes a network of its own */
} scenario;

static const float *predict(network *net)
{
    static float input[32 * 32 * 3];
    for (size_t i = 0; i < sizeof input / sizeof *input; ++i) input[i] = (float)(i % 7) / 7;
    return network_predict(net, input);
}

/* Reads all that the child writes, and waits for it. Returns its status. */
static int end_child(pid_t child, int from, float *output, size_t bytes)
{
    int status = -1;
    size_t used = 0;
    ssize_t n;
    while (used < bytes && (n = read(from, (char *)output + used, bytes - used)) > 0)
        used += (size_t)n;
    close(from);
    return waitpid(child, &status, 0) == child ? status : -1;
}

static int judge_outputs(network *net, pid_t child, int from)
{
    const size_t bytes = (size_t)net->outputs * sizeof(float);
    float *theirs = calloc(1, bytes);
    const int status = end_child(child, from, theirs, bytes);
    const bool equal = !memcmp(predict(net), theirs, bytes);
    free(theirs);
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? HANGS : CHILD_FAILED;
    return status ? CHILD_FAILED : equal ? OK : DIFFERENT;
}

static int fork_host(void *arg)
{
    const scenario *s = arg;
    int ends[2];
    setenv("GEMM_IMPL", s->row, 1);
    setenv("GEMM_THREADS", "3", 1);
    network *net = s->makes ? network_make(cfg, 1) : NULL;
    if (s->predicts) predict(net);
    if (pipe(ends)) return NO_TEST;
    const pid_t child = fork();
    if (child == 0) {
        alarm(HANG_S);
        network *own = net && !s->anew ? net : network_make(cfg, 1);
        const size_t bytes = (size_t)own->outputs * sizeof(float);
        exit(write(ends[1], predict(own), bytes) != (ssize_t)bytes);
    }
    close(ends[1]);
    if (child < 0) return NO_TEST;
    return judge_outputs(net ? net : network_make(cfg, 1), child, ends[0]);
}

static int count_lines(const char *text, const char *start)
{
    int count = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') ++line;
        count += !strncmp(line, start, strlen(start));
    }
    return count;
}

/* NULL, or what is wrong. A child that is refused says one line, and has status 1. */
static const char *judge_fork(const child_result *r, const scenario *s, bool refused)
{
    char line[160];
    snprintf(line, sizeof line, "gemm: GEMM_IMPL=%s cannot run here: the parent of this process ",
             s->row);
    const int code = child_exit(r), lines = count_lines(r->output, "gemm: ");
    if (code == HANGS) return "the child hangs";
    if (code == DIFFERENT) return "child and parent differ";
    if (refused)
        return code == CHILD_FAILED && lines == 1 && count_lines(r->output, line) == 1
                   ? NULL : r->output;
    return code == OK && lines == 0 ? NULL : r->output;
}

/* What the row cannot do in any process is no matter of fork. */
static int is_unusable(void *row)
{
    const char *why = gemm_unusable(gemm_find(row));
    if (why) printf("%s", why);
    return why != NULL;
}

/* What the parent has after it made a network, or after it predicted, and a child cannot use. */
typedef enum parents { NOTHING, DEVICE, OPENMP_THREADS } parents;

static void test_fork(const char *row, parents has)
{
    const scenario scenarios[] = {
        {row, true, false, false}, {row, true, true, false}, {row, true, true, true},
        {row, false, false, true}};
    const child_result usable = child_run(is_unusable, (void *)row);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
        const scenario *s = &scenarios[i];
        char name[80];
        snprintf(name, sizeof name, "fork %s: the parent %s%s", row,
                 s->predicts ? "predicted" : s->makes ? "made a network" : "did nothing",
                 s->anew && s->makes ? ", the child makes its own" : "");
        if (child_exit(&usable)) {
            report_unusable(name, usable.output);
            continue;
        }
        const child_result r = child_run(fork_host, (void *)s);
        const bool refused = has == DEVICE ? s->makes : has == OPENMP_THREADS && s->predicts;
        report_judged(name, judge_fork(&r, s, refused));
    }
}

/* ---- trace ---- */

static void multiply(int times)
{
    static float A[30 * 30], B[30 * 30], C[30 * 30];
    for (int i = 0; i < times; ++i) gemm_cpu(0, 0, 30, 30, 30, 1, A, 30, B, 30, 1, C, 30);
}

/* The locale is one with a comma where the machine has it. */
static int trace_over_fork(void *path)
{
    setlocale(LC_ALL, "");
    setenv("GEMM_TRACE", path, 1);
    multiply(5);
    const pid_t child = fork();
    multiply(child ? 2 : 3);
    int status = 0;
    return child && (waitpid(child, &status, 0) != child || status);
}

/* A header and 10 rows, of which each has 14 commas. */
static const char *judge_trace(const char *path)
{
    char line[1024];
    int lines = 0;
    bool whole = true;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        int commas = 0;
        for (const char *p = line; *p; ++p) commas += *p == ',';
        whole = whole && commas == 16 && strchr(line, '\n');
        ++lines;
    }
    if (f) fclose(f);
    return lines != 11 ? "it has not 11 lines" : whole ? NULL : "a row has not 17 fields";
}

static void test_trace(const char *name)
{
    char path[] = "/tmp/test_host.XXXXXX";
    const int file = mkstemp(path);
    if (file < 0) exit(2);
    close(file);
    const child_result r = child_run(trace_over_fork, path);
    report_judged(name, child_exit(&r) ? r.output : judge_trace(path));
    unlink(path);
}

/* ---- locale ---- */

/* Makes a locale with a comma, in a folder of its own. */
static bool make_locale(const char *folder)
{
    char command[200];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             folder);
    setenv("LOCPATH", folder, 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    return system(command) == 0 && setlocale(LC_ALL, "") && *localeconv()->decimal_point == ',';
}

static int die_of_half(void *unused)
{
    (void)unused;
    gemm_die("%g", .5);
}

static int check_gemm(void *unused)
{
    (void)unused;
    setenv("GEMM_CHECK", "1", 1);
    multiply(1);
    return 0;
}

/* NULL, or what is wrong. The host's own numbers keep their comma. */
static const char *judge_locale(void)
{
    static char text[64];
    double x = 0;
    char hosts[16];
    if (!gemm_append(text, sizeof text, "%.1f", .5) || strcmp(text, "0.5")) return text;
    if (!gemm_parse_double("0.5", 0, 1, &x) || x != .5) return "0.5 is not read";
    if (gemm_parse_double("0,5", 0, 1, &x)) return "0,5 is read";
    const child_result died = child_run(die_of_half, NULL), checked = child_run(check_gemm, NULL);
    if (strcmp(died.output, "gemm: 0.5\n")) return "gemm_die prints a comma";
    if (!strstr(checked.output, "worst error 0 ")) return "GEMM_CHECK prints a comma";
    snprintf(hosts, sizeof hosts, "%.1f", .5);
    return strcmp(hosts, "0,5") ? "the host lost its comma" : NULL;
}

static void test_locale(void)
{
    char folder[] = "/tmp/test_host.XXXXXX", command[80];
    if (!mkdtemp(folder)) exit(2);
    if (make_locale(folder)) {
        report_judged("locale", judge_locale());
        test_trace("trace under a locale with a comma");
    } else {
        report_skip("locale", "localedef makes no de_DE (Debian: locales)");
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) exit(2);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "test_host: one argument is needed, a cfg\n");
        return 2;
    }
    cfg = argv[1];
    test_fork("auto", NOTHING);
    test_fork("packed", NOTHING);
    test_fork("mkn", NOTHING);
    test_fork("cl", DEVICE);
    test_fork("hybrid", DEVICE);
    test_fork("clblast", DEVICE);
    test_fork("openblas", NOTHING);
    test_fork("blis", OPENMP_THREADS);
    test_fork("onednn", OPENMP_THREADS);
    test_trace("trace");
    test_locale();
    return report_status();
}
