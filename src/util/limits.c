/* SPDX-License-Identifier: MIT */
/*
 * Limits of control groups and of the process: see limits.h.
 *
 *   /proc/self/cgroup       "4:cpu,cpuacct:/docker/1f"     version 1: a group in each hierarchy
 *                           "0::/user/app"                 version 2: one group
 *   /proc/self/mountinfo    where a hierarchy is mounted, and which of its groups is seen there
 *
 * A group is limited by all groups that it lies in, so the folders above it count too, up to the
 * mount. Those above the mount cannot be seen.
 *
 * Source: Linux, Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst; proc(5).
 */
#include "util/limits.h"

#include "util/text.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_LEN = 1024, LINE_LEN = 4096 };

/* One resource, and how a folder of version 1 or 2 tells its limit. UINT64_MAX: it has none. */
typedef struct resource {
    const char *controller;     /* of version 1 */
    uint64_t (*limit_1)(const char *folder);
    uint64_t (*limit_2)(const char *folder);
} resource;

/* ---- reading ---- */

/* The next line without its end. Of one that is too long the rest is left out. */
static bool read_line(FILE *f, char line[LINE_LEN])
{
    if (!fgets(line, LINE_LEN, f)) return false;
    const size_t length = strcspn(line, "\n");
    if (!line[length])
        for (int c; (c = getc(f)) != EOF && c != '\n';) continue;
    line[length] = '\0';
    return true;
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_LEN + 32] = "";
    return gemm_append(path, sizeof path, "%s/%s", folder, name) ? fopen(path, "re") : NULL;
}

/* The first line of a file. "": there is none. */
static void read_file(const char *folder, const char *name, char line[LINE_LEN])
{
    FILE *f = open_in(folder, name);
    if (!f || !read_line(f, line)) line[0] = '\0';
    if (f) fclose(f);
}

/* A whole number up to a blank or the end, and where it ends. UINT64_MAX for anything else, such as
   "max" and -1. */
static uint64_t read_number(const char *text, const char **end)
{
    uint64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; ++p) {
        const uint64_t digit = (uint64_t)(*p - '0');
        n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
    }
    *end = p;
    return p == text || (*p && *p != ' ') ? UINT64_MAX : n;
}

static uint64_t read_number_file(const char *folder, const char *name)
{
    char line[LINE_LEN];
    const char *end;
    read_file(folder, name, line);
    return read_number(line, &end);
}

/* ---- limits of one folder ---- */

/* In processors, rounded up. */
static uint64_t cores_of(uint64_t quota, uint64_t period)
{
    if (quota == UINT64_MAX || period == UINT64_MAX || !quota || !period) return UINT64_MAX;
    return (quota - 1) / period + 1;
}

static uint64_t cpu_limit_1(const char *folder)
{
    return cores_of(read_number_file(folder, "cpu.cfs_quota_us"),
                    read_number_file(folder, "cpu.cfs_period_us"));
}

/* "200000 100000", or "max 100000". */
static uint64_t cpu_limit_2(const char *folder)
{
    char line[LINE_LEN];
    const char *end;
    read_file(folder, "cpu.max", line);
    const uint64_t quota = read_number(line, &end);
    return *end == ' ' ? cores_of(quota, read_number(end + 1, &end)) : UINT64_MAX;
}

static uint64_t memory_limit_1(const char *folder)
{
    return read_number_file(folder, "memory.limit_in_bytes");
}

static uint64_t memory_limit_2(const char *folder)
{
    return read_number_file(folder, "memory.max");
}

/* ---- groups ---- */

/* Whether a list such as "cpu,cpuacct" has the word. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (;; ++list) {
        if (!strncmp(list, word, length) && (list[length] == ',' || !list[length])) return true;
        if (!(list = strchr(list, ','))) return false;
    }
}

/* The path of this process in the hierarchy of the controller; "": that of version 2. */
static bool find_path(const char *root, const char *controller, char path[LINE_LEN])
{
    bool found = false;
    FILE *f = open_in(root, "proc/self/cgroup");
    while (f && !found && read_line(f, path)) {
        char *list = strchr(path, ':'), *last = list ? strchr(list + 1, ':') : NULL;
        if (!last) continue;
        *last = '\0';
        found = *controller ? has_word(list + 1, controller) : !list[1];
        if (found) memmove(path, last + 1, strlen(last + 1) + 1);
    }
    if (f) fclose(f);
    return found;
}

/* One mount of a hierarchy. */
typedef struct mount {
    char *group;                /* what is seen there: a path as those of proc/self/cgroup */
    char *point;
    bool version_2;
    char *controllers;          /* among other words; of version 1 */
} mount;

/* mountinfo has a blank as \040. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *p = text; *p; ++to) {
        if (*p == '\\' && strspn(p + 1, "01234567") >= 3) {
            *to = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
            p += 4;
        } else {
            *to = *p++;
        }
    }
    *to = '\0';
}

/* "36 35 0:30 /group /point options ... - type source options" */
static bool parse_mount(char *line, mount *m)
{
    enum { GROUP = 3, POINT = 4, TYPE = 0, OPTIONS = 2, FIELDS = 5 };
    char *dash = strstr(line, " - "), *before[FIELDS], *behind[OPTIONS + 1], *rest;
    if (!dash) return false;
    *dash = '\0';
    for (int i = 0; i < FIELDS; ++i)
        if (!(before[i] = strtok_r(i ? NULL : line, " ", &rest))) return false;
    for (int i = 0; i <= OPTIONS; ++i)
        if (!(behind[i] = strtok_r(i ? NULL : dash + 3, " ", &rest))) return false;
    *m = (mount){before[GROUP], before[POINT], !strcmp(behind[TYPE], "cgroup2"), behind[OPTIONS]};
    unescape(m->group);
    unescape(m->point);
    return m->version_2 || !strcmp(behind[TYPE], "cgroup");
}

/* The path below the mount. "": the mount shows no more of the group than itself. */
static const char *path_below(const mount *m, const char *path)
{
    const size_t length = strcmp(m->group, "/") ? strlen(m->group) : 0;
    const bool below = !strncmp(path, m->group, length) && (path[length] == '/' || !path[length]);
    return below && !strstr(path, "/..") && strcmp(path, "/") ? path + length : "";
}

/* The least limit of the group and of those that it lies in. */
static uint64_t least_limit(const char *root, const mount *m, const char *path, const resource *r)
{
    char folder[PATH_LEN] = "";
    uint64_t least = UINT64_MAX;
    if (!gemm_append(folder, sizeof folder, "%s%s", root, m->point)) return least;
    const size_t top = strlen(folder);
    if (!gemm_append(folder, sizeof folder, "%s", path_below(m, path))) folder[top] = '\0';
    for (;;) {
        const uint64_t limit = m->version_2 ? r->limit_2(folder) : r->limit_1(folder);
        if (limit < least) least = limit;
        if (strlen(folder) <= top) return least;
        *strrchr(folder, '/') = '\0';
    }
}

/* By all hierarchies: a machine may have both versions. */
static uint64_t limit_of(const char *root, const resource *r)
{
    char path_1[LINE_LEN], path_2[LINE_LEN], line[LINE_LEN];
    const bool in_1 = find_path(root, r->controller, path_1), in_2 = find_path(root, "", path_2);
    uint64_t least = UINT64_MAX;
    FILE *f = in_1 || in_2 ? open_in(root, "proc/self/mountinfo") : NULL;
    while (f && read_line(f, line)) {
        mount m;
        if (!parse_mount(line, &m)) continue;
        const bool is_in = m.version_2 ? in_2 : in_1 && has_word(m.controllers, r->controller);
        const uint64_t limit = is_in ? least_limit(root, &m, m.version_2 ? path_2 : path_1, r)
                                     : UINT64_MAX;
        if (limit < least) least = limit;
    }
    if (f) fclose(f);
    return least;
}

int gemm_quota_cores(const char *root)
{
    static const resource cpu = {"cpu", cpu_limit_1, cpu_limit_2};
    const uint64_t cores = limit_of(root, &cpu);
    return cores <= INT_MAX ? (int)cores : 0;
}

size_t gemm_group_memory(const char *root)
{
    static const resource memory = {"memory", memory_limit_1, memory_limit_2};
    const uint64_t bytes = limit_of(root, &memory);
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

/* ---- the process ---- */

/* What it takes, in pages: addresses, memory, data and stack. 0: the system does not tell. */
typedef struct taken {
    uint64_t addresses, resident, data;
} taken;

static taken read_taken(const char *root)
{
    enum { NUMBERS = 6 };
    char line[LINE_LEN];
    uint64_t n[NUMBERS] = {0};
    read_file(root, "proc/self/statm", line);
    const char *p = line;
    for (int i = 0; i < NUMBERS && *p; p += *p == ' ', ++i) {
        n[i] = read_number(p, &p);
        if (n[i] == UINT64_MAX) return (taken){0};
    }
    return (taken){n[0], n[1], n[5]};
}

static size_t spare_of(uint64_t limit, uint64_t pages)
{
    const uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit / 2 > used ? (size_t)((limit - 2 * used) / 2) : 0;
}

static uint64_t limit_by(int resource)
{
    struct rlimit r;
    return getrlimit(resource, &r) || r.rlim_cur == RLIM_INFINITY ? UINT64_MAX : r.rlim_cur;
}

size_t gemm_spare_memory(const char *root, size_t group)
{
    const uint64_t addresses = limit_by(RLIMIT_AS), data = limit_by(RLIMIT_DATA);
    size_t least = SIZE_MAX;
    if (addresses == UINT64_MAX && data == UINT64_MAX && group == SIZE_MAX) return least;
    const taken now = read_taken(root);
    const struct {
        uint64_t limit, pages;
    } all[] = {{addresses, now.addresses}, {data, now.data}, {group, now.resident}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        const bool limited = all[i].limit < SIZE_MAX;
        const size_t spare = limited ? spare_of(all[i].limit, all[i].pages) : SIZE_MAX;
        if (spare < least) least = spare;
    }
    return least;
}
