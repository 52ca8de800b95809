/* The machine from /proc and sysconf; the build from macros that the Makefile defines. */
#include "machine.h"

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

static void read_caches(machine *m)
{
    static const struct {
        const char *name;
        int key;
    } levels[] = {{"L1d", _SC_LEVEL1_DCACHE_SIZE}, {"L2", _SC_LEVEL2_CACHE_SIZE},
                  {"L3", _SC_LEVEL3_CACHE_SIZE}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); ++i) {
        const long bytes = sysconf(levels[i].key);
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
