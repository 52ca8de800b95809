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

static int queue[2], done[2];   /* pipes of orders, and of their numbers */
static bool begun;

void gemm_cl_begin_builders(void)
{
    enum { MOST = 6 };
    static bool tried;
    if (tried || !argument || gemm_cl_opened()->traits.cpu || gemm_cl_settings()->untried) return;
    tried = true;
    int children = min_int(gemm_allowed_cores() - 1, MOST);
    if (children < 1 || !gemm_cl_cache_keeps() || pipe2(queue, O_CLOEXEC)) return;
    if (pipe2(done, O_CLOEXEC)) {
        close(queue[0]);
        close(queue[1]);
        return;
    }
    fcntl(queue[1], F_SETFL, O_NONBLOCK);       /* a pipe may be small */
    while (children && begin_child(queue[0], done[1])) --children;
    close(done[1]);
    begun = true;
}

/* A pipe gives whole orders, as it got them. */
static bool take(int pipe, void *to, size_t bytes)
{
    ssize_t n;
    while ((n = read(pipe, to, bytes)) < 0 && errno == EINTR) continue;
    return n == (ssize_t)bytes;
}

void gemm_cl_build_apart(const gemm_cl_order *orders, int count, gemm_cl_build_one *build)
{
    enum { FEW = 3, ROOM = 48 };        /* orders; a pipe has 64 KiB */
    int left = 0;
    unsigned char number;
    gemm_cl_order o;
    if (count >= FEW) gemm_cl_begin_builders();
    if (!begun) return;
    begun = false;
    count = count < FEW ? 0 : min_int(count, ROOM);
    while (left < count && write(queue[1], &orders[left], sizeof o) == sizeof o) ++left;
    close(queue[1]);
    for (; take(queue[0], &o, sizeof o); --left) build(&o);
    for (; left && take(done[0], &number, 1); --left) build(&orders[number]);
    close(queue[0]);
    close(done[0]);
}

/* Without a parent there are no orders, and nobody reads what is done. */
void gemm_cl_serve_orders(gemm_cl_build_one *build)
{
    gemm_cl_order o;
    while (take(STDIN_FILENO, &o, sizeof o)) {
        const unsigned char number = (unsigned char)o.number;
        build(&o);
        if (write(STDOUT_FILENO, &number, 1) != 1) return;
    }
}
