/* SPDX-License-Identifier: MIT */
/* The gemm calls of a cfg file: see cfg.h. */
#include "common/cfg.h"

#include "common/apart.h"
#include "darknet.h"
#include "utils.h"
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- in the child ---- */

/* A line of the child's output. Its other lines are what Darknet prints. */
#define CALL_LINE "call %d %d %d %d %d %d %d %d\n"

typedef struct reading {
    const char *path;
    int batch;
} reading;

static FILE *calls;

static gemm_status note_call(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)context, (void)params;
    fprintf(calls, CALL_LINE, c->TA, c->TB, c->M, c->N, c->K, c->lda, c->ldb, c->ldc);
    return GEMM_DONE;
}

static const gemm_variant recorder = {.name = "recorder", .multiply = note_call};

/* A copy of the cfg with another batch: Darknet takes the first value that a section gives. */
static FILE *copy_with_batch(const char *path, int batch)
{
    FILE *in = fopen(path, "r"), *out = tmpfile();
    char *line = NULL;
    size_t size = 0;
    if (!in || !out) error("cannot copy the file");
    for (bool in_net = false; getline(&line, &size, in) > 0;) {
        fputs(line, out);
        if (in_net || line[strspn(line, " \t")] != '[') continue;
        fprintf(out, "\nbatch=%d\nsubdivisions=1\n", batch);
        in_net = true;
    }
    free(line);
    fclose(in);
    if (fflush(out)) error("cannot copy the file");
    return out;
}

static bool multiplies(LAYER_TYPE type)
{
    return type == CONVOLUTIONAL || type == DECONVOLUTIONAL || type == CONNECTED || type == LOCAL
           || type == RNN || type == GRU || type == LSTM || type == CRNN;
}

/* In the place of the other layers: they need time, and [batchnorm] crashes in Darknet. */
static void do_nothing(layer l, network net)
{
    (void)l, (void)net;
}

static void record(void *argument, FILE *out)
{
    const reading *r = argument;
    char path[4096];
    snprintf(path, sizeof path, "%s", r->path);
    calls = out;
    dup2(fileno(out), STDERR_FILENO);       /* the last line says why Darknet gave up */
    gemm_set_variant(&recorder);
    read_cfg(path);                         /* its messages name the file and the line */
    FILE *copy = r->batch ? copy_with_batch(r->path, r->batch) : NULL;
    if (copy) snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(copy));
    weights_follow = 1;                     /* nothing reads them: no random numbers */
    network *net = parse_network_cfg(path);
    for (int i = 0; i < net->n; ++i)
        if (!multiplies(net->layers[i].type)) net->layers[i].forward = do_nothing;
    network_predict(net, net->input);
}

/* ---- in the parent ---- */

static const char *last_line(char *text)
{
    size_t end = strlen(text);
    while (end > 0 && text[end - 1] == '\n') text[--end] = '\0';
    const char *line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static int give_calls(const char *text, cfg_each *each, void *argument)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        gemm_call c = {.ALPHA = 1};
        if (sscanf(line, CALL_LINE, &c.TA, &c.TB, &c.M, &c.N, &c.K, &c.lda, &c.ldb, &c.ldc) != 8)
            continue;
        const int stop = each(argument, &c);
        if (stop) return stop;
    }
    return 0;
}

static bool readable(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) return false;
    fgetc(file);                            /* a directory can be opened, but not read */
    const bool good = !ferror(file);
    const int why = errno;
    fclose(file);
    errno = why;
    return good;
}

int cfg_calls(const char *path, int batch, cfg_each *each, void *argument, char *error,
              size_t error_size)
{
    if (!readable(path)) {
        snprintf(error, error_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    apart_result r;
    reading job = {path, batch};
    int status = -1;
    if (apart_run(record, &job, &r)) status = give_calls(r.text, each, argument);
    else snprintf(error, error_size, "%s: Darknet %s: %s", path, r.why, last_line(r.text));
    free(r.text);
    return status;
}
