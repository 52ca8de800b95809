/* SPDX-License-Identifier: MIT */
/* The name of the processor, from /proc, and the width of its units, from AMD's cpuid. */
#include "util/cpu.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* x86-64 has "model name"; aarch64 only numbers, which the device tree's model explains. */
void gemm_read_cpu(char *name, size_t bytes)
{
    char line[512];
    snprintf(name, bytes, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && value) {
            snprintf(name, bytes, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file) fclose(file);
    file = strncmp(name, "unknown", 7) ? NULL : fopen("/proc/device-tree/model", "r");
    if (file) {
        if (fgets(line, sizeof(line), file)) snprintf(name, bytes, "%.*s", (int)bytes - 1, line);
        fclose(file);
    }
}

/* Leaf 0x8000001a, "performance optimization identifiers": only AMD has it. */
static int read_unit_floats(void)
{
#if defined(__x86_64__)
    enum { FP128 = 1 << 0, FP256 = 1 << 2, FP512 = 1 << 3 };
    unsigned a, b, c, d;
    if (__get_cpuid(0x8000001a, &a, &b, &c, &d))
        return a & FP512 ? 16 : a & FP256 ? 8 : a & FP128 ? 4 : INT_MAX;
#endif
    return INT_MAX;
}

int gemm_unit_floats(void)
{
    static atomic_int floats;           /* cpuid takes long in a virtual machine */
    if (!atomic_load(&floats)) atomic_store(&floats, read_unit_floats());
    return atomic_load(&floats);
}
