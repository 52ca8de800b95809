/* SPDX-License-Identifier: MIT */
/* A network and a picture: see subject.h. */
#include "detect/subject.h"

#include "util/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

void subject_settle_batch_norm(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type != CONVOLUTIONAL || !l->batch_normalize) continue;
        for (int f = 0; f < l->n; ++f) l->rolling_variance[f] = 1;
    }
}

subject subject_make(char *argument, image picture)
{
    char *weights = strchr(argument, '=');
    if (weights) *weights++ = '\0';
    subject s = {.name = strrchr(argument, '/') ? strrchr(argument, '/') + 1 : argument};
    s.net = load_trained_network(argument, weights);
    if (!weights) subject_settle_batch_norm(s.net);
    set_batch_network(s.net, 1);
    s.input = letterbox_image(picture, s.net->w, s.net->h);
    return s;
}

void subject_free(subject *s)
{
    free_image(s->input);
}

double subject_turn(const subject *s, int passes)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    network_predict(s->net, s->input.data);
    const double start = gemm_now_ms();
    for (int i = 0; i < passes; ++i) network_predict(s->net, s->input.data);
    return (gemm_now_ms() - start) / passes;
}
