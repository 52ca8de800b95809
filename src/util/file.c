/* SPDX-License-Identifier: MIT */
/* Whole files in a folder that is not trusted: see file.h. */
#include "util/file.h"

#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = GEMM_FOLDER_BYTES + GEMM_NAME_BYTES };
static const char too_long[] = "its path is too long";

/* ---- whom a folder and a file belong to ---- */

static bool is_own(const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == 0;
}

/* An app of Android has a group of its own, which may write in its folders. */
static bool others_write(const struct stat *st)
{
#ifdef __ANDROID__
    return st->st_mode & S_IWOTH;
#else
    return st->st_mode & (S_IWGRP | S_IWOTH);
#endif
}

/* NULL, or why the folder is not trusted. */
static const char *judge_folder(int folder)
{
    struct stat st;
    if (fstat(folder, &st)) return strerror(errno);
    if (!is_own(&st)) return "its folder belongs to another user";
    if (others_write(&st) && !(st.st_mode & S_ISVTX))
        return "others may write in its folder (chmod go-w)";
    return NULL;
}

static const char *judge_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return "it is no regular file";
    if (!is_own(st)) return "it belongs to another user";
    if (others_write(st)) return "others may write it (chmod go-w)";
    if (st->st_size == 0) return "it cannot be read: it is empty";
    return st->st_size > GEMM_FILE_MOST ? "it is larger than 64 MiB" : NULL;
}

/* ---- reading ---- */

static char *read_bytes(int fd, size_t bytes, const char **why)
{
    char *data = malloc(bytes + 1);
    size_t done = 0;
    ssize_t n = 1;
    errno = ENOMEM;
    while (data && done < bytes && n > 0) {
        n = read(fd, data + done, bytes - done);
        if (n > 0) done += (size_t)n;
        if (n == 0) errno = EIO;        /* it became shorter */
    }
    if (!data || done < bytes) {
        *why = strerror(errno);
        free(data);
        return NULL;
    }
    data[bytes] = '\0';
    return data;
}

/* Looked at before it is opened, because opening a device may do something. Looked at again,
   because another file may have taken its name. */
static char *read_in(int folder, const char *name, size_t *bytes, const char **why)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW)) {
        if (errno != ENOENT) *why = strerror(errno);
        return NULL;
    }
    if ((*why = judge_folder(folder)) || (*why = judge_file(&st))) return NULL;
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st)) *why = strerror(errno);
    else *why = judge_file(&st);
    *bytes = (size_t)st.st_size;
    char *data = *why ? NULL : read_bytes(fd, *bytes, why);
    if (fd >= 0) close(fd);
    return data;
}

/* A folder that is not there, or may not be searched, has no file for this user. */
char *gemm_read_file(const char *path, const char *name, size_t *bytes, const char **why)
{
    *why = NULL;
    const int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) *why = strerror(errno);
        return NULL;
    }
    char *data = read_in(folder, name, bytes, why);
    close(folder);
    return data;
}

/* ---- writing ---- */

static bool make_folders(char *path)
{
    for (char *p = path + 1; *p; ++p) {
        if (*p != '/') continue;
        *p = '\0';
        const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!made) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

const char *gemm_make_folder(const char *path)
{
    char copy[GEMM_FOLDER_BYTES] = "";
    if (!gemm_append(copy, sizeof copy, "%s", path)) return too_long;
    const int folder =
        *copy && make_folders(copy) ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0) return strerror(errno);
    const char *why = judge_folder(folder);
    close(folder);
    return why;
}

/* 0, or the errno of the step that failed. */
static int write_as(const char *temporary, int fd, const char *path, gemm_fill_file *fill,
                    const void *data)
{
    FILE *f = fdopen(fd, "wb");
    errno = 0;
    int error = f && fill(f, data) && fflush(f) == 0 ? 0 : errno ? errno : EIO;
    if ((f ? fclose(f) : close(fd)) && !error) error = errno;
    if (!error && rename(temporary, path)) error = errno;
    return error;
}

const char *gemm_fill_and_rename(int fd, const char *temporary, const char *path,
                                 gemm_fill_file *fill, const void *data)
{
    const int error = write_as(temporary, fd, path, fill, data);
    if (error) unlink(temporary);
    return error ? strerror(error) : NULL;
}

const char *gemm_replace_file(const char *folder, const char *name, gemm_fill_file *fill,
                              const void *data)
{
    char temporary[PATH_BYTES] = "", path[PATH_BYTES] = "";
    const char *why = gemm_make_folder(folder);
    if (why) return why;
    if (!gemm_append(temporary, sizeof temporary, "%s/.new-XXXXXX", folder) ||
        !gemm_append(path, sizeof path, "%s/%s", folder, name))
        return too_long;
    const int fd = mkostemp(temporary, O_CLOEXEC);
    return fd < 0 ? strerror(errno) : gemm_fill_and_rename(fd, temporary, path, fill, data);
}

/* Not for ever, because another process may hold the lock that long. False: it holds it still. */
static bool lock(int folder)
{
    enum { TRIES = 2000, PAUSE_NS = 1000000 };
    for (int i = 0; flock(folder, LOCK_EX | LOCK_NB); ++i) {
        /* A file system without locks: a file is whole, but may lack what another process adds. */
        if (errno != EWOULDBLOCK && errno != EINTR) return true;
        if (i == TRIES) return false;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return true;
}

const char *gemm_with_lock(const char *folder, const char *(*work)(const void *data),
                           const void *data)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return strerror(errno);
    const char *why = lock(fd) ? work(data) : "another process has locked its folder";
    /* Not by close alone: a child that was forked meanwhile has the lock too. */
    flock(fd, LOCK_UN);
    close(fd);
    return why;
}

const char *gemm_with_folder(const char *folder, const char *(*work)(const void *data),
                             const void *data)
{
    const char *why = gemm_make_folder(folder);
    return why ? why : gemm_with_lock(folder, work, data);
}
