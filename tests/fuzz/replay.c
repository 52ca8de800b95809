/* SPDX-License-Identifier: MIT */
/*
 * Gives files to a fuzz target without libFuzzer, in any build: FUZZ_TARGET=name FUZZ_FOLDER=folder
 * replay FILE... Ends with a signal, or a sanitizer, where a fault is back.
 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int LLVMFuzzerInitialize(int *, char ***);

static void replay(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "r");
    if (!f) {
        printf("%s cannot be read\n", path);
        exit(2);
    }
    const size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    /* A block of its own, so that a sanitizer sees where it ends. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) exit(2);
    for (size_t i = 0; i < size; ++i) copy[i] = data[i];
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    fuzz_frees = false;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; ++i) replay(argv[i]);
    return 0;
}
