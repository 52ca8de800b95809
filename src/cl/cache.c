/*
 * Compiled OpenCL programs on disk, because compiling takes seconds on a phone.
 *
 * $GEMM_CACHE_DIR/<kernel>-<hash of source, options and device>.clbin:
 *   lines of text: format, device, driver, options, hash of the source, size and checksum
 *   the binary that the driver gave
 *
 * A file is used only when every line is as expected. Any other file is named on stderr, ignored
 * and written again. A file is written under another name and then renamed, so that no reader sees
 * half a file.
 */
#include "cl/cache.h"

#include "cl/device.h"
#include "util/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 4096 };

/* FNV-1a, 64 bits. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; ++i)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

/* The name of the key's file. */
static void name_file(const gemm_cl_key *key, char name[GEMM_NAME_BYTES])
{
    uint64_t hash = hash_text(hash_start, key->source);
    hash = hash_text(hash, key->options);
    hash = hash_text(hash, key->device);
    snprintf(name, GEMM_NAME_BYTES, "%.96s-%016" PRIx64 ".clbin", key->name, hash);
}

/* The lines that say what a file is for. Those of size and checksum follow. Returns their length,
   which is `bytes` or more when they do not fit. */
static int describe(const gemm_cl_key *key, char *text, size_t bytes)
{
    return snprintf(text, bytes,
                    "darknet-gemm OpenCL program 1\ndevice %s\ndriver %s\noptions %s\n"
                    "source %016" PRIx64 "\n",
                    key->device, key->driver, key->options, hash_text(hash_start, key->source));
}

/* These lines, whose length is *bytes. The caller frees them. NULL: no memory. */
static char *make_head(const gemm_cl_key *key, size_t *bytes)
{
    const int n = describe(key, NULL, 0);
    char *head = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!head) return NULL;
    describe(key, head, (size_t)n + 1);
    *bytes = (size_t)n;
    return head;
}

/* Whether the file's driver is the key's. */
static bool is_of_driver(const gemm_cl_key *key, const char *data)
{
    static const char title[] = "\ndriver ";
    const size_t length = strlen(key->driver);
    const char *p = strstr(data, title);
    if (!p) return false;
    p += sizeof title - 1;
    return !strncmp(p, key->driver, length) && p[length] == '\n';
}

/* NULL, or why the file is not the key's program. A zero follows its last byte. *from: where its
   binary begins. */
static const char *inspect(const gemm_cl_key *key, const char *data, size_t bytes,
                           size_t *from)
{
    size_t n = 0;
    char *wanted = make_head(key, &n);
    const bool known = wanted, same = known && !strncmp(data, wanted, n);
    free(wanted);
    if (!known) return "there is no memory";
    if (!same)
        return strstr(data, "\ndriver ") && !is_of_driver(key, data)
                   ? "it is of another driver" : "it is not what it should be";
    size_t size;
    uint64_t sum;
    int used = 0;
    if (sscanf(data + n, "bytes %zu sum %" SCNx64 "%n", &size, &sum, &used) != 2 ||
        data[n + (size_t)used] != '\n')
        return "it is damaged";
    *from = n + (size_t)used + 1;
    if (bytes - *from != size) return "it is cut short";
    return hash_bytes(hash_start, data + *from, size) == sum ? NULL : "it is damaged";
}

unsigned char *gemm_cl_cache_read(const gemm_cl_key *key, size_t *bytes)
{
    const char *folder = gemm_cl_settings()->cache_dir, *why;
    char name[GEMM_NAME_BYTES];
    if (!folder) return NULL;
    name_file(key, name);
    size_t size, from = 0;
    char *data = gemm_read_file(folder, name, &size, &why);
    if (data) why = inspect(key, data, size, &from);
    if (why)
        fprintf(stderr, "gemm_cl: cache file %s/%s is not used, %s; compiling again\n", folder,
                name, why);
    if (!data || why) {
        free(data);
        return NULL;
    }
    *bytes = size - from;
    memmove(data, data + from, *bytes);
    return (unsigned char *)data;
}

typedef struct program {
    const gemm_cl_key *key;
    const unsigned char *binary;
    size_t bytes;
} program;

static bool write_program(FILE *f, const void *data)
{
    const program *p = data;
    size_t n = 0;
    char *head = make_head(p->key, &n);
    const bool begun = head && fwrite(head, 1, n, f) == n;
    free(head);
    return begun &&
           fprintf(f, "bytes %zu sum %016" PRIx64 "\n", p->bytes,
                   hash_bytes(hash_start, p->binary, p->bytes)) > 0 &&
           fwrite(p->binary, 1, p->bytes, f) == p->bytes;
}

void gemm_cl_cache_write(const gemm_cl_key *key, const unsigned char *binary, size_t bytes)
{
    static bool said;
    const program p = {key, binary, bytes};
    const char *folder = gemm_cl_settings()->cache_dir, *why = "the environment names none";
    char name[GEMM_NAME_BYTES];
    if (folder) {
        name_file(key, name);
        why = gemm_replace_file(folder, name, write_program, &p);
        if (!why) return;
    }
    if (said) return;
    said = true;
    fprintf(stderr, "gemm_cl: compiled programs cannot be kept in %s (%s): they are compiled at "
                    "every start; GEMM_CACHE_DIR names another folder\n",
            folder ? folder : "a folder", why);
}
