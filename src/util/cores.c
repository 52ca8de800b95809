/* SPDX-License-Identifier: MIT */
/* The processors of the process: see cores.h. */
#include "util/cores.h"

#include <unistd.h>

#ifdef __linux__

#include "util/forked.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static cpu_set_t allowed;
static cpu_set_t places;        /* libgomp's */
static bool places_known;       /* a child keeps them: the loader's lock may be taken there */

/* ---- libgomp ---- */

/* A wheel has it under a name such as libgomp-1a2b.so.1. The first one that was loaded knows the
   processors from before it bound the main thread. */
static int find_libgomp(struct dl_phdr_info *info, size_t size, void *path)
{
    const char *name = info->dlpi_name ? info->dlpi_name : "", *slash = strrchr(name, '/');
    (void)size;
    if (strncmp(slash ? slash + 1 : name, "libgomp", 7) || strlen(name) >= PATH_BYTES) return 0;
    strcpy(path, name);
    return 1;
}

typedef union omp_call {
    void *data;
    int (*count)(void);
    int (*count_in)(int place);
    void (*list)(int place, int *ids);
} omp_call;

/* OpenMP's calls on places start no thread. */
static void read_places(void *libgomp)
{
    const omp_call count = {dlsym(libgomp, "omp_get_num_places")};
    const omp_call size = {dlsym(libgomp, "omp_get_place_num_procs")};
    const omp_call list = {dlsym(libgomp, "omp_get_place_proc_ids")};
    int ids[CPU_SETSIZE];
    const int n = count.data && size.data && list.data ? count.count() : 0;
    for (int place = 0; place < n; ++place) {
        const int ids_count = size.count_in(place);
        if (ids_count > CPU_SETSIZE) continue;
        list.list(place, ids);
        for (int i = 0; i < ids_count; ++i)
            if (ids[i] >= 0 && ids[i] < CPU_SETSIZE) CPU_SET(ids[i], &places);
    }
}

static void find_places(void)
{
    char path[PATH_BYTES];
    void *libgomp = dl_iterate_phdr(find_libgomp, path)
                        ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (libgomp) {
        read_places(libgomp);
        dlclose(libgomp);
    }
    places_known = true;
}

/* ---- the system ---- */

static void add_threads(cpu_set_t *all)
{
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e; tasks && (e = readdir(tasks));) {
        cpu_set_t one;
        const pid_t thread = (pid_t)atoi(e->d_name);
        if (thread > 0 && !sched_getaffinity(thread, sizeof one, &one)) CPU_OR(all, all, &one);
    }
    if (tasks) closedir(tasks);
}

/* Leaves what the control group has: the kernel allows no thread more. */
static void *cut_to_group(void *cores)
{
    sched_setaffinity(0, sizeof(cpu_set_t), cores);
    sched_getaffinity(0, sizeof(cpu_set_t), cores);
    return NULL;
}

/* A thread of ours asks, so that the host's keep their processors. */
static bool ask_kernel(cpu_set_t *cores)
{
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool begun = !pthread_create(&thread, NULL, cut_to_group, cores);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return begun && !pthread_join(thread, NULL);
}

static void find(void)
{
    cpu_set_t cores, more;
    if (!places_known) find_places();
    if (sched_getaffinity(0, sizeof cores, &cores)) CPU_ZERO(&cores);
    add_threads(&cores);
    CPU_OR(&more, &cores, &places);
    allowed = !CPU_EQUAL(&more, &cores) && ask_kernel(&more) ? more : cores;
}

/* A child may be bound anew. */
GEMM_ONCE_A_PROCESS(find)

const cpu_set_t *gemm_allowed_set(void)
{
    once_find();
    return &allowed;
}

#endif

int gemm_allowed_cores(void)
{
#ifdef __linux__
    const int found = CPU_COUNT(gemm_allowed_set());
    if (found) return found;
#endif
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
