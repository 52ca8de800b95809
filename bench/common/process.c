/* SPDX-License-Identifier: MIT */
/* A program on two pipes: see process.h. */
#include "common/process.h"

#include "common/apart.h"
#include "util/clock.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between fork and exec: only what a signal handler could call, and putenv. */
static void become(process *p, char *const argv[], char *const settings[], const char *dir,
                   const int in[2], const int out[2], pid_t parent)
{
    setpgid(0, 0);
    apart_follow_parent(parent);
    const int errors = open(p->errors, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (errors < 0 || dup2(errors, 2) < 0) _exit(127);
    signal(SIGPIPE, SIG_DFL);
    if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || chdir(dir)) {
        perror(dir);
        _exit(127);
    }
    for (; settings && *settings; settings++)
        if (putenv(*settings)) _exit(127);
    execv(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

int process_start(process *p, char *const argv[], char *const settings[], const char *dir)
{
    int in[2], out[2];
    *p = (process){.in = -1, .out = -1};
    if ((size_t)snprintf(p->errors, sizeof p->errors, "%s/stderr.txt", dir) >= sizeof p->errors) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (pipe2(in, O_CLOEXEC)) return -1;
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]);
        close(in[1]);
        return -1;
    }
    const pid_t parent = getpid();
    p->pid = fork();
    if (p->pid == 0) become(p, argv, settings, dir, in, out, parent);
    const int saved = errno;
    close(in[0]);
    close(out[1]);
    p->in = in[1];
    p->out = out[0];
    if (p->pid > 0) return 0;
    p->pid = 0;
    process_close(p);
    errno = saved;
    return -1;
}

static bool ends_with(const process *p, const char *awaited)
{
    const size_t n = strlen(awaited);
    return p->length >= n && !memcmp(p->text + p->length - n, awaited, n);
}

/* Reads what is there. 1: something, 0: end of the output, -1: errno. */
static int read_more(process *p)
{
    if (p->room - p->length < 4097) {
        char *more = realloc(p->text, p->room + 65536);
        if (!more) return -1;
        p->text = more;
        p->room += 65536;
    }
    const ssize_t got = read(p->out, p->text + p->length, 4096);
    if (got < 0) return errno == EINTR ? 1 : -1;
    p->length += (size_t)got;
    p->text[p->length] = 0;
    return got > 0;
}

process_state process_await(process *p, const char *awaited, double seconds,
                            const volatile sig_atomic_t *stop)
{
    const double until = gemm_now_s() + seconds;
    for (;;) {
        if (*stop) return PROCESS_STOPPED;
        const double left = until - gemm_now_s();
        if (left <= 0) return PROCESS_LATE;
        struct pollfd fd = {.fd = p->out, .events = POLLIN};
        /* Slices, for a signal that comes between the look at *stop and the poll. */
        const int ready = poll(&fd, 1, left < 0.2 ? (int)(left * 1000) + 1 : 200);
        if (ready < 0 && errno != EINTR) return PROCESS_FAILED;
        if (ready <= 0) continue;
        const int got = read_more(p);
        if (got < 0) return PROCESS_FAILED;
        if (got == 0) return PROCESS_ENDED;
        if (awaited && ends_with(p, awaited)) return PROCESS_READY;
    }
}

int process_write(process *p, const char *text)
{
    size_t n = strlen(text);
    while (n > 0) {
        const ssize_t put = write(p->in, text, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return -1;
        text += put;
        n -= (size_t)put;
    }
    return 0;
}

void process_forget(process *p)
{
    p->length = 0;
    if (p->text) p->text[0] = 0;
}

void process_pause(process *p)
{
#ifdef __linux__    /* elsewhere a stopped child would outlive a killed harness */
    if (p->pid > 0) kill(p->pid, SIGSTOP);
#else
    (void)p;
#endif
}

void process_resume(process *p)
{
#ifdef __linux__
    if (p->pid > 0) kill(p->pid, SIGCONT);
#else
    (void)p;
#endif
}

static void close_pipes(process *p)
{
    if (p->in >= 0) close(p->in);
    if (p->out >= 0) close(p->out);
    p->in = p->out = -1;
}

int process_finish(process *p, double seconds)
{
    const double until = gemm_now_s() + seconds;
    const struct timespec pause = {0, 2000000};
    int status = -1;
    if (p->pid <= 0) return -1;
    close_pipes(p);
    process_resume(p);
    for (;;) {
        const pid_t done = waitpid(p->pid, &status, WNOHANG);
        if (done == p->pid) break;
        if (done < 0 && errno != EINTR) return -1;
        if (gemm_now_s() > until) {
            kill(-p->pid, SIGKILL);
            kill(p->pid, SIGKILL);
            while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) continue;
            break;
        }
        nanosleep(&pause, NULL);
    }
    kill(-p->pid, SIGKILL);     /* what a wrapper script left behind in its group */
    p->pid = 0;
    return status;
}

void process_close(process *p)
{
    process_finish(p, 0);
    close_pipes(p);
    free(p->text);
    p->text = NULL;
    p->length = p->room = 0;
}

void process_last_words(const process *p, char *text, size_t size)
{
    enum { LINES = 4 };
    char tail[2048];
    text[0] = 0;
    FILE *f = fopen(p->errors, "r");
    if (!f) return;
    if (!fseek(f, 0, SEEK_END) && ftell(f) > (long)sizeof tail - 1)
        fseek(f, -(long)(sizeof tail - 1), SEEK_END);
    else
        rewind(f);
    size_t n = fread(tail, 1, sizeof tail - 1, f);
    fclose(f);
    while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' ')) n--;
    tail[n] = 0;
    const char *from = tail + n;
    for (int lines = 0; from > tail; from--)
        if (from[-1] == '\n' && ++lines == LINES) break;
    while (*from) {
        const int length = (int)strcspn(from, "\n");
        gemm_append(text, size, "    | %.*s%s", length, from, from[length] ? "\n" : "");
        from += length + (from[length] == '\n');
    }
}
