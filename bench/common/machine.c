/* SPDX-License-Identifier: MIT */
/* The machine from /proc, /sys and sysconf; the build from macros that the Makefile defines. */
#include "common/machine.h"

#include "common/json.h"
#include "util/cores.h"
#include "util/cpu.h"
#include "util/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#define LIBC gnu_get_libc_version()
#else
#define LIBC "not glibc"
#endif

#ifndef BENCH_FLAGS
#define BENCH_FLAGS "unknown"
#endif
#ifndef BENCH_COMMIT
#define BENCH_COMMIT "unknown"
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Reads a value of cache `index` of the first core as `format` says; false when it is not there. */
static bool read_cache(int index, const char *what, const char *format, void *value)
{
    char path[96];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const int got = fscanf(file, format, value);
    fclose(file);
    return got == 1;
}

/* Bytes of the data cache of a level, or 0. /sys comes first: it has what this (perhaps virtual)
   machine was given. sysconf may have the figure of the whole processor. */
static long cache_bytes(int level)
{
    int its_level;
    long kib;
    char type[16];
    for (int i = 0; read_cache(i, "level", "%d", &its_level); ++i)
        if (its_level == level && read_cache(i, "type", "%15s", type)
            && strcmp(type, "Instruction") && read_cache(i, "size", "%ldK", &kib))
            return 1024 * kib;
#ifdef _SC_LEVEL1_DCACHE_SIZE
    static const int keys[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                               _SC_LEVEL3_CACHE_SIZE};
    return sysconf(keys[level - 1]);
#else
    return 0;
#endif
}

static void read_caches(machine *m)
{
    static const char *const levels[] = {"L1d", "L2", "L3"};
    for (int i = 0; i < 3; ++i) {
        const long bytes = cache_bytes(i + 1);
        if (bytes <= 0) continue;
        m->last_level_bytes = bytes;
        gemm_append(m->caches, sizeof(m->caches), "%s%s %ld KiB", *m->caches ? ", " : "",
                 levels[i], bytes / 1024);
    }
    if (!*m->caches) snprintf(m->caches, sizeof(m->caches), "unknown");
}

void machine_read(machine *m)
{
    *m = (machine){.compiler = COMPILER, .flags = BENCH_FLAGS, .commit = BENCH_COMMIT,
                   .libc = LIBC, .cores = gemm_allowed_cores()};
    gemm_read_cpu(m->cpu, sizeof(m->cpu));
    read_caches(m);
    struct utsname u;
    if (!uname(&u)) snprintf(m->os, sizeof(m->os), "%s %s %s", u.sysname, u.release, u.machine);
    m->memory_gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE)
                    / (1024.0 * 1024 * 1024);
    if (getloadavg(&m->load, 1) != 1) m->load = -1;
}

void machine_json(FILE *out, const machine *m)
{
    const char *const texts[][2] = {{"cpu", m->cpu}, {"caches", m->caches}, {"os", m->os}};
    fputs("\"machine\": {", out);
    for (int i = 0; i < 3; ++i) {
        json_field(out, texts[i][0], texts[i][1]);
        fputs(", ", out);
    }
    fprintf(out, "\"cores\": %d, \"memory_gib\": %.1f, \"load\": %.2f}", m->cores, m->memory_gib,
            m->load);
}
