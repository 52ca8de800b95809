/* SPDX-License-Identifier: MIT */
/*
 * What all targets share: fopen opens the input, exit comes back, and a run leaves no memory
 * behind.
 *
 * FUZZ_TARGET names the target, and FUZZ_FOLDER an empty folder. `mk/fuzz.mk` links this with
 * libFuzzer, `make test` with replay.c. The linker gives the readers the functions __wrap_... of
 * this file.
 */
#include "fuzz/fuzz.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No reader gets more at once, or in all: then it has to say that there is no memory. */
enum { MOST_BYTES = 16 << 20, MOST_BLOCKS = 1 << 16, MOST_FILES = 64 };

static struct {
    const uint8_t *data;
    size_t size;
    jmp_buf back;
    bool runs;
    void *blocks[MOST_BLOCKS];
    int block_count;
    FILE *files[MOST_FILES];
    int file_count;
} now;

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
FILE *__real_fopen(const char *, const char *);
int __real_fclose(FILE *);
_Noreturn void __real_exit(int);

void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void __wrap_free(void *);
FILE *__wrap_fopen(const char *, const char *);
int __wrap_fclose(FILE *);
void __wrap_exit(int);
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* ---- memory: what a reader leaves behind is freed ---- */

bool fuzz_frees = true;

static bool has_room(size_t bytes)
{
    return !now.runs || (bytes <= MOST_BYTES && now.block_count < MOST_BLOCKS);
}

static void *remember(void *p)
{
    if (p && now.runs && fuzz_frees) now.blocks[now.block_count++] = p;
    return p;
}

static void forget(const void *p)
{
    for (int i = now.block_count; p && i--;) {
        if (now.blocks[i] != p) continue;
        now.blocks[i] = now.blocks[--now.block_count];
        return;
    }
}

void *__wrap_malloc(size_t bytes)
{
    return has_room(bytes) ? remember(__real_malloc(bytes)) : NULL;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    if (bytes && n > SIZE_MAX / bytes) return NULL;
    return has_room(n * bytes) ? remember(__real_calloc(n, bytes)) : NULL;
}

void *__wrap_realloc(void *p, size_t bytes)
{
    if (!has_room(bytes)) return NULL;
    void *q = __real_realloc(p, bytes);
    if (q || !bytes) forget(p);
    return remember(q);
}

void __wrap_free(void *p)
{
    forget(p);
    __real_free(p);
}

/* ---- files ---- */

FILE *__wrap_fopen(const char *name, const char *mode)
{
    /* Only libFuzzer writes meanwhile, when it has a finding. */
    if (!now.runs || *mode != 'r' || !strncmp(name, fuzz_folder(), strlen(fuzz_folder())))
        return __real_fopen(name, mode);
    if (now.file_count == MOST_FILES) return NULL;
    FILE *f = now.size ? fmemopen((void *)(uintptr_t)now.data, now.size, "r")
                       : __real_fopen("/dev/null", "r");
    if (f) now.files[now.file_count++] = f;
    return f;
}

int __wrap_fclose(FILE *f)
{
    for (int i = 0; i < now.file_count; ++i)
        if (now.files[i] == f) now.files[i] = now.files[--now.file_count];
    return __real_fclose(f);
}

const char *fuzz_folder(void)
{
    const char *folder = getenv("FUZZ_FOLDER");
    return folder && *folder ? folder : "/nowhere";
}

void fuzz_write(const char *name, const void *head, size_t head_size, const void *data, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *f = __real_fopen(path, "w");
    if (!f) abort();
    fwrite(head, 1, head_size, f);
    fwrite(data, 1, size, f);
    __real_fclose(f);
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* ---- one input ---- */

void (*fuzz_exit)(int);

/* Comes back to LLVMFuzzerTestOneInput while a reader runs. Another status than 1 is a finding. */
void __wrap_exit(int status)
{
    if (!now.runs) __real_exit(status);
    if (status != 1) abort();
    if (fuzz_exit) fuzz_exit(status);
    longjmp(now.back, 1);
}

static const fuzz_target *find(const char *name)
{
    const fuzz_target *const lists[] = {fuzz_darknet_targets, fuzz_own_targets,
                                        fuzz_python_targets};
    for (size_t i = 0; name && i < 3; ++i)
        for (const fuzz_target *t = lists[i]; t->name; ++t)
            if (!strcmp(t->name, name)) return t;
    fprintf(stderr, "FUZZ_TARGET='%s' is none of:", name ? name : "");
    for (size_t i = 0; i < 3; ++i)
        for (const fuzz_target *t = lists[i]; t->name; ++t) fprintf(stderr, " %s", t->name);
    fprintf(stderr, "\n");
    __real_exit(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const fuzz_target *t = find(getenv("FUZZ_TARGET"));
    now.data = data;
    now.size = size;
    now.block_count = now.file_count = 0;
    now.runs = true;
    fuzz_exit = NULL;
    if (!setjmp(now.back)) t->run(data, size);
    now.runs = false;
    while (now.file_count) __real_fclose(now.files[--now.file_count]);
    while (now.block_count) __real_free(now.blocks[--now.block_count]);
    return 0;
}

/* ---- the first corpus ---- */

static const char *corpus; /* its folder */
static int seed_count;

void fuzz_seed(const void *data, size_t size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/seed-%02d", corpus, seed_count++);
    FILE *f = __real_fopen(path, "w");
    if (!f || fwrite(data, 1, size, f) != size || __real_fclose(f)) abort();
}

void fuzz_seed_text(const char *text)
{
    fuzz_seed(text, strlen(text));
}

/* FUZZ_SEEDS=folder: writes the corpus of the target there, and ends. */
int LLVMFuzzerInitialize(int *, char ***);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    corpus = getenv("FUZZ_SEEDS");
    if (!corpus) return 0;
    find(getenv("FUZZ_TARGET"))->seeds();
    __real_exit(0);
}
