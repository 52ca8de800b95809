/* SPDX-License-Identifier: MIT */
/*
 * util/limits on made-up control groups: version 1 and 2, nested, seen from inside a container and
 * from outside, and files with odd content. And what is spare under limits of the process.
 */
#include "support/child.h"
#include "support/report.h"
#include "util/limits.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 6, NO_QUOTA = 0 };
static const size_t NO_LIMIT = SIZE_MAX;

typedef struct file {
    const char *path, *text;
} file;

typedef struct machine {
    const char *name;
    const char *cgroup, *mountinfo;     /* of proc/self */
    file files[FILES];
    int cores;
    size_t memory;
} machine;

#define V2(group) "30 23 0:26 " group " /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
#define V1(group, names) \
    "31 23 0:27 " group " /sys/fs/cgroup/" names " rw,relatime - cgroup cgroup rw," names "\n"
#define OTHER "22 28 0:20 / /proc rw,nosuid shared:5 - proc proc rw\n"

static const machine machines[] = {
    {"no files", NULL, NULL, {{0}}, NO_QUOTA, SIZE_MAX},
    {"no group", "", OTHER, {{0}}, NO_QUOTA, SIZE_MAX},
    {"2: two processors", "0::/\n", OTHER V2("/"),
     {{"sys/fs/cgroup/cpu.max", "200000 100000\n"},
      {"sys/fs/cgroup/memory.max", "268435456\n"}}, 2, 268435456},
    {"2: no limit", "0::/app\n", V2("/"),
     {{"sys/fs/cgroup/app/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/app/memory.max", "max\n"}}, NO_QUOTA, SIZE_MAX},
    {"2: rounded up", "0::/app\n", V2("/"),
     {{"sys/fs/cgroup/app/cpu.max", "150001 100000\n"}}, 2, SIZE_MAX},
    {"2: less than one", "0::/app\n", V2("/"),
     {{"sys/fs/cgroup/app/cpu.max", "1000 100000"}}, 1, SIZE_MAX},
    {"2: an outer group is smaller", "0::/user/app/worker\n", V2("/"),
     {{"sys/fs/cgroup/user/cpu.max", "300000 100000\n"},
      {"sys/fs/cgroup/user/app/cpu.max", "800000 100000\n"},
      {"sys/fs/cgroup/user/app/memory.max", "1000000\n"},
      {"sys/fs/cgroup/user/app/worker/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/user/app/worker/memory.max", "2000000\n"}}, 3, 1000000},
    {"2: a folder is missing", "0::/user/gone\n", V2("/"),
     {{"sys/fs/cgroup/user/cpu.max", "300000 100000\n"}}, 3, SIZE_MAX},
    {"2: the container's mount", "0::/docker/1f/worker\n", V2("/docker/1f"),
     {{"sys/fs/cgroup/cpu.max", "400000 100000\n"},
      {"sys/fs/cgroup/worker/cpu.max", "300000 100000\n"}}, 3, SIZE_MAX},
    {"2: a mount of another group", "0::/docker/1fa\n", V2("/docker/1f"),
     {{"sys/fs/cgroup/cpu.max", "400000 100000\n"},
      {"sys/fs/cgroupa/cpu.max", "100000 100000\n"}}, 4, SIZE_MAX},
    {"2: outside of the namespace", "0::/../../app\n", V2("/"),
     {{"sys/fs/cgroup/cpu.max", "400000 100000\n"}}, 4, SIZE_MAX},
    {"2: a blank in the path", "0::/my app\n",
     "30 23 0:26 / /a\\040b rw - cgroup2 cgroup2 rw\n",
     {{"a b/my app/cpu.max", "400000 100000\n"}}, 4, SIZE_MAX},
    {"1: two processors", "4:memory:/docker/1f\n3:cpu,cpuacct:/docker/1f\n1:name=systemd:/x\n",
     V1("/docker/1f", "cpu,cpuacct") V1("/docker/1f", "memory"),
     {{"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n"}}, 2, 134217728},
    {"1: no quota", "3:cpu:/\n", V1("/", "cpu"),
     {{"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}, NO_QUOTA, SIZE_MAX},
    {"1: cpuset is another controller", "3:cpuset:/a\n", V1("/", "cpuset"),
     {{"sys/fs/cgroup/cpuset/a/cpu.cfs_quota_us", "100000\n"},
      {"sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n"}}, NO_QUOTA, SIZE_MAX},
    {"1: an outer group is smaller", "3:cpuacct,cpu:/a/b\n", V1("/", "cpuacct,cpu"),
     {{"sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_quota_us", "250000\n"},
      {"sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_period_us", "50000\n"},
      {"sys/fs/cgroup/cpuacct,cpu/a/b/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpuacct,cpu/a/b/cpu.cfs_period_us", "100000\n"}}, 5, SIZE_MAX},
    {"1 and 2", "3:cpu:/a\n0::/b\n", V1("/", "cpu") V2("/"),
     {{"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/b/memory.max", "4096\n"}}, 3, 4096},
    {"odd: empty files", "0::/\n", V2("/"),
     {{"sys/fs/cgroup/cpu.max", ""}, {"sys/fs/cgroup/memory.max", ""}}, NO_QUOTA, SIZE_MAX},
    {"odd: no period", "0::/\n", V2("/"),
     {{"sys/fs/cgroup/cpu.max", "200000\n"}}, NO_QUOTA, SIZE_MAX},
    {"odd: a period of 0", "0::/\n", V2("/"),
     {{"sys/fs/cgroup/cpu.max", "200000 0\n"}}, NO_QUOTA, SIZE_MAX},
    {"odd: words", "0::/\n", V2("/"),
     {{"sys/fs/cgroup/cpu.max", "two three\n"}, {"sys/fs/cgroup/memory.max", "-5\n"}}, NO_QUOTA,
     SIZE_MAX},
    {"odd: a number over 64 bits", "0::/\n", V2("/"),
     {{"sys/fs/cgroup/cpu.max", "99999999999999999999999 1\n"},
      {"sys/fs/cgroup/memory.max", "99999999999999999999999\n"}}, NO_QUOTA, SIZE_MAX},
    {"odd: more processors than an int", "0::/\n", V2("/"),
     {{"sys/fs/cgroup/cpu.max", "9999999999999 1\n"}}, NO_QUOTA, SIZE_MAX},
    {"odd: lines that are cut", "0::\n0\n::\nx\n", "30\n30 23 0:26 /\n - cgroup2 cgroup2\n" V2("/"),
     {{"sys/fs/cgroup/cpu.max", "400000 100000\n"}}, 4, SIZE_MAX},
};

/* ---- the made-up machines ---- */

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static void write_file(const char *root, const char *name, const char *text)
{
    char path[300], part[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); ++p) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        mkdir(part, 0700);
    }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) fail(path);
}

static void remove_folder(const char *root)
{
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command)) fail(command);
}

static void test_machine(const machine *m)
{
    char root[] = "/tmp/test_limits.XXXXXX";
    if (!mkdtemp(root)) fail(root);
    if (m->cgroup) write_file(root, "proc/self/cgroup", m->cgroup);
    if (m->mountinfo) write_file(root, "proc/self/mountinfo", m->mountinfo);
    for (int i = 0; i < FILES && m->files[i].path; ++i)
        write_file(root, m->files[i].path, m->files[i].text);
    const int cores = gemm_quota_cores(root);
    const size_t memory = gemm_group_memory(root);
    report_that(m->name, cores == m->cores && memory == m->memory, "%d processors and %zu bytes",
                cores, memory);
    remove_folder(root);
}

/* A line that is longer than the buffer stands before the right one. From the buffer's end on it
   looks like a mount with a smaller quota. */
static void test_long_line(void)
{
    enum { BUFFER = 4095 };
    static char text[BUFFER + 400];
    char root[] = "/tmp/test_limits.XXXXXX";
    if (!mkdtemp(root)) fail(root);
    memset(text, 'x', BUFFER);
    strcpy(text + BUFFER, "30 23 0:26 / /false rw - cgroup2 cgroup2 rw\n" V2("/"));
    write_file(root, "proc/self/cgroup", "0::/\n");
    write_file(root, "proc/self/mountinfo", text);
    write_file(root, "false/cpu.max", "100000 100000\n");
    write_file(root, "sys/fs/cgroup/cpu.max", "700000 100000\n");
    const int cores = gemm_quota_cores(root);
    report_that("odd: a long line", cores == 7, "%d processors", cores);
    remove_folder(root);
}

/* ---- what is spare ---- */

/* With statm made up: 1000 pages of addresses, 100 in memory, 500 of data. */
typedef struct spare_case {
    const char *name;
    size_t addresses, data, group, spare;       /* in pages; 0: not limited */
} spare_case;

static int judge_spare(void *data)
{
    const spare_case *c = data;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char root[] = "/tmp/test_limits.XXXXXX";
    if (!mkdtemp(root)) fail(root);
    write_file(root, "proc/self/statm", "1000 100 50 10 0 500 0\n");
    const struct rlimit as = {c->addresses * page, RLIM_INFINITY};
    const struct rlimit of_data = {c->data * page, RLIM_INFINITY};
    if (c->addresses && setrlimit(RLIMIT_AS, &as)) fail("RLIMIT_AS");
    if (c->data && setrlimit(RLIMIT_DATA, &of_data)) fail("RLIMIT_DATA");
    const size_t spare = gemm_spare_memory(root, c->group ? c->group * page : NO_LIMIT);
    const size_t wanted = c->addresses || c->data || c->group ? c->spare * page : NO_LIMIT;
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &none), setrlimit(RLIMIT_DATA, &none);
    remove_folder(root);
    if (spare != wanted) printf("%zu bytes instead of %zu", spare, wanted);
    return spare != wanted;
}

/* qemu-user takes a limit of the memory of its guest, and forgets it. */
static int forgets_limits(void *data)
{
    (void)data;
    const struct rlimit most = {RLIM_INFINITY / 4, RLIM_INFINITY};
    struct rlimit now;
    if (setrlimit(RLIMIT_AS, &most) || getrlimit(RLIMIT_AS, &now)) fail("RLIMIT_AS");
    return now.rlim_cur != most.rlim_cur;
}

/* The limits are far above what this process takes, so the made-up numbers count. */
static void test_spare(void)
{
    static const size_t much = (size_t)1 << (sizeof(size_t) > 4 ? 34 : 19);
    const child_result asked = child_run(forgets_limits, NULL);
    const bool forgotten = child_exit(&asked);
    const spare_case cases[] = {
        {"spare: no limit", 0, 0, 0, 0},
        {"spare: addresses", much, 0, 0, much / 2 - 1000},
        {"spare: data", 0, much, 0, much / 2 - 500},
        {"spare: a group", 0, 0, much, much / 2 - 100},
        {"spare: a group that is nearly full", 0, 0, 250, 25},
        {"spare: a group that is more than half full", 0, 0, 150, 0},
        {"spare: a group that is over its limit", 0, 0, 90, 0},
        {"spare: the least", much, much, 300, 50},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        if (forgotten && (cases[i].addresses || cases[i].data)) {
            report_skip_machine(cases[i].name, "a limit of memory is forgotten here");
            continue;
        }
        const child_result r = child_run(judge_spare, (void *)&cases[i]);
        report_judged(cases[i].name, child_exit(&r) ? r.output : NULL);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i) test_machine(&machines[i]);
    test_long_line();
    test_spare();
    return report_status();
}
