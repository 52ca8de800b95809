#include "support/operands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

rng rng_make(uint64_t seed, uint64_t stream)
{
    rng r = {(seed + 1) * 0x9E3779B97F4A7C15u ^ (stream + 1) * 0xD1B54A32D192ED03u};
    if (!r.state) r.state = 1;
    for (int i = 0; i < 8; ++i) rng_next(&r);
    return r;
}

uint32_t rng_next(rng *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return (uint32_t)((r->state * 0x2545F4914F6CDD1Du) >> 32);
}

int rng_below(rng *r, int n)
{
    return (int)(((uint64_t)rng_next(r) * (uint64_t)n) >> 32);
}

float rng_float(rng *r)
{
    return (float)((int32_t)rng_next(r) >> 8) / (float)(1 << 23);
}

/* A quiet NaN that arithmetic does not produce: padding that changed is seen. */
static const uint32_t PADDING = 0x7fc0dead;

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

guarded guarded_make(int rows, int columns, int ld, int side, int offset)
{
    guarded g = {.rows = rows, .columns = columns, .ld = ld};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = extent(&g) * sizeof(float);
    const size_t inner = (bytes + (size_t)offset + page - 1) / page * page;
    g.map_bytes = inner + 2 * page;
    g.map = mmap(NULL, g.map_bytes, guard_protection(), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || (inner && mprotect((char *)g.map + page, inner, PROT_READ | PROT_WRITE))) {
        perror("guarded_make");
        exit(2);
    }
    char *start = (char *)g.map + page;
    g.data = (float *)(side == AT_END ? start + inner - bytes - (size_t)offset : start + offset);
    return g;
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
            if (memcmp(&g->data[(size_t)i * (size_t)g->ld + (size_t)j], &PADDING, sizeof PADDING)) return false;
    return true;
}
