/* SPDX-License-Identifier: MIT */
/* LD_PRELOAD=preload_no_spawn.so: a program cannot begin itself again, as without /proc. */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>

typedef int spawn(pid_t *, const char *, const posix_spawn_file_actions_t *,
                  const posix_spawnattr_t *, char *const *, char *const *);

int posix_spawn(pid_t *restrict id, const char *restrict path,
                const posix_spawn_file_actions_t *restrict files,
                const posix_spawnattr_t *restrict how, char *const words[restrict],
                char *const environment[restrict])
{
    union { void *object; spawn *code; } next = {dlsym(RTLD_NEXT, "posix_spawn")};
    if (!next.object) abort();
    return strcmp(path, "/proc/self/exe") ? next.code(id, path, files, how, words, environment)
                                          : ENOENT;
}
