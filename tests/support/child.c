/* SPDX-License-Identifier: MIT */
/* A function in a process of its own: see child.h. */
#include "support/child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* The sanitizers catch these signals and exit instead. The parent must see the signal itself. */
static void default_signals(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) signal(signals[i], SIG_DFL);
}

/* Reads to the end, because a child that writes to a full pipe would wait forever. */
static void read_output(int from, char *text, size_t size)
{
    char buffer[4096];
    size_t used = 0;
    ssize_t n;
    while ((n = read(from, buffer, sizeof buffer)) > 0) {
        const size_t left = size - 1 - used, kept = (size_t)n < left ? (size_t)n : left;
        memcpy(text + used, buffer, kept);
        used += kept;
    }
    text[used] = '\0';
}

child_result child_run(int (*body)(void *), void *data)
{
    int ends[2];
    child_result r;
    fflush(NULL);
    if (pipe(ends)) fail("pipe");
    const pid_t pid = fork();
    if (pid < 0) fail("fork");
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        default_signals();
        exit(body(data));
    }
    close(ends[1]);
    read_output(ends[0], r.output, sizeof r.output);
    close(ends[0]);
    if (waitpid(pid, &r.status, 0) != pid) fail("waitpid");
    return r;
}

const char *child_signal(const child_result *r)
{
    return WIFSIGNALED(r->status) ? strsignal(WTERMSIG(r->status)) : NULL;
}

int child_exit(const child_result *r)
{
    return WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
}
