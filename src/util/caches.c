/* SPDX-License-Identifier: MIT */
/*
 * Sizes come from sysconf, and where that tells none, from Linux' /sys. glibc tells them on x86
 * alone.
 *
 * Where prefetchnta brings a line is not in cpuid:
 *
 *   AMD Zen     to L1 and L2, and from L2 not to L3. This is what measurements on Zen 5 show
 *               (docs/log/packed.md).
 *   Intel       to L1, not to L2. A strip of B is larger than L1 and is used too late, so it would
 *               be fetched twice. Measurements on a Xeon agree (docs/log/packed.md).
 *
 * So the question is whether cpuid has leaf 0x8000001d, which describes caches as AMD does, and
 * whether L3 is "not inclusive" there. Leaf 4 has the same bit for Intel, but says nothing about
 * where such a line goes.
 */
#include "util/caches.h"

#include "util/forked.h"

#include <stdio.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static gemm_caches caches = {.l1 = 32 * 1024, .l2 = 512 * 1024};

/* Reads the first word of a file of /sys, up to 15 characters. False: there is none. */
static bool read_word(int index, const char *file, char word[16])
{
    char path[80];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    const bool read = fscanf(f, "%15s", word) == 1;
    fclose(f);
    return read;
}

/* The size of the data cache of that level, or 0. */
static size_t size_in_sys(int level)
{
    char type[16], word[16];
    for (int index = 0; read_word(index, "level", word); ++index) {
        int found;
        unsigned kib;
        if (sscanf(word, "%d", &found) != 1 || found != level) continue;
        if (!read_word(index, "type", type) || type[0] == 'I') continue;     /* Instruction */
        if (!read_word(index, "size", word) || sscanf(word, "%uK", &kib) != 1) continue;
        return (size_t)kib * 1024;
    }
    return 0;
}

/* Level 1 or 2. Returns 0 if the system does not tell. */
static size_t size_of(int level)
{
    long bytes = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : size_in_sys(level);
}

static bool can_pass_l3(void)
{
#if defined(__x86_64__)
    enum { LEVEL_3 = 3, INCLUSIVE = 2 };
    unsigned a, b, c, d;
    for (unsigned cache = 0; __get_cpuid_count(0x8000001d, cache, &a, &b, &c, &d); ++cache) {
        if ((a & 31) == 0) return false;        /* there are no more caches */
        if ((a >> 5 & 7) == LEVEL_3) return !(d & INCLUSIVE);
    }
#endif
    return false;
}

static void find(void)
{
    const size_t l1 = size_of(1), l2 = size_of(2);
    if (l1) caches.l1 = l1;
    if (l2) caches.l2 = l2;
    caches.passes_l3 = can_pass_l3();
}
GEMM_ONCE(find)

const gemm_caches *gemm_find_caches(void)
{
    once_find();
    return &caches;
}
