/* SPDX-License-Identifier: MIT */
/* What a table of figures must say about where it was made. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdio.h>

typedef struct machine {
    char cpu[128];
    char os[200];
    char caches[96];            /* "L1d 48 KiB, L2 1 MiB, L3 32 MiB" */
    int cores;                  /* that this process may use */
    long last_level_bytes;      /* of the largest cache; 0: unknown */
    double memory_gib;
    double load;                /* runnable processes over the last minute, this one included */
    const char *compiler, *flags, *commit, *libc;
} machine;

void machine_read(machine *);

/* "machine": {...}, without what was built. */
void machine_json(FILE *, const machine *);

#endif
