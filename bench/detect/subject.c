/* SPDX-License-Identifier: MIT */
/* A network and a picture: see subject.h. */
#include "detect/subject.h"

#include "gemm_dispatch.h"
#include "util/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double LONG_MS = 500;

static void check_readable(const char *program, const char *path, int length)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%.*s", length, path);
    FILE *file = fopen(copy, "r");
    if (file) {
        fclose(file);
        return;
    }
    fprintf(stderr, "%s: %s: %s\n", program, copy, strerror(errno));
    exit(2);
}

void subject_check(const char *program, const char *argument)
{
    const int length = (int)strcspn(argument, "=");
    check_readable(program, argument, length);
    if (argument[length]) check_readable(program, argument + length + 1, -1);
}

/* Batch norm passes its input on, because nothing else sets the variances. */
static void settle_batch_norm(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type != CONVOLUTIONAL || !l->batch_normalize) continue;
        for (int f = 0; f < l->n; ++f) l->rolling_variance[f] = 1;
    }
}

subject subject_make(const char *argument, image picture)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", argument);
    char *weights = strchr(copy, '=');
    if (weights) *weights++ = '\0';
    const char *base = strrchr(copy, '/');
    const double start = gemm_now_ms();
    subject s = {.net = load_trained_network(copy, weights)};
    s.load_ms = gemm_now_ms() - start;
    snprintf(s.name, sizeof s.name, "%.63s", base ? base + 1 : copy);
    if (!weights) settle_batch_norm(s.net);
    set_batch_network(s.net, 1);
    s.input = network_picture(s.net, picture);
    return s;
}

void subject_free(subject *s)
{
    free_image(s->input);
    gemm_host_free(s->net->workspace);
    free_network(s->net);
}

double subject_turn(const subject *s, int passes)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    double start = gemm_now_ms();
    network_predict(s->net, s->input.data);
    const double once = gemm_now_ms() - start;
    if (once > LONG_MS) return once;
    start = gemm_now_ms();
    for (int i = 0; i < passes; ++i) network_predict(s->net, s->input.data);
    return (gemm_now_ms() - start) / passes;
}
