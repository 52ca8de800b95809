/* The machine from /proc, /sys and sysconf; the build from macros that the Makefile defines. */
#include "common/machine.h"

#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* x86-64 has "model name"; aarch64 only numbers, which the device tree's model explains. */
static void read_cpu(char *cpu, size_t size)
{
    char line[512];
    snprintf(cpu, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && value) {
            snprintf(cpu, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file) fclose(file);
    file = strncmp(cpu, "unknown", 7) ? NULL : fopen("/proc/device-tree/model", "r");
    if (file) {
        if (fgets(line, sizeof(line), file)) snprintf(cpu, size, "%.*s", (int)size - 1, line);
        fclose(file);
    }
}

/*
 * Bytes of the data cache of a level, or 0. The kernel's figure is what this (perhaps virtual)
 * machine was given; sysconf may know the whole processor's instead.
 */
static long cache_bytes(int level, int sysconf_key)
{
    for (int i = 0; i < 8; ++i) {
        char path[96], type[16] = "";
        int its_level = 0;
        long kib = 0;
        const char *const names[] = {"level", "type", "size"};
        for (int n = 0; n < 3; ++n) {
            snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, names[n]);
            FILE *file = fopen(path, "r");
            if (!file) return sysconf(sysconf_key);
            const int got = n == 0   ? fscanf(file, "%d", &its_level)
                            : n == 1 ? fscanf(file, "%15s", type)
                                     : fscanf(file, "%ldK", &kib);
            fclose(file);
            if (got != 1) return sysconf(sysconf_key);
        }
        if (its_level == level && strcmp(type, "Instruction")) return 1024 * kib;
    }
    return sysconf(sysconf_key);
}

static void read_caches(machine *m)
{
    static const struct {
        const char *name;
        int level, key;
    } levels[] = {{"L1d", 1, _SC_LEVEL1_DCACHE_SIZE}, {"L2", 2, _SC_LEVEL2_CACHE_SIZE},
                  {"L3", 3, _SC_LEVEL3_CACHE_SIZE}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); ++i) {
        const long bytes = cache_bytes(levels[i].level, levels[i].key);
        if (bytes <= 0) continue;
        m->last_level_bytes = bytes;
        used += (size_t)snprintf(m->caches + used, sizeof(m->caches) - used, "%s%s %ld KiB",
                                 used ? ", " : "", levels[i].name, bytes / 1024);
    }
    if (!used) snprintf(m->caches, sizeof(m->caches), "unknown");
}

void machine_read(machine *m)
{
    *m = (machine){.compiler = COMPILER, .flags = BENCH_FLAGS, .commit = BENCH_COMMIT,
                   .libc = gnu_get_libc_version(), .cores = 1};
    read_cpu(m->cpu, sizeof(m->cpu));
    read_caches(m);
    struct utsname u;
    if (!uname(&u)) snprintf(m->os, sizeof(m->os), "%s %s %s", u.sysname, u.release, u.machine);
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof(set), &set)) m->cores = CPU_COUNT(&set);
    m->memory_gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE)
                    / (1024.0 * 1024 * 1024);
    if (getloadavg(&m->load, 1) != 1) m->load = -1;
}
