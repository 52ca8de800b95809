/* SPDX-License-Identifier: MIT */
/* Programs that several processes build: see builders.h. */
#include "cl/device/builders.h"

#include "cl/device/cache.h"
#include "cl/device/device.h"
#include "util/cores.h"
#include "util/ints.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CHILDREN = 7 };
extern char **environ;

static const char *argument;    /* of a child; NULL: the program allows none */
static struct {
    int take, give, done;       /* of the pipes: both ends of the orders, and what is done */
    int left;                   /* orders that are not done */
} pipes;
static struct {
    int count;
    pid_t ids[MOST_CHILDREN];
} children;

void gemm_cl_compile_apart(const char *a)
{
    argument = a;
}

bool gemm_cl_joins(const gemm_cl_order *o, const char *source, const char *options)
{
    return o->source == source && !strcmp(o->options, options);
}

bool gemm_cl_add_order(gemm_cl_order *o, const char *name, const char *options)
{
    if (!*o->options && !gemm_append(o->options, sizeof o->options, "%s", options)) return false;
    return gemm_append(o->names, sizeof o->names, "%s ", name);
}

/* ---- the parent ---- */

/* A group of its own: a signal from the terminal ends the parent, and that ends the child. */
static bool begin_child(int take, int done, pid_t *id)
{
    char *const words[] = {(char *)"darknet", (char *)argument, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    if (posix_spawn_file_actions_init(&files)) return false;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    const bool begun =
        !posix_spawn_file_actions_adddup2(&files, take, STDIN_FILENO) &&
        !posix_spawn_file_actions_adddup2(&files, done, STDOUT_FILENO) &&
        !posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) &&
        !posix_spawn(id, "/proc/self/exe", &files, &how, words, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return begun;
}

/* So many that each process has two orders. */
static int count_children(int orders)
{
    enum { FEW = 3 };
    const bool may = argument && orders >= FEW && !gemm_cl_opened()->traits.cpu &&
                     !gemm_cl_settings()->untried && gemm_cl_cache_keeps();
    return may ? min_int(min_int(gemm_allowed_cores() - 1, MOST_CHILDREN), orders / 2) : 0;
}

bool gemm_cl_start_builders(const gemm_cl_order *orders, int count)
{
    int queue[2], done[2];
    const int wanted = count_children(count);
    if (wanted < 1 || pipe2(queue, O_CLOEXEC | O_NONBLOCK)) return false;
    if (pipe2(done, O_CLOEXEC)) {
        close(queue[0]);
        close(queue[1]);
        return false;
    }
    for (pipes.left = 0; pipes.left < count; ++pipes.left)
        if (write(queue[1], &orders[pipes.left], sizeof *orders) != sizeof *orders) break;
    children.count = 0;
    while (children.count < wanted &&
           begin_child(queue[0], done[1], &children.ids[children.count]))
        ++children.count;
    close(done[1]);
    pipes.take = queue[0];
    pipes.give = queue[1];
    pipes.done = done[0];
    return true;
}

/* A pipe gives whole orders, because all were written before. */
static int take(int fd, gemm_cl_order *o)
{
    ssize_t n;
    while ((n = read(fd, o, sizeof *o)) < 0 && errno == EINTR) continue;
    return n == sizeof *o ? 0 : -1;
}

int gemm_cl_take_order(void)
{
    gemm_cl_order o;
    if (take(pipes.take, &o)) return -1;
    --pipes.left;
    return o.number;
}

int gemm_cl_wait_for_order(void)
{
    unsigned char number;
    ssize_t n;
    if (!pipes.left) return -1;
    while ((n = read(pipes.done, &number, 1)) < 0 && errno == EINTR) continue;
    if (n != 1) return -1;
    --pipes.left;
    return number;
}

/* Waits for all children. Whether the signal that ended one is none of a fault. */
static bool are_killed(void)
{
    bool killed = false;
    for (int i = 0; i < children.count; ++i) {
        int status = 0;
        while (waitpid(children.ids[i], &status, 0) < 0 && errno == EINTR) continue;
        const int n = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        killed = killed || n == SIGKILL || n == SIGTERM || n == SIGINT || n == SIGHUP;
    }
    return killed;
}

static void *reap(void *unused)
{
    are_killed();
    return unused;
}

/* Where all is done, nobody needs to know how they end, and nothing waits. */
bool gemm_cl_end_builders(void)
{
    pthread_t thread;
    close(pipes.take);
    close(pipes.give);
    close(pipes.done);
    if (pipes.left) return are_killed();
    if (pthread_create(&thread, NULL, reap, NULL) == 0) pthread_detach(thread);
    return false;
}

/* ---- a child ---- */

static void *watch(void *unused)
{
    struct pollfd orders = {.fd = STDIN_FILENO};
    while (poll(&orders, 1, -1) < 0 && errno == EINTR) continue;
    gemm_cl_cache_leave();
    _exit(0);
    return unused;
}

bool gemm_cl_end_with_parent(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, watch, NULL) == 0;
}

void gemm_cl_serve_orders(void (*build)(const gemm_cl_order *))
{
    gemm_cl_order o;
    while (take(STDIN_FILENO, &o) == 0) {
        const unsigned char number = (unsigned char)o.number;
        build(&o);
        if (write(STDOUT_FILENO, &number, 1) != 1) return;
    }
}
