/* SPDX-License-Identifier: MIT */
/*
 * The tuning table: see tuning.h.
 *
 * It is a hash table with open addressing and a fixed number of slots. A slot is written once, so
 * that a reader needs no lock.
 */
#include "auto/tuning.h"

#include "cl/configure.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4096 };          /* a power of 2 */
_Static_assert(GEMM_TUNING_SHAPES <= SLOTS * 3 / 4, "a search must find an empty slot soon");

struct gemm_tuning {
    gemm_tuned *_Atomic slots[SLOTS];
    int count;                  /* of the writer */
};

gemm_tuning *gemm_tuning_make(void)
{
    return calloc(1, sizeof(gemm_tuning));
}

void gemm_tuning_free(gemm_tuning *t)
{
    for (int i = 0; t && i < SLOTS; ++i) free(atomic_load(&t->slots[i]));
    free(t);
}

/* The slot of the shape, or the empty slot that it would get. */
static uint32_t slot_of(const gemm_tuning *t, const gemm_shape *s)
{
    uint32_t i = gemm_shape_hash(s) % SLOTS;
    for (;; i = (i + 1) % SLOTS) {
        const gemm_tuned *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!e || !gemm_shape_compare(&e->shape, s)) return i;
    }
}

const gemm_tuned *gemm_tuning_find(const gemm_tuning *t, const gemm_shape *s)
{
    return atomic_load_explicit(&t->slots[slot_of(t, s)], memory_order_acquire);
}

static const gemm_tuned *put(gemm_tuning *t, const gemm_shape *s, const gemm_variant *row,
                             const char *times, bool own, bool left)
{
    const uint32_t i = slot_of(t, s);
    gemm_tuned *e = atomic_load(&t->slots[i]);
    if (!e) {
        if (gemm_tuning_is_full(t) || !(e = calloc(1, sizeof *e))) return NULL;
        e->shape = *s;
        ++t->count;
    }
    atomic_store(&e->row, row);
    e->own = own;
    if (e->left != left) e->left = left;        /* a reader needs no lock */
    snprintf(e->times, sizeof e->times, "%s", times);
    atomic_store_explicit(&t->slots[i], e, memory_order_release);
    return e;
}

const gemm_tuned *gemm_tuning_put(gemm_tuning *t, const gemm_shape *s, const gemm_variant *row,
                                  const char *times, bool own)
{
    return put(t, s, row, times, own, false);
}

const gemm_tuned *gemm_tuning_leave(gemm_tuning *t, const gemm_shape *s, const gemm_variant *row)
{
    return put(t, s, row, "", false, true);
}

bool gemm_tuning_is_full(const gemm_tuning *t)
{
    return t->count >= GEMM_TUNING_SHAPES;
}

int gemm_tuning_list(const gemm_tuning *t, const gemm_tuned *list[GEMM_TUNING_SHAPES])
{
    int count = 0;
    for (int i = 0; i < SLOTS; ++i) {
        const gemm_tuned *e = atomic_load(&t->slots[i]);
        if (e) list[count++] = e;
    }
    return count;
}

bool gemm_tuning_uses_device(const gemm_tuning *t)
{
    const gemm_tuned *list[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(t, list);
    for (int i = 0; i < count; ++i)
        if (gemm_is_on_device(atomic_load(&list[i]->row))) return true;
    return false;
}

bool gemm_tuning_may_take(const gemm_variant *v, int bits)
{
    if (v->in_auto == GEMM_IN_AUTO_16) return bits == 16;
    if (v->in_auto == GEMM_IN_AUTO_8) return bits == 8;
    return v->in_auto != GEMM_NOT_IN_AUTO;
}

const char *gemm_tuning_unfit(const gemm_variant *v, int bits)
{
    if (!gemm_tuning_may_take(v, bits)) return "auto never takes it";
    const char *why = gemm_device_lacks(v);
    if (why || v->in_auto != GEMM_IN_AUTO_WITH_GPU || gemm_cl_has_gpu()) return why;
    return "the OpenCL device is the CPU";
}
