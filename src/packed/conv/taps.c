/* SPDX-License-Identifier: MIT */
/*
 * Offsets and masks of a filter's taps. Making them takes as long as a small layer, so those of the
 * last convolutions are kept in a table, one block of memory each.
 *
 * A call takes a block out of the table and puts it back at the end. Both are one atomic exchange,
 * so no lock is needed, and nothing belongs to a thread: a thread may outlive this library.
 */
#include "packed/conv/product.h"

#include <stdatomic.h>
#include <stdlib.h>

struct packed_shifts {
    gemm_taps taps;
    int h, w, size, pad;
    const gemm_ukernel *u;
    ptrdiff_t offset[]; /* taps.count of them, then the masks */
};

bool packed_has_shifts(const conv_call *c)
{
    return c->stride == 1 && c->out_w == c->w && c->out_h == c->h;
}

const gemm_taps *packed_taps_of(const packed_shifts *s)
{
    return &s->taps;
}

/* ---- making them ---- */

/* Clears bits from .. to-1 of a tap. */
static void clear_valid(uint16_t *valid, int count, int vl, size_t from, size_t to)
{
    while (from < to) {
        const unsigned first = (unsigned)(from % vl);
        const unsigned end = to - from < vl - first ? first + (unsigned)(to - from) : (unsigned)vl;
        valid[from / vl * count] &= (uint16_t) ~((1u << end) - (1u << first));
        from += end - first;
    }
}

/* Sets all bits, then clears those of the few places at the edges. */
static void find_valid(const conv_call *c, int vl, size_t vectors, uint16_t *valid)
{
    const int count = c->size * c->size;
    const size_t width = c->out_w;
    for (size_t i = 0; i < vectors * count; ++i) valid[i] = (uint16_t)((1u << vl) - 1);
    for (int q = 0; q < count; ++q) {
        const packed_range y = packed_inside(1, q / c->size - c->pad, c->h, c->out_h);
        const packed_range x = packed_inside(1, q % c->size - c->pad, c->w, c->out_w);
        clear_valid(valid + q, count, vl, 0, y.from * width);
        clear_valid(valid + q, count, vl, y.to * width, vectors * vl);
        for (size_t row = y.from * width; row < y.to * width; row += width) {
            clear_valid(valid + q, count, vl, row, row + x.from);
            clear_valid(valid + q, count, vl, row + x.to, row + width);
        }
    }
}

/* NULL when there is no memory. */
static packed_shifts *make_shifts(const conv_call *c, const gemm_ukernel *u)
{
    const int count = c->size * c->size;
    const size_t vectors = (size_t)ceil_div(gemm_conv_places(c), u->vl) + u->nr / u->vl;
    packed_shifts *s =
        malloc(sizeof *s + count * sizeof *s->offset + vectors * count * sizeof *s->taps.valid);
    if (!s) return NULL;
    uint16_t *valid = (uint16_t *)(s->offset + count);
    for (int q = 0; q < count; ++q) {
        s->offset[q] = (ptrdiff_t)(q / c->size - c->pad) * c->w + q % c->size - c->pad;
    }
    find_valid(c, u->vl, vectors, valid);
    s->taps = (gemm_taps){count, s->offset, valid};
    s->h = c->h, s->w = c->w, s->size = c->size, s->pad = c->pad;
    s->u = u;
    return s;
}

/* ---- keeping them ---- */

enum { KEPT_BITS = 4, KEPT = 1 << KEPT_BITS };

static _Atomic(packed_shifts *) kept[KEPT];

/* At exit, and when the library is unloaded. */
__attribute__((destructor)) static void free_kept(void)
{
    for (int i = 0; i < KEPT; ++i) free(atomic_exchange(&kept[i], NULL));
}

/* The place in the table. 2654435761 is 2^32 divided by the golden ratio: it spreads small
   numbers. */
static _Atomic(packed_shifts *) *place_of(int h, int w, int size)
{
    const uint32_t image = (uint32_t)h * 4099 + (uint32_t)w;
    const uint32_t key = image * 67 + (uint32_t)size;
    return &kept[key * 2654435761u >> (32 - KEPT_BITS)];
}

packed_shifts *packed_take_shifts(const conv_call *c, const gemm_ukernel *u)
{
    packed_shifts *s = atomic_exchange(place_of(c->h, c->w, c->size), NULL);
    if (s && s->u == u && s->h == c->h && s->w == c->w && s->size == c->size &&
        s->pad == c->pad)
        return s;
    free(s);
    return make_shifts(c, u);
}

/* Another thread may have put its own there meanwhile: the later one stays. */
void packed_give_shifts(packed_shifts *s)
{
    if (s) free(atomic_exchange(place_of(s->h, s->w, s->size), s));
}
