/* SPDX-License-Identifier: MIT */
/* The start of a run: see started.h. */
#include "util/started.h"

#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND ((int64_t)1000000000)

/* The system counts starts in hundredths of a second, rounded down. A file's time may be that of
   the last timer interrupt. */
enum { COARSE_NS = 11 * 1000000 };

char *gemm_own_name(const char *path)
{
    gemm_text name = {0};
    for (const char *at = path, *mark; *at; at = mark + 2 * (*mark != '\0')) {
        mark = strstr(at, "%p");
        if (!mark) mark = at + strlen(at);
        gemm_text_add(&name, "%.*s", (int)(mark - at), at);
        if (*mark) gemm_text_add(&name, "%ld", (long)getpid());
    }
    if (name.at && gemm_text_whole(&name)) return name.at;
    gemm_text_free(&name);
    return *path ? NULL : strdup("");
}

/* ---- processes ---- */

static FILE *open_of(long process, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", process, name);
    return fopen(path, "re");
}

/* The process's parent, and its start in ticks since the system's. The name of its program, in
   parentheses, may have any characters. */
static bool read_process(long process, long *parent, unsigned long long *start)
{
    char text[1024];
    FILE *f = open_of(process, "stat");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    const char *behind = strrchr(text, ')');
    return behind && sscanf(behind + 1, " %*c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                            "%*s %*s %*s %*s %*s %llu", parent, start) == 2;
}

bool gemm_started_with(long process, const char *variable, const char *value)
{
    char *entry = NULL;
    size_t room = 0, length = strlen(variable);
    bool found = false;
    FILE *f = open_of(process, "environ");
    while (f && !found && getdelim(&entry, &room, '\0', f) >= 0)
        found = !strncmp(entry, variable, length) && entry[length] == '=' &&
                !strcmp(entry + length + 1, value);
    free(entry);
    if (f) fclose(f);
    return found;
}

/* ---- times ---- */

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

/* When the system was started. Read again where this thread was interrupted between the clocks. */
static int64_t system_began(void)
{
    int64_t before, real, behind;
    int tries = 100;
    do {
        before = now(CLOCK_BOOTTIME);
        real = now(CLOCK_REALTIME);
        behind = now(CLOCK_BOOTTIME);
    } while (behind - before > COARSE_NS / 20 && --tries);
    return real - before;
}

int64_t gemm_run_began(const char *variable, const char *value)
{
    unsigned long long start, older;
    long parent, next;
    if (!read_process(getpid(), &parent, &start) || !start) return INT64_MAX;
    for (; parent > 0 && gemm_started_with(parent, variable, value) &&
           read_process(parent, &next, &older); parent = next)
        start = older;
    const int64_t tick = SECOND / sysconf(_SC_CLK_TCK);
    const int64_t began = system_began() + ((int64_t)start + 1) * tick;
    const int64_t left = began + COARSE_NS - now(CLOCK_REALTIME);
    if (left > 0 && left < SECOND) nanosleep(&(struct timespec){.tv_nsec = (long)left}, NULL);
    return began;
}

bool gemm_is_later(const struct stat *st, int64_t began)
{
    return st->st_mtim.tv_sec * SECOND + st->st_mtim.tv_nsec > began;
}
