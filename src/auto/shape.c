/* The shape of a call: see shape.h. */
#include "auto/shape.h"

#include "util/hash.h"
#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A kind and the names of its numbers, in the order of gemm_shape.n. */
typedef struct kind_names {
    const char *name;
    const char *numbers[GEMM_SHAPE_NUMBERS + 1];        /* NULL behind the last */
} kind_names;

#define LAYER_NUMBERS \
    {"batch", "inputs", "c", "h", "w", "out_c", "out_h", "out_w", "size", "stride", "pad", \
     "activation", "threads"}

static const kind_names kinds[] = {
    [GEMM_SHAPE_MULTIPLY] = {"multiply", {"TA", "TB", "M", "N", "K", "threads"}},
    [GEMM_SHAPE_CONV] = {"convolution", {"batch", "groups", "c", "h", "w", "filters", "size",
                                         "stride", "pad", "activation", "pool", "direct",
                                         "threads"}},
    [GEMM_SHAPE_LAYER + LAYER_MAXPOOL] = {"maxpool", LAYER_NUMBERS},
    [GEMM_SHAPE_LAYER + LAYER_AVGPOOL] = {"avgpool", LAYER_NUMBERS},
    [GEMM_SHAPE_LAYER + LAYER_UPSAMPLE] = {"upsample", LAYER_NUMBERS},
    [GEMM_SHAPE_LAYER + LAYER_ROUTE] = {"route", LAYER_NUMBERS},
    [GEMM_SHAPE_LAYER + LAYER_SHORTCUT] = {"shortcut", LAYER_NUMBERS},
    [GEMM_SHAPE_LAYER + LAYER_YOLO] = {"yolo", LAYER_NUMBERS},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };
_Static_assert(KINDS == GEMM_SHAPE_LAYER + LAYER_KINDS, "a kind of layer has no name here");

const char *gemm_layer_name(layer_kind kind)
{
    return kinds[GEMM_SHAPE_LAYER + kind].name;
}

gemm_shape gemm_shape_of_call(const gemm_call *c, const gemm_context *x)
{
    return (gemm_shape){GEMM_SHAPE_MULTIPLY,
                        {c->TA != 0, c->TB != 0, c->M, c->N, c->K, x->threads}};
}

gemm_shape gemm_shape_of_conv(const conv_call *c, const gemm_context *x)
{
    return (gemm_shape){GEMM_SHAPE_CONV,
                        {c->batch, c->groups, c->c, c->h, c->w, c->n, c->size, c->stride, c->pad,
                         (int)c->activation, c->pool, x->direct, x->threads}};
}

gemm_shape gemm_shape_of_layer(const layer_call *c, const gemm_context *x)
{
    return (gemm_shape){GEMM_SHAPE_LAYER + (int)c->kind,
                        {c->batch, c->inputs, c->c, c->h, c->w, c->out_c, c->out_h, c->out_w,
                         c->size, c->stride, c->pad, (int)c->activation, x->threads}};
}

bool gemm_shape_offered(int kind, const gemm_variant *v)
{
    if (kind == GEMM_SHAPE_MULTIPLY) return v->run != NULL;
    return kind == GEMM_SHAPE_CONV ? v->conv != NULL : v->layer != NULL;
}

uint32_t gemm_shape_hash(const gemm_shape *s)
{
    return gemm_hash(s->kind, s->n, GEMM_SHAPE_NUMBERS);
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
    const kind_names *k = &kinds[s->kind];
    text[0] = '\0';
    gemm_append(text, GEMM_SHAPE_TEXT, "%s", k->name);
    for (int i = 0; k->numbers[i]; ++i)
        gemm_append(text, GEMM_SHAPE_TEXT, " %s %d", k->numbers[i], s->n[i]);
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
    while (s->kind < KINDS && !(at = skip(text, kinds[s->kind].name))) ++s->kind;
    if (!at) return NULL;
    const char *const *names = kinds[s->kind].numbers;
    for (int i = 0; at && names[i]; ++i) at = parse_number(at, names[i], &s->n[i]);
    return at;
}
