/* SPDX-License-Identifier: MIT */
/*
 * A library has its version in its name, libdnnl.so.3.6. Only packages for developers bring the
 * plain name. The loader cannot be asked for any version, but it names the folders it searches.
 * Folders that only its cache knows hold what was installed by hand, with the plain name.
 */
#include "util/library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
/* Is `file` NAME, or NAME.<digits and points>? */
static bool is_version(const char *file, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(file, name, length) != 0) return false;
    return !file[length]
        || (file[length] == '.' && !file[length + strspn(file + length, ".0123456789")]);
}

static void *open_newest(const char *folder, const char *name)
{
    char newest[256] = "", path[4096];
    DIR *d = opendir(folder);
    if (!d) return NULL;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_version(e->d_name, name) && strverscmp(e->d_name, newest) > 0)
            snprintf(newest, sizeof newest, "%s", e->d_name);
    closedir(d);
    const int length = snprintf(path, sizeof path, "%s/%s", folder, newest);
    if (!*newest || length >= (int)sizeof path) return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The folders that the loader searches, to be freed; NULL: it does not say. */
static Dl_serinfo *search_path(void)
{
    Dl_serinfo head, *path = NULL;
    void *program = dlopen(NULL, RTLD_LAZY);
    if (!program) return NULL;
    if (!dlinfo(program, RTLD_DI_SERINFOSIZE, &head) && (path = malloc(head.dls_size))) {
        *path = head;
        if (dlinfo(program, RTLD_DI_SERINFO, path)) {
            free(path);
            path = NULL;
        }
    }
    dlclose(program);
    return path;
}

void *gemm_open_library(const char *name)
{
    void *library = NULL;
    Dl_serinfo *path = search_path();
    for (unsigned i = 0; path && i < path->dls_cnt && !library; ++i)
        library = open_newest(path->dls_serpath[i].dls_name, name);
    free(path);
    return library ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
#else
void *gemm_open_library(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
#endif
