/* SPDX-License-Identifier: MIT */
/* Convolutions by their geometry: see conv_shape.h. */
#include "support/conv_shape.h"

#include <stdlib.h>

int conv_places(int n, const conv_call *c)
{
    return (n + 2 * c->pad - c->size) / c->stride + 1;
}

size_t conv_outputs(const conv_call *c)
{
    return (size_t)(c->batch * c->n * c->out_h * c->out_w) / (c->pool ? 4 : 1);
}

/* So many floats in front of the block may be read. qemu reads where a masked load has no bits set;
   tests set GUARD_PAGES there. */
static size_t margin(void)
{
    return getenv("GUARD_PAGES") ? 1024 : 0;
}

/* input, weights, scale, shift, output */
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
    c.out_h = conv_places(c.h, &c);
    c.out_w = conv_places(c.w, &c);
    const size_t inputs = (size_t)(c.batch * c.c * c.h * c.w);
    const size_t weights = (size_t)(c.n * (c.c / c.groups) * c.size * c.size);
    const size_t floats = inputs + weights + 2 * (size_t)c.n + conv_outputs(&c);
    float *block = calloc(margin() + floats, sizeof *block);
    if (!block) abort();
    c.input = block + margin();
    c.weights = c.input + inputs;
    c.scale = c.weights + weights;
    c.shift = c.scale + c.n;
    c.output = block + margin() + inputs + weights + 2 * (size_t)c.n;
    return c;
}

void conv_shape_free(conv_call *c)
{
    free((float *)c->input - margin());
}

void conv_shape_fill(conv_call *c, rng *r)
{
    for (float *x = (float *)c->input; x < c->output; ++x) *x = rng_float(r);
}
