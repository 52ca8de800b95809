/* SPDX-License-Identifier: MIT */
/* Programs that several processes build: see builders.h. */
#include "cl/device/builders.h"

#include "cl/device/cache.h"
#include "cl/device/device.h"
#include "util/cores.h"
#include "util/ints.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *argument;    /* of a child; NULL: the program allows none */
static char **(*environment)(void);

void gemm_cl_compile_apart(const char *a, char **(*e)(void))
{
    argument = a;
    environment = e;
}

/* So many that each process has two orders. */
static int count_children(int orders)
{
    enum { FEW = 3, MOST = 7 };
    const bool may = argument && orders >= FEW && !gemm_cl_opened()->traits.cpu &&
                     !gemm_cl_settings()->untried && gemm_cl_cache_keeps();
    return may ? min_int(min_int(gemm_allowed_cores() - 1, MOST), orders / 2) : 0;
}

static void *wait_for_end(void *id)
{
    waitpid((pid_t)(intptr_t)id, NULL, 0);
    return NULL;
}

/* In a group of its own: a signal of the terminal would end it while it tries a program. */
static bool begin_child(int take, int done)
{
    char *const words[] = {(char *)"darknet", (char *)argument, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pthread_t thread;
    pid_t id;
    if (posix_spawn_file_actions_init(&files)) return false;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    const bool begun =
        !posix_spawn_file_actions_adddup2(&files, take, STDIN_FILENO) &&
        !posix_spawn_file_actions_adddup2(&files, done, STDOUT_FILENO) &&
        !posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) &&
        !posix_spawn(&id, "/proc/self/exe", &files, &how, words, environment());
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (begun && !pthread_create(&thread, NULL, wait_for_end, (void *)(intptr_t)id))
        pthread_detach(thread);
    return begun;
}

/* A pipe gives whole orders, because they were written before. */
static bool take(int pipe, void *to, size_t bytes)
{
    ssize_t n;
    while ((n = read(pipe, to, bytes)) < 0 && errno == EINTR) continue;
    return n == (ssize_t)bytes;
}

void gemm_cl_build_apart(const gemm_cl_order *orders, int count, gemm_cl_build_one *build)
{
    int queue[2], done[2], left = 0, children = count_children(count);
    unsigned char number;
    gemm_cl_order o;
    if (!children || pipe2(queue, O_CLOEXEC | O_NONBLOCK)) return;
    if (!pipe2(done, O_CLOEXEC)) {
        while (left < count && write(queue[1], &orders[left], sizeof o) == sizeof o) ++left;
        while (children && begin_child(queue[0], done[1])) --children;
        close(done[1]);
        for (; take(queue[0], &o, sizeof o); --left) build(&o);
        for (; left && take(done[0], &number, 1); --left) build(&orders[number]);
        close(done[0]);
    }
    close(queue[0]);
    close(queue[1]);
}

/* Without a parent nobody reads what is done. */
void gemm_cl_serve_orders(gemm_cl_build_one *build)
{
    gemm_cl_order o;
    while (take(STDIN_FILENO, &o, sizeof o)) {
        const unsigned char number = (unsigned char)o.number;
        build(&o);
        if (write(STDOUT_FILENO, &number, 1) != 1) return;
    }
}
