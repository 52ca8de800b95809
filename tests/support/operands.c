/* SPDX-License-Identifier: MIT */
/* Matrices beside guard pages: see operands.h. */
#include "support/operands.h"

#include "util/ints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A quiet NaN that no arithmetic produces, so that a test sees when padding has changed. */
static const uint32_t PADDING = 0x7fc0dead;

/* Before and behind an unguarded matrix. */
static const size_t SPARE = 1 << 20;

/* The floats from the first to the last element. */
static size_t extent(const guarded *g)
{
    if (!g->rows || !g->columns) return 0;
    return (size_t)(g->rows - 1) * (size_t)g->ld + (size_t)g->columns;
}

/* qemu-x86_64 7.2 loads all of a vector for a masked load, also what the mask leaves out. */
static int guard_protection(void)
{
    const char *pages = getenv("GUARD_PAGES");
    return pages && !strcmp(pages, "readable") ? PROT_READ : PROT_NONE;
}

/* Pages for a matrix. Before and behind them are `around` bytes with this protection. */
static guarded map_pages(guarded g, size_t inner, size_t around, int protection)
{
    g.map_bytes = inner + 2 * around;
    g.map = mmap(NULL, g.map_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED ||
        (inner && mprotect((char *)g.map + around, inner, PROT_READ | PROT_WRITE))) {
        perror("guarded_make");
        exit(2);
    }
    g.data = (float *)((char *)g.map + around);
    return g;
}

guarded guarded_make(int rows, int columns, int ld, guarded_place place, int offset)
{
    const guarded g = {.rows = rows, .columns = columns, .ld = ld};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = extent(&g) * sizeof(float);
    const size_t inner = round_up(bytes + (size_t)offset, page);
    if (place == UNGUARDED) return map_pages(g, inner, SPARE, PROT_READ | PROT_WRITE);
    guarded made = map_pages(g, inner, page, guard_protection());
    const size_t before = place == AT_END ? inner - bytes - (size_t)offset : (size_t)offset;
    made.data += before / sizeof(float);
    return made;
}

void guarded_free(guarded *g)
{
    munmap(g->map, g->map_bytes);
}

void guarded_fill_nan(guarded *g)
{
    for (size_t i = 0; i < extent(g); ++i) memcpy(&g->data[i], &PADDING, sizeof PADDING);
}

void guarded_fill(guarded *g, rng *r)
{
    guarded_fill_nan(g);
    for (int i = 0; i < g->rows; ++i)
        for (int j = 0; j < g->columns; ++j)
            g->data[(size_t)i * (size_t)g->ld + (size_t)j] = rng_float(r);
}

bool guarded_padding_intact(const guarded *g)
{
    for (int i = 0; i + 1 < g->rows; ++i)
        for (int j = g->columns; j < g->ld; ++j)
            if (memcmp(&g->data[(size_t)i * (size_t)g->ld + (size_t)j], &PADDING, sizeof PADDING))
                return false;
    return true;
}
