/* SPDX-License-Identifier: MIT */
/* Shape lists: built in, from a cfg, from the command line. Packed matrices: ld is the width. */
#include "common/shapes.h"

#include "common/cfg.h"
#include "util/number.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const shape_size yolov3_tiny_sizes[YOLOV3_TINY_CALLS] = {
    {16, 173056, 27},   {32, 43264, 144},  {64, 10816, 288},  {128, 2704, 576},  {256, 676, 1152},
    {512, 169, 2304},   {1024, 169, 4608}, {256, 169, 1024},  {512, 169, 2304},  {255, 169, 512},
    {128, 169, 256},    {256, 676, 3456},  {255, 676, 256},
};

/* Depthwise 3x3 layers: a group is one filter over one channel. */
static const shape_size grouped[] = {
    {1, 102400, 9}, {1, 25600, 9}, {1, 6400, 9}, {1, 1600, 9}, {1, 400, 9}, {1, 100, 9},
};

static const shape_size squares[] = {
    {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
};

#define NAMED(name, list) {name, list, sizeof(list) / sizeof((list)[0])}
static const struct {
    const char *name;
    const shape_size *list;
    size_t count;
} named[] = {NAMED("yolov3-tiny", yolov3_tiny_sizes), NAMED("grouped", grouped),
             NAMED("squares", squares)};

const char *shapes_names(void)
{
    return "yolov3-tiny, grouped, squares";
}

__attribute__((format(printf, 3, 4)))
static int fail(char *error, size_t error_size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, error_size, format, args);
    va_end(args);
    return -1;
}

static bool same_shape(const shape *a, const shape *b)
{
    return a->TA == b->TA && a->TB == b->TB && a->M == b->M && a->N == b->N && a->K == b->K
           && a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc;
}

static int add(shape_list *list, shape s, char *error, size_t error_size)
{
    for (size_t i = 0; i < list->count; ++i) {
        if (same_shape(&list->items[i], &s)) {
            list->items[i].calls += s.calls;
            return 0;
        }
    }
    shape *items = realloc(list->items, (list->count + 1) * sizeof(shape));
    if (!items) return fail(error, error_size, "out of memory");
    list->items = items;
    list->items[list->count++] = s;
    return 0;
}

static shape packed_shape(int TA, int TB, int M, int N, int K)
{
    return (shape){.TA = TA, .TB = TB, .M = M, .N = N, .K = K, .lda = TA ? M : K,
                   .ldb = TB ? K : N, .ldc = N, .calls = 1};
}

int shapes_add_named(shape_list *list, const char *name, char *error, size_t error_size)
{
    for (size_t n = 0; n < sizeof(named) / sizeof(named[0]); ++n) {
        if (strcmp(name, named[n].name)) continue;
        for (size_t i = 0; i < named[n].count; ++i) {
            const shape_size *s = &named[n].list[i];
            if (add(list, packed_shape(0, 0, s->M, s->N, s->K), error, error_size)) return -1;
        }
        return 0;
    }
    return fail(error, error_size, "--shapes '%s' is unknown: allowed are %s", name,
                shapes_names());
}

typedef struct cfg_list {
    shape_list *list;
    char *error;
    size_t error_size;
    size_t calls;
} cfg_list;

static int add_call(void *argument, const gemm_call *c)
{
    cfg_list *l = argument;
    ++l->calls;
    return add(l->list, (shape){.TA = c->TA, .TB = c->TB, .M = c->M, .N = c->N, .K = c->K,
                                .lda = c->lda, .ldb = c->ldb, .ldc = c->ldc, .calls = 1},
               l->error, l->error_size);
}

int shapes_add_cfg(shape_list *list, const char *path, int batch, char *error, size_t error_size)
{
    cfg_list l = {list, error, error_size, 0};
    if (cfg_calls(path, batch, add_call, &l, error, error_size)) return -1;
    if (!l.calls) return fail(error, error_size, "%s: no layer of it multiplies matrices", path);
    return 0;
}

/* `count` whole numbers from 1 on with `separator` between two of them, and nothing else. */
static bool read_numbers(const char *text, const char *separator, int *numbers, int count)
{
    char copy[64];
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy) return false;
    char *rest = copy;
    for (int i = 0; i < count; ++i) {
        const char *number = strsep(&rest, separator);
        if (!number || !gemm_parse_int(number, 1, INT_MAX, &numbers[i])) return false;
    }
    return !rest;
}

int shapes_add_mnk(shape_list *list, const char *text, char *error, size_t error_size)
{
    int n[3];
    if (!read_numbers(text, ",", n, 3))
        return fail(error, error_size,
                    "-s '%s': M,N,K is needed, three whole numbers from 1 on, as in 512,169,2304",
                    text);
    return add(list, packed_shape(0, 0, n[0], n[1], n[2]), error, error_size);
}

static int add_square(shape_list *list, long n, char *error, size_t error_size)
{
    return add(list, packed_shape(0, 0, (int)n, (int)n, (int)n), error, error_size);
}

/* Powers of two, because caches alias there; their neighbours, because edges begin there; and the
   points half-way. */
static int add_powers(shape_list *list, int from, int to, char *error, size_t error_size)
{
    long p = 1;
    while (p < from) p *= 2;
    for (; p <= to; p *= 2) {
        if ((p > 1 && add_square(list, p - 1, error, error_size))
            || add_square(list, p, error, error_size)
            || add_square(list, p + 1, error, error_size)
            || (p > 2 && p * 3 / 2 <= to && add_square(list, p * 3 / 2, error, error_size)))
            return -1;
    }
    return 0;
}

int shapes_add_sizes(shape_list *list, const char *text, char *error, size_t error_size)
{
    int n[3];
    const bool stepped = read_numbers(text, ":", n, 3);
    if ((!stepped && !read_numbers(text, ":", n, 2)) || n[0] > n[1] || n[1] > 32768)
        return fail(error, error_size,
                    "--sizes '%s': FROM:TO or FROM:TO:STEP is needed, from 1 to 32768, as in "
                    "64:4096", text);
    const size_t before = list->count;
    if (!stepped) {
        if (add_powers(list, n[0], n[1], error, error_size)) return -1;
    } else {
        for (long s = n[0]; s <= n[1]; s += n[2])
            if (add_square(list, s, error, error_size)) return -1;
    }
    if (list->count == before)
        return fail(error, error_size, "--sizes '%s': no power of two lies there; give a STEP",
                    text);
    return 0;
}

int shapes_transpose(shape_list *list, const char *text, char *error, size_t error_size)
{
    shape_list out = {0};
    for (const char *t = text;; t += 3) {
        if (!strchr("NT", t[0]) || !t[0] || !strchr("NT", t[1]) || !t[1] || (t[2] && t[2] != ',')) {
            shapes_free(&out);
            return fail(error, error_size,
                        "--transposes '%s': a list of NN, NT, TN, TT is needed, as in NN,NT", text);
        }
        for (size_t i = 0; i < list->count; ++i) {
            shape s = packed_shape(t[0] == 'T', t[1] == 'T', list->items[i].M, list->items[i].N,
                                   list->items[i].K);
            s.calls = list->items[i].calls;
            if (add(&out, s, error, error_size)) {
                shapes_free(&out);
                return -1;
            }
        }
        if (!t[2]) break;
    }
    shapes_free(list);
    *list = out;
    return 0;
}

void shapes_free(shape_list *list)
{
    free(list->items);
    *list = (shape_list){0};
}

double shape_flops(const shape *s)
{
    return 2.0 * s->M * s->N * s->K;
}

double shape_bytes(const shape *s)
{
    return sizeof(float) * ((double)s->M * s->K + (double)s->K * s->N + 2.0 * s->M * s->N);
}
