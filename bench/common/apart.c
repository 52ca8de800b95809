/* SPDX-License-Identifier: MIT */
/* Work in a child process: see apart.h. Its output comes back through a pipe. */
#include "common/apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

/* The child's status after finished work. Libraries and Darknet end a program with 0 or 1. */
enum { FINISHED = 64 };

void apart_explain(int status, char *text, size_t size)
{
    if (status == -1)
        snprintf(text, size, "is gone");
    else if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
}

void apart_follow_parent(int parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
#else
    (void)parent;
#endif
}

static _Noreturn void run_child(apart_work *work, void *argument, int fd, int parent)
{
    apart_follow_parent(parent);
    FILE *out = fdopen(fd, "w");
    if (!out) _exit(1);
    work(argument, out);
    _exit(fflush(out) ? 1 : FINISHED);      /* nothing that the parent registered with atexit */
}

static bool read_all(int fd, apart_result *r)
{
    FILE *text = open_memstream(&r->text, &r->size);
    char part[4096];
    ssize_t got = 0;
    while (text && ((got = read(fd, part, sizeof part)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0) fwrite(part, 1, (size_t)got, text);
    return text && !fclose(text) && got == 0;
}

bool apart_run(apart_work *work, void *argument, apart_result *r)
{
    int fd[2], status = -1;
    const int parent = getpid();
    *r = (apart_result){0};
    fflush(NULL);
    const pid_t child = pipe(fd) ? -1 : fork();
    if (child < 0) {
        snprintf(r->why, sizeof r->why, "cannot be started: %s", strerror(errno));
        r->text = calloc(1, 1);
        return false;
    }
    if (child == 0) {
        close(fd[0]);
        run_child(work, argument, fd[1], parent);
    }
    close(fd[1]);
    const bool complete = read_all(fd[0], r);
    close(fd[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (complete && WIFEXITED(status) && WEXITSTATUS(status) == FINISHED) return true;
    apart_explain(status, r->why, sizeof r->why);
    return false;
}
