/* SPDX-License-Identifier: MIT */
/*
 * The tuning table in memory: see table.h.
 *
 * It is a hash table with open addressing and a fixed number of slots. A slot is written once, so
 * that a reader needs no lock.
 */
#include "tune/table.h"

#include <stdio.h>
#include <stdlib.h>

_Static_assert(GEMM_TUNING_SHAPES <= GEMM_TUNING_SLOTS * 3 / 4,
               "a search must find an empty slot soon");

gemm_tuning *gemm_tuning_make(const gemm_chooser *chooser)
{
    gemm_tuning *t = calloc(1, sizeof *t);
    if (t) t->chooser = chooser;
    return t;
}

void gemm_tuning_free(gemm_tuning *t)
{
    if (!t) return;
    for (int i = 0; i < GEMM_TUNING_SLOTS; ++i) free(atomic_load(&t->slots[i]));
    free(t->device);
    free(t);
}

/* The slot of the shape, or the empty slot that it would get. */
static uint32_t slot_of(const gemm_tuning *t, const gemm_shape *s)
{
    uint32_t i = gemm_shape_hash(s) % GEMM_TUNING_SLOTS;
    for (;; i = (i + 1) % GEMM_TUNING_SLOTS) {
        const gemm_tuned *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!e || !gemm_shape_compare(&e->shape, s)) return i;
    }
}

gemm_tuned *gemm_tuning_find(const gemm_tuning *t, const gemm_shape *s)
{
    return atomic_load_explicit(&t->slots[slot_of(t, s)], memory_order_acquire);
}

static gemm_tuned *put(gemm_tuning *t, const gemm_shape *s, const gemm_choice *choice,
                       const char *times, bool own, bool left)
{
    const uint32_t i = slot_of(t, s);
    gemm_tuned *e = atomic_load(&t->slots[i]);
    if (!e) {
        if (gemm_tuning_is_full(t) || !(e = calloc(1, sizeof *e))) return NULL;
        e->shape = *s;
        ++t->count;
    }
    e->choice = *choice;
    e->own = own;
    e->left = left;
    e->settled = false;
    snprintf(e->times, sizeof e->times, "%s", times);
    atomic_store_explicit(&t->slots[i], e, memory_order_release);
    return e;
}

gemm_tuned *gemm_tuning_put(gemm_tuning *t, const gemm_shape *s, const gemm_choice *choice,
                            const char *times, bool own)
{
    return put(t, s, choice, times, own, false);
}

gemm_tuned *gemm_tuning_leave(gemm_tuning *t, const gemm_shape *s, const gemm_choice *choice)
{
    return put(t, s, choice, "", false, true);
}

bool gemm_tuning_is_full(const gemm_tuning *t)
{
    return t->count >= GEMM_TUNING_SHAPES;
}

int gemm_tuning_list(const gemm_tuning *t, gemm_tuned *list[GEMM_TUNING_SHAPES])
{
    int count = 0;
    for (int i = 0; i < GEMM_TUNING_SLOTS; ++i) {
        gemm_tuned *e = atomic_load(&t->slots[i]);
        if (e) list[count++] = e;
    }
    return count;
}
