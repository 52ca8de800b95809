/* SPDX-License-Identifier: MIT */
/*
 * Compiled OpenCL programs on disk, because compiling takes seconds on a phone, and what is known
 * of those that cannot be used.
 *
 * $GEMM_CACHE_DIR/<kernel>-<hash of source, options and device>.clbin:
 *   lines of text: format, device, driver, options, hash of the source, size and checksum
 *   the binary that the driver gave; empty where it gives none, or where the first start left it
 *   to the second one, because it costs a compilation (program.c)
 *
 * Only a program whose results are right has such a file. <...>.note has the same lines. Behind
 * them it has the reason why the program is left out, or "?" while the program is tried for the
 * first time. The process that tries it holds a lock on its note, and the system drops the lock
 * when that process ends. So a "?" without a lock tells that the trial ended the process. A thread
 * that builds beside the calls (cl/op/later.h) writes "??" at first.
 *
 * A file is used only when every line is as expected. Any other file is named on stderr, ignored
 * and written again. A binary is written under another name and then renamed, so that no reader
 * sees half a file. A note keeps its file because of the lock, and nobody reads a locked note.
 */
#include "cl/device/cache.h"

#include "cl/device/device.h"
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The name of the key's file with this ending. */
static void name_file(const gemm_cl_key *key, const char *ending, char name[GEMM_NAME_BYTES])
{
    uint64_t hash = hash_text(hash_start, key->source);
    hash = hash_text(hash, key->options);
    hash = hash_text(hash, key->device);
    snprintf(name, GEMM_NAME_BYTES, "%.96s-%016" PRIx64 "%s", key->name, hash, ending);
}

/* The lines that say what a file is for. Those of size and checksum follow. Returns their length,
   which is `bytes` or more when they do not fit. */
static int describe(const gemm_cl_key *key, char *text, size_t bytes)
{
    return snprintf(text, bytes,
                    "darknet-gemm OpenCL program 2\ndevice %s\ndriver %s\noptions %s\n"
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

/* The contents behind the lines of a file, or NULL. Says why when the file is there and cannot be
   used. A zero follows the last byte. */
static unsigned char *read_checked(const gemm_cl_key *key, const char *name, const char *so,
                                   size_t *bytes)
{
    const char *folder = gemm_cl_settings()->cache_dir, *why;
    size_t size, from = 0;
    char *data = gemm_read_file(folder, name, &size, &why);
    if (data) why = inspect(key, data, size, &from);
    if (why)
        fprintf(stderr, "gemm_cl: cache file %s/%s is not used, %s; %s\n", folder, name, why, so);
    if (!data || why) {
        free(data);
        return NULL;
    }
    *bytes = size - from;
    memmove(data, data + from, *bytes + 1);
    return (unsigned char *)data;
}

unsigned char *gemm_cl_cache_read(const gemm_cl_key *key, size_t *bytes)
{
    char name[GEMM_NAME_BYTES];
    if (!gemm_cl_settings()->cache_dir) return NULL;
    name_file(key, ".clbin", name);
    return read_checked(key, name, "compiling again", bytes);
}

bool gemm_cl_cache_has(const gemm_cl_key *key)
{
    const char *folder = gemm_cl_settings()->cache_dir;
    char name[GEMM_NAME_BYTES], path[GEMM_FOLDER_BYTES + GEMM_NAME_BYTES];
    for (int note = 0; folder && note < 2; ++note) {
        name_file(key, note ? ".note" : ".clbin", name);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (access(path, F_OK) == 0) return true;
    }
    return false;
}

typedef struct contents {
    const gemm_cl_key *key;
    const void *data;
    size_t bytes;
} contents;

static bool write_contents(FILE *f, const void *data)
{
    const contents *p = data;
    size_t n = 0;
    char *head = make_head(p->key, &n);
    const bool begun = head && fwrite(head, 1, n, f) == n;
    free(head);
    return begun &&
           fprintf(f, "bytes %zu sum %016" PRIx64 "\n", p->bytes,
                   hash_bytes(hash_start, p->data, p->bytes)) > 0 &&
           fwrite(p->data, 1, p->bytes, f) == p->bytes;
}

/* Once: that nothing can be kept. */
static void say_unkept(const char *why)
{
    static bool said;
    const char *folder = gemm_cl_settings()->cache_dir;
    if (said) return;
    said = true;
    if (folder)
        fprintf(stderr, "gemm_cl: compiled programs cannot be kept in %s (%s): they are compiled "
                        "at every start; GEMM_CACHE_DIR names another folder\n", folder, why);
    else
        fprintf(stderr, "gemm_cl: compiled programs are not kept: they are compiled at every "
                        "start; GEMM_CACHE_DIR names a folder for them\n");
}

bool gemm_cl_cache_keeps(void)
{
    const char *folder = gemm_cl_settings()->cache_dir;
    const char *why = folder ? gemm_make_folder(folder) : "";
    if (!why && access(folder, W_OK)) why = strerror(errno);
    if (why) say_unkept(why);
    return !why;
}

void gemm_cl_cache_write(const gemm_cl_key *key, const unsigned char *binary, size_t bytes)
{
    const contents p = {key, binary, bytes};
    const char *folder = gemm_cl_settings()->cache_dir;
    char name[GEMM_NAME_BYTES];
    name_file(key, ".clbin", name);
    const char *why = folder ? gemm_replace_file(folder, name, write_contents, &p) : "";
    if (why) say_unkept(why);
}

/* ---- notes ---- */

/* A process often ends while its thread builds, so the first such end says nothing. */
static const char tried[] = "?", tried_beside[] = "??";

/* Replaces what a note that this process holds says. Without room the note is empty, as if there
   were none. */
static void write_note(const gemm_cl_note *note, const gemm_cl_key *key, const char *reason)
{
    const contents p = {key, reason, strlen(reason)};
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    bool written = f && write_contents(f, &p);
    if (f && fclose(f)) written = false;
    written = ftruncate(note->fd, 0) == 0 && written &&
              pwrite(note->fd, text, bytes, 0) == (ssize_t)bytes;
    if (!written && ftruncate(note->fd, 0)) say_unkept(strerror(errno));
    free(text);
}

/* Opens the note, which may be new, and locks it. -1: another process holds it, or the file system
   has no locks, or the folder cannot be used, or it cannot be written and has no such note. */
static int lock_note(const char *path)
{
    enum { SAFELY = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    struct stat st;
    if (gemm_make_folder(gemm_cl_settings()->cache_dir)) return -1;
    int fd = open(path, O_RDWR | O_CREAT | SAFELY, 0600);
    if (fd < 0) fd = open(path, O_RDONLY | SAFELY);     /* of a folder that others fill */
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    close(fd);
    return -1;
}

/* The reason that a note gives, in one line that the caller frees. NULL: it gives none. */
static char *reason_of(const gemm_cl_key *key, const char *path)
{
    size_t bytes;
    struct stat st;
    if (stat(path, &st) || st.st_size == 0) return NULL;
    char *text = (char *)read_checked(key, strrchr(path, '/') + 1, "the program is tried again",
                                      &bytes), *why = NULL;
    if (!text || !strcmp(text, tried_beside)) {
        free(text);
        return NULL;
    }
    const char *reason = strcmp(text, tried) ? text : "an earlier process ended while it was tried";
    if (asprintf(&why, "kernels/%s.cl is left out on %s: %s (remove %s to try it again)", key->name,
                 key->device, reason, path) < 0)
        why = NULL;
    free(text);
    return why;
}

char *gemm_cl_begin_note(const gemm_cl_key *key, bool beside, gemm_cl_note *note)
{
    struct stat st;
    const char *folder = gemm_cl_settings()->cache_dir;
    char name[GEMM_NAME_BYTES];
    note->fd = -1;
    if (!folder) return NULL;
    name_file(key, ".note", name);
    snprintf(note->path, sizeof note->path, "%s/%s", folder, name);
    note->fd = lock_note(note->path);
    if (note->fd < 0) return NULL;
    char *why = reason_of(key, note->path);
    if (!why) {
        const bool first = fstat(note->fd, &st) == 0 && st.st_size == 0;
        write_note(note, key, beside && first ? tried_beside : tried);
        return NULL;
    }
    close(note->fd);
    note->fd = -1;
    return why;
}

void gemm_cl_end_note(const gemm_cl_note *note, const gemm_cl_key *key, const char *why)
{
    if (note->fd < 0) return;
    if (why) {
        write_note(note, key, why);
    } else {
        /* Emptied first, because another process may have opened it already. */
        if (ftruncate(note->fd, 0) == 0) unlink(note->path);
    }
    close(note->fd);
}
