/* Whole files: see file.h. */
#include "util/file.h"

#include "util/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_LEN = 1152 };

char *gemm_read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *data = NULL;
    struct stat st;
    if (fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        *bytes = (size_t)st.st_size;
        data = malloc(*bytes + 1);
        if (data && fread(data, 1, *bytes, f) != *bytes) {
            free(data);
            data = NULL;
        }
        if (data) data[*bytes] = '\0';
    }
    fclose(f);
    return data;
}

bool gemm_make_folder(const char *path)
{
    char part[PATH_LEN] = "";
    if (!gemm_append(part, sizeof part, "%s", path)) return errno = ENAMETOOLONG, false;
    for (char *p = part + 1; *p; ++p) {
        if (*p != '/') continue;
        *p = '\0';
        const bool made = mkdir(part, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!made) return false;
    }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}

int gemm_replace_file(const char *folder, const char *path, gemm_fill_file *fill, const void *data)
{
    char temporary[PATH_LEN] = "";
    if (!gemm_append(temporary, sizeof temporary, "%s/.new-XXXXXX", folder)) return ENAMETOOLONG;
    const int fd = gemm_make_folder(folder) ? mkstemp(temporary) : -1;
    if (fd < 0) return errno;
    FILE *f = fdopen(fd, "wb");
    errno = 0;
    int error = f && fill(f, data) && fflush(f) == 0 ? 0 : errno ? errno : EIO;
    if ((f ? fclose(f) : close(fd)) && !error) error = errno;
    if (!error && rename(temporary, path)) error = errno;
    if (error) unlink(temporary);
    return error;
}
