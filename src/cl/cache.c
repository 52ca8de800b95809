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
#include "util/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_MAX = 4096, PATH_LEN = 1024 };

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

bool gemm_cl_cache_folder(char *path, size_t bytes)
{
    const gemm_cl_configuration *s = gemm_cl_settings();
    path[0] = '\0';
    if (s->cache_dir && *s->cache_dir) return gemm_append(path, bytes, "%s", s->cache_dir);
    if (s->cache_home && *s->cache_home)
        return gemm_append(path, bytes, "%s/darknet-gemm", s->cache_home);
    return s->home && *s->home && gemm_append(path, bytes, "%s/.cache/darknet-gemm", s->home);
}

/* The file of the key's program; false when there is no folder for it. */
static bool cache_path(const gemm_cl_key *key, char *path, size_t bytes)
{
    char folder[PATH_LEN];
    if (!gemm_cl_cache_folder(folder, sizeof folder)) return false;
    uint64_t hash = hash_text(hash_start, key->source);
    hash = hash_text(hash, key->options);
    hash = hash_text(hash, key->device);
    const int n = snprintf(path, bytes, "%s/%s-%016" PRIx64 ".clbin", folder, key->name, hash);
    return n > 0 && (size_t)n < bytes;
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

static unsigned char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    unsigned char *data = NULL;
    struct stat st;
    if (fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        *bytes = (size_t)st.st_size;
        data = malloc(*bytes);
        if (data && fread(data, 1, *bytes, f) != *bytes) {
            free(data);
            data = NULL;
        }
    }
    fclose(f);
    return data;
}

/* NULL, or why the file is not the key's program. *from: where its binary begins. */
static const char *inspect(const gemm_cl_key *key, const unsigned char *data, size_t bytes,
                           size_t *from)
{
    char wanted[HEADER_MAX], head[HEADER_MAX + 1], driver[256];
    const int n = describe(key, wanted, sizeof wanted);
    const size_t known = bytes < HEADER_MAX ? bytes : HEADER_MAX;
    memcpy(head, data, known);
    head[known] = 0;
    if (n < 0 || (size_t)n >= sizeof wanted) return "its description is too long";
    snprintf(driver, sizeof driver, "\ndriver %s\n", key->driver);
    if (strncmp(head, wanted, (size_t)n) != 0)
        return strstr(head, "\ndriver ") && !strstr(head, driver) ? "it is of another driver"
                                                                   : "it is not what it should be";
    size_t size;
    uint64_t sum;
    int used = 0;
    if (sscanf(head + n, "bytes %zu sum %" SCNx64 "%n", &size, &sum, &used) != 2 ||
        head[n + used] != '\n')
        return "it is damaged";
    *from = (size_t)n + (size_t)used + 1;
    if (bytes - *from != size) return "it is cut short";
    return hash_bytes(hash_start, data + *from, size) == sum ? NULL : "it is damaged";
}

unsigned char *gemm_cl_cache_read(const gemm_cl_key *key, size_t *bytes)
{
    char path[PATH_LEN + 128];
    if (!cache_path(key, path, sizeof path)) return NULL;
    size_t size, from = 0;
    unsigned char *data = read_file(path, &size);
    if (!data) {
        if (access(path, F_OK) == 0)
            fprintf(stderr, "gemm_cl: cache file %s is not used, it cannot be read; compiling "
                            "again\n", path);
        return NULL;
    }
    const char *why = inspect(key, data, size, &from);
    if (why) {
        fprintf(stderr, "gemm_cl: cache file %s is not used, %s; compiling again\n", path, why);
        free(data);
        return NULL;
    }
    *bytes = size - from;
    memmove(data, data + from, *bytes);
    return data;
}

/* mkdir -p, for this user only. */
static bool make_folder(char *path)
{
    for (char *p = path + 1; *p; ++p) {
        if (*p == '/') {
            *p = 0;
            const bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
            *p = '/';
            if (!ok) return false;
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool write_all(FILE *f, const gemm_cl_key *key, const unsigned char *binary, size_t bytes)
{
    char head[HEADER_MAX];
    const int n = describe(key, head, sizeof head);
    return n > 0 && (size_t)n < sizeof head && fwrite(head, 1, (size_t)n, f) == (size_t)n &&
           fprintf(f, "bytes %zu sum %016" PRIx64 "\n", bytes,
                   hash_bytes(hash_start, binary, bytes)) > 0 &&
           fwrite(binary, 1, bytes, f) == bytes && fflush(f) == 0;
}

/* Writes the file beside its place and renames it. 0, or the errno of what failed. */
static int write_file(const gemm_cl_key *key, char *folder, const char *path,
                      const unsigned char *binary, size_t bytes)
{
    char temporary[PATH_LEN + 64];
    snprintf(temporary, sizeof temporary, "%s/.clbin-XXXXXX", folder);
    const int fd = make_folder(folder) ? mkstemp(temporary) : -1;
    if (fd < 0) return errno;
    FILE *f = fdopen(fd, "wb");
    int error = f && write_all(f, key, binary, bytes) ? 0 : errno;
    if ((f ? fclose(f) : close(fd)) && !error) error = errno;
    if (!error && rename(temporary, path)) error = errno;
    if (error) unlink(temporary);
    return error;
}

void gemm_cl_cache_write(const gemm_cl_key *key, const unsigned char *binary, size_t bytes)
{
    static bool said;
    char folder[PATH_LEN], path[PATH_LEN + 128], why[256] = "the environment names none";
    bool ok = gemm_cl_cache_folder(folder, sizeof folder) && cache_path(key, path, sizeof path);
    if (ok) {
        const int error = write_file(key, folder, path, binary, bytes);
        ok = error == 0;
        snprintf(why, sizeof why, "%s", strerror(error));
    }
    if (ok || said) return;
    said = true;
    fprintf(stderr, "gemm_cl: compiled programs cannot be kept in %s (%s): they are compiled at "
                    "every start; GEMM_CACHE_DIR names another folder\n",
            *folder ? folder : "a folder", why);
}
