/* SPDX-License-Identifier: MIT */
/* The shape of an op: see shape.h. */
#include "op/shape.h"

#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The names of a kind's numbers, in the order of gemm_shape.n. NULL behind the last. */
typedef const char *number_names[GEMM_SHAPE_NUMBERS + 1];

static const number_names of_multiply = {"TA", "TB", "M", "N", "K", "threads"};
static const number_names of_conv = {"batch", "groups", "c", "h", "w", "filters", "size", "stride",
                                     "pad", "activation", "pool", "direct", "threads", "bits"};
static const number_names of_layer = {"batch", "inputs", "c", "h", "w", "out_c", "out_h", "out_w",
                                      "size", "stride", "pad", "activation", "threads"};

enum { LAST = GEMM_SHAPE_NUMBERS - 1 };
enum { KINDS = GEMM_SHAPE_LAYER + LAYER_KINDS };

static const char *name_of(int kind)
{
    if (kind == GEMM_SHAPE_MULTIPLY) return "multiply";
    if (kind == GEMM_SHAPE_CONV) return "convolution";
    return gemm_layer_name((layer_kind)(kind - GEMM_SHAPE_LAYER));
}

static const char *const *numbers_of(int kind)
{
    if (kind == GEMM_SHAPE_MULTIPLY) return of_multiply;
    return kind == GEMM_SHAPE_CONV ? of_conv : of_layer;
}

static gemm_shape shape_of_multiply(const gemm_call *c, const gemm_context *x)
{
    return (gemm_shape){GEMM_SHAPE_MULTIPLY,
                        {c->TA != 0, c->TB != 0, c->M, c->N, c->K, x->threads}};
}

static gemm_shape shape_of_conv(const conv_call *c, const gemm_context *x)
{
    return (gemm_shape){GEMM_SHAPE_CONV,
                        {c->batch, c->groups, c->c, c->h, c->w, c->n, c->size, c->stride, c->pad,
                         (int)c->activation, c->pool, x->direct, x->threads, x->scale ? 8 : 0}};
}

static gemm_shape shape_of_layer(const layer_call *c, const gemm_context *x)
{
    return (gemm_shape){GEMM_SHAPE_LAYER + (int)c->kind,
                        {c->batch, c->inputs, c->c, c->h, c->w, c->out_c, c->out_h, c->out_w,
                         c->size, c->stride, c->pad, (int)c->activation, x->threads}};
}

gemm_shape gemm_op_shape(const gemm_op *op, const gemm_context *x)
{
    switch (op->kind) {
    case GEMM_MULTIPLY: return shape_of_multiply(op->multiply, x);
    case GEMM_CONVOLUTION: return shape_of_conv(op->conv, x);
    case GEMM_LAYER: return shape_of_layer(op->layer, x);
    case GEMM_CHAIN: break;
    }
    return (gemm_shape){.kind = -1};
}

bool gemm_shape_offered(int kind, const gemm_variant *v)
{
    const gemm_op any = {.kind = kind == GEMM_SHAPE_MULTIPLY ? GEMM_MULTIPLY
                               : kind == GEMM_SHAPE_CONV     ? GEMM_CONVOLUTION : GEMM_LAYER};
    return gemm_op_offered(&any, v);
}

/* FNV-1a over whole numbers instead of bytes. The last step mixes high bits into low ones. */
uint32_t gemm_shape_hash(const gemm_shape *s)
{
    uint32_t h = (UINT32_C(2166136261) ^ (uint32_t)s->kind) * UINT32_C(16777619);
    for (int i = 0; i < GEMM_SHAPE_NUMBERS; ++i)
        h = (h ^ (uint32_t)s->n[i]) * UINT32_C(16777619);
    return h ^ h >> 16;
}

int gemm_shape_compare(const gemm_shape *a, const gemm_shape *b)
{
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    for (int i = 0; i < GEMM_SHAPE_NUMBERS; ++i)
        if (a->n[i] != b->n[i]) return a->n[i] < b->n[i] ? -1 : 1;
    return 0;
}

void gemm_shape_print(const gemm_shape *s, char text[GEMM_SHAPE_TEXT])
{
    const char *const *names = numbers_of(s->kind);
    text[0] = '\0';
    gemm_append(text, GEMM_SHAPE_TEXT, "%s", name_of(s->kind));
    for (int i = 0; names[i]; ++i)
        if (i < LAST || s->n[i]) gemm_append(text, GEMM_SHAPE_TEXT, " %s %d", names[i], s->n[i]);
}

/* The text behind `word`, or NULL when the text does not begin with it. */
static const char *skip(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) ? NULL : text + length;
}

/* Reads " NAME NUMBER". */
static const char *parse_number(const char *text, const char *name, int *n)
{
    const char *at = skip(text, " ");
    at = at ? skip(at, name) : NULL;
    at = at ? skip(at, " ") : NULL;
    if (!at || (*at != '-' && (*at < '0' || *at > '9'))) return NULL;
    char *end;
    errno = 0;
    const long value = strtol(at, &end, 10);
    if (errno || value < INT_MIN || value > INT_MAX) return NULL;
    *n = (int)value;
    return end;
}

const char *gemm_shape_parse(const char *text, gemm_shape *s)
{
    *s = (gemm_shape){0};
    const char *at = NULL;
    while (s->kind < KINDS && !(at = skip(text, name_of(s->kind)))) ++s->kind;
    if (!at) return NULL;
    const char *const *names = numbers_of(s->kind);
    for (int i = 0; at && names[i]; ++i) {
        const char *next = parse_number(at, names[i], &s->n[i]);
        at = next || i < LAST ? next : at;
    }
    return at;
}
