/* SPDX-License-Identifier: MIT */
/* A file of results: see output.h. */
#include "common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *output_open(const char *path)
{
    struct stat st;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return NULL;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return fdopen(fd, "w");
    const int error = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? EBUSY
                      : ftruncate(fd, 0) ? errno : 0;
    if (!error) return fdopen(fd, "w");
    close(fd);
    errno = error;
    return NULL;
}
