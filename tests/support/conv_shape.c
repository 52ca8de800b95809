/* SPDX-License-Identifier: MIT */
/* Convolutions by their geometry: see conv_shape.h. */
#include "support/conv_shape.h"

#include "support/operands.h"

#include <stdlib.h>

int conv_places(int n, const conv_call *c)
{
    return (n + 2 * c->pad - c->size) / c->stride + 1;
}

size_t conv_outputs(const conv_call *c)
{
    return (size_t)(c->batch * c->n * c->out_h * c->out_w) / (c->pool ? 4 : 1);
}

/* The arrays of the calls that are not freed. */
typedef struct arrays {
    const float *input;         /* of this call */
    guarded each[5];
    struct arrays *next;
} arrays;

static arrays *all;

/* Before a guard page or behind one, at some offset: for a size always the same. */
static float *get(guarded *g, size_t n)
{
    const int offset = n % 3 ? 0 : 4 * (int)(n % 5);
    *g = guarded_make(1, (int)n, (int)n, n % 4 ? AT_END : AT_START, offset);
    return g->data;
}

conv_call conv_shape_make(const conv_shape *s, conv_activation activation)
{
    conv_call c = {.batch = s->batch,
                   .groups = s->groups,
                   .c = s->c,
                   .h = s->h,
                   .w = s->w,
                   .n = s->n,
                   .size = s->size,
                   .stride = s->stride,
                   .pad = s->pad,
                   .activation = activation};
    arrays *const a = malloc(sizeof *a);
    if (!a) abort();
    c.out_h = conv_places(c.h, &c);
    c.out_w = conv_places(c.w, &c);
    c.input = a->input = get(&a->each[0], (size_t)(c.batch * c.c * c.h * c.w));
    c.weights = get(&a->each[1], (size_t)(c.n * (c.c / c.groups) * c.size * c.size));
    c.scale = get(&a->each[2], (size_t)c.n);
    c.shift = get(&a->each[3], (size_t)c.n);
    c.output = get(&a->each[4], conv_outputs(&c));
    a->next = all;
    all = a;
    return c;
}

/* Where the arrays of the call are noted. */
static arrays **find(const conv_call *c)
{
    arrays **at = &all;
    while ((*at)->input != c->input) at = &(*at)->next;
    return at;
}

void conv_shape_pool(conv_call *c)
{
    guarded *const output = &(*find(c))->each[4];
    guarded_free(output);
    c->pool = true;
    c->output = get(output, conv_outputs(c));
}

void conv_shape_free(conv_call *c)
{
    arrays **const at = find(c), *const a = *at;
    *at = a->next;
    for (int i = 0; i < 5; ++i) guarded_free(&a->each[i]);
    free(a);
}

void conv_shape_fill(conv_call *c, rng *r)
{
    for (int i = 0; i < 4; ++i) guarded_fill(&(*find(c))->each[i], r);
}
