/* SPDX-License-Identifier: MIT */
/*
 * The fuzz targets. Each takes bytes that a stranger may have written, and gives them to one
 * reader.
 *
 * A reader may refuse its input with exit(1). Any other end is a finding: a signal, a sanitizer, a
 * loop.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_target {
    const char *name;
    void (*run)(const uint8_t *data, size_t size);
    void (*seeds)(void); /* calls fuzz_seed for each input of the first corpus */
} fuzz_target;

/* The last one of each has no name. */
extern const fuzz_target fuzz_darknet_targets[], fuzz_own_targets[], fuzz_python_targets[];

/* Whether what a run leaves behind is freed: not where the driver and the device are there too,
 * which keep it. */
extern bool fuzz_frees;

/* Where exit(1) goes while a target has its own end for it, else NULL. */
extern void (*fuzz_exit)(int);

/* Writes one input of the corpus. */
void fuzz_seed(const void *data, size_t size);
void fuzz_seed_text(const char *text);

/* The name that opens the input as a file, whatever else it is; other names do so too. */
#define FUZZ_FILE "input"

/* A folder of this process alone: FUZZ_FOLDER. */
const char *fuzz_folder(void);

/* Writes a file of that folder, with these two parts. */
void fuzz_write(const char *name, const void *head, size_t head_size, const void *data,
                size_t size);

/* The input as a text of its own, with a zero behind it. The caller frees it. */
char *fuzz_text(const uint8_t *data, size_t size);

#endif
