/* SPDX-License-Identifier: MIT */
/* The name of the processor, from /proc. */
#include "util/cpu.h"

#include <stdio.h>
#include <string.h>

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
