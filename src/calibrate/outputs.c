/* SPDX-License-Identifier: MIT */
/* The outputs of a network, kept or compared: see outputs.h. */
#include "calibrate/outputs.h"

#include "util/forked.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    FILE *file;
    bool compare, any, lost;
    double error;
} all;

static void after_fork(void)
{
    all.file = NULL;
}
GEMM_IN_CHILD(after_fork)

const char *gemm_outputs_open(const char *path, bool compare)
{
    all.file = fopen(path, compare ? "re" : "wxe");
    if (!all.file) return strerror(errno);
    setvbuf(all.file, NULL, _IONBF, 0);
    all.compare = compare;
    all.any = all.lost = false;
    all.error = 0;
    return NULL;
}

bool gemm_outputs_are_kept(void)
{
    return all.file && !all.compare;
}

bool gemm_outputs_are_compared(void)
{
    return all.file && all.compare;
}

static void compare(const float *x, const float *kept, size_t n)
{
    double most = 0, error = 0;
    for (size_t i = 0; i < n; ++i) {
        const double size = fabs((double)kept[i]), off = fabs((double)x[i] - kept[i]);
        most = size > most ? size : most;
        if (!(off <= error)) error = off;       /* NaN stays */
    }
    if (!(error <= 0)) error = most > 0 ? error / most : GEMM_OUTPUTS_MOST;
    if (!(error < GEMM_OUTPUTS_MOST)) error = GEMM_OUTPUTS_MOST;
    all.error = error > all.error ? error : all.error;
}

void gemm_outputs_add(const float *x, size_t n)
{
    if (!all.file) return;
    all.any = true;
    if (!all.compare) {
        if (fwrite(x, sizeof *x, n, all.file) != n) all.lost = true;
        return;
    }
    float *kept = malloc(n * sizeof *kept);
    if (!kept || fread(kept, sizeof *kept, n, all.file) != n) all.lost = true;
    else compare(x, kept, n);
    free(kept);
}

bool gemm_outputs_close(double *error)
{
    *error = 0;
    if (!all.file) return false;
    const bool more = all.compare && fgetc(all.file) != EOF;
    if (fclose(all.file) || more) all.lost = true;
    all.file = NULL;
    *error = all.lost ? -1 : all.error;
    return all.any;
}
