/* SPDX-License-Identifier: MIT */
/*
 * OpenCL programs: from the cache on disk, or else from the text of kernels/.
 *
 * A program from the text is tried on a small problem before its first use (cl/trial/trial.h).
 * Only one that is right gets into the cache. What is known of the others is in a note
 * (cl/device/cache.h).
 */
#include "cl/device/program.h"

#include "cl/device/cache.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gemm_cl_program *programs;
static gemm_cl_trial *trial;

void gemm_cl_set_trial(gemm_cl_trial *t)
{
    trial = t;
}

static const char *source_of(const char *name)
{
    for (size_t i = 0; i < gemm_cl_source_count; ++i)
        if (!strcmp(gemm_cl_sources[i].name, name)) return gemm_cl_sources[i].text;
    return NULL;
}

/* The compiler's log and the options, on stderr. */
static void say_log(const gemm_cl_program *p)
{
    cl_device_id id = gemm_cl_opened()->id;
    size_t bytes = 0;
    char *log = NULL;
    CL_TRY(clGetProgramBuildInfo(p->program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes));
    if ((log = calloc(1, bytes + 1)))
        CL_TRY(clGetProgramBuildInfo(p->program, id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL));
fail:
    fprintf(stderr, "gemm_cl: kernels/%s.cl does not compile with %s:\n%s\n", p->name, p->options,
            log && *log ? log : "(no log)");
    free(log);
}

/* The reason, with the program and the device in front; `reason` alone goes into a note. */
static void leave_out(gemm_cl_program *p, const char *reason)
{
    snprintf(p->reason, sizeof p->reason, "%s", reason);
    if (asprintf(&p->why, "kernels/%s.cl is left out on %s: %s", p->name, gemm_cl_opened()->name,
                 reason) < 0)
        p->why = NULL;
}

/* ---- time ---- */

/* Milliseconds of work between two moments: of two clocks the one that ran less. Other programs
   count in the first one, and threads of a driver that only wait count in the second. */
typedef struct moment {
    double wall, cpu;
} moment;

static moment now(void) { return (moment){gemm_now_ms(), gemm_cpu_ms()}; }

static double worked_since(moment begin)
{
    const moment end = now();
    const double wall = end.wall - begin.wall, cpu = end.cpu - begin.cpu;
    return wall < cpu ? wall : cpu;
}

static double made_ms;          /* what all programs took that were made so far */

/* ---- progress ---- */

/* What the builds of this process have taken so far, from their texts. */
static struct {
    double ms, begin;
    int done;
    bool shown;                 /* the line is on the terminal */
} builds;

/* For the log of a run that nobody watches: once. */
static void say_compiling(void)
{
    static bool said;
    if (said || !gemm_cl_settings()->traced) return;
    said = true;
    const gemm_cl_device *d = gemm_cl_opened();
    const bool kept = gemm_cl_cache_keeps();
    fprintf(stderr, "gemm_cl: compiling OpenCL programs for %s%s%s%s\n", d->name,
            kept ? "; they are kept in " : "", kept ? gemm_cl_settings()->cache_dir : "",
            kept && d->traits.cpu ? ", from the second start at the latest" : "");
}

/* Before the compiler is called. Once the builds have taken long enough to be noticed, a line says
   so. On a terminal it lasts until the compiler returns, so other lines begin on an empty one. */
static void begin_compiling(void)
{
    enum { LONG_MS = 1000 };
    builds.begin = gemm_now_ms();
    if (builds.ms < LONG_MS) return;
    builds.shown = isatty(STDERR_FILENO);
    if (builds.shown)
        fprintf(stderr, "\r\033[Kgemm_cl: compiling OpenCL programs: %d done in %.0f s",
                builds.done, builds.ms / 1000);
    else
        say_compiling();
}

static void end_compiling(void)
{
    builds.ms += gemm_now_ms() - builds.begin;
    if (builds.shown) fputs("\r\033[K", stderr);
    builds.shown = false;
}

/* ---- one program ---- */

/* Whether the cache says that the program is right. Takes the binary, where it has one. *bare: it
   has none. */
static bool load(gemm_cl_program *p, const gemm_cl_key *key, bool *bare)
{
    const gemm_cl_device *d = gemm_cl_opened();
    size_t bytes;
    unsigned char *binary = gemm_cl_cache_read(key, &bytes);
    *bare = binary && !bytes;
    if (*bare || !binary) {
        free(binary);
        return binary != NULL;
    }
    cl_int error, status;
    const unsigned char *binaries = binary;
    p->program = clCreateProgramWithBinary(d->context, 1, &d->id, &bytes, &binaries, &status,
                                           &error);
    free(binary);
    if (error == CL_SUCCESS) error = clBuildProgram(p->program, 1, &d->id, p->options, NULL, NULL);
    if (error == CL_SUCCESS) return true;
    fprintf(stderr, "gemm_cl: the OpenCL driver refuses its own binary of %s: %s; compiling "
                    "again\n", p->name, gemm_cl_error_name(error));
    CL_RELEASE(clReleaseProgram, p->program);
    return true;
}

/* Writes the program's file, with its binary where the driver gives one. bare: it has a file
   without one. The driver is not asked for what cannot be kept. */
static void keep_binary(const gemm_cl_program *p, const gemm_cl_key *key, bool bare)
{
    size_t bytes = 0;
    unsigned char *binary = NULL;
    if (!gemm_cl_cache_keeps()) return;
    CL_TRY(clGetProgramInfo(p->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    binary = malloc(bytes + 1);
    if (!binary) goto fail;
    begin_compiling();          /* PoCL compiles once more for a binary */
    const cl_int error = bytes ? clGetProgramInfo(p->program, CL_PROGRAM_BINARIES, sizeof binary,
                                                  &binary, NULL) : CL_SUCCESS;
    end_compiling();
    CL_TRY(error);
    if (bytes || !bare) gemm_cl_cache_write(key, binary, bytes);
fail:
    free(binary);
}

/*
 * Keeps a program that was tried in launch_ms and is right. PoCL compiles a kernel when it is
 * launched, for this group alone, and once more for a binary. Who starts only once would wait for
 * the binary in vain. So where a CPU's driver compiled within the trial, the first start leaves a
 * bare file, and the second one keeps the binary.
 */
static void keep(const gemm_cl_program *p, const gemm_cl_key *key, double launch_ms)
{
    enum { PART = 8 };          /* of the build's time: to launch what is compiled takes far less */
    if (gemm_cl_opened()->traits.cpu && launch_ms * PART > p->build_ms)
        gemm_cl_cache_write(key, (const unsigned char *)"", 0);
    else
        keep_binary(p, key, false);
}

/* The second start keeps the binary of a program that has a file without one. A driver that dies at
   it ends one start: the note that is left tells the next ones not to ask. */
static void complete(const gemm_cl_program *p, const gemm_cl_key *key)
{
    gemm_cl_note note;
    char *ended = gemm_cl_begin_note(key, &note);
    if (!ended) keep_binary(p, key, true);
    else fprintf(stderr, "gemm_cl: no binary of %s is kept: an earlier process ended while it was "
                         "made (remove %s to try it again)\n", p->name, note.path);
    free(ended);
    gemm_cl_end_note(&note, key, NULL);
}

/*
 * 0, or -1 with p->why. A failure says nothing of the program where the driver is short of memory.
 * After one failed build some drivers fail all others of the process, so only the first one lasts:
 * the next process need not try it.
 */
static int compile(gemm_cl_program *p, const gemm_cl_key *key, bool *lasts)
{
    static bool failed_before;
    const gemm_cl_device *d = gemm_cl_opened();
    const char *text = key->source;
    CL_MAKE(p->program, clCreateProgramWithSource(d->context, 1, &text, NULL, &error));
    begin_compiling();
    const moment begin = now();
    const cl_int error = clBuildProgram(p->program, 1, &d->id, p->options, NULL, NULL);
    p->build_ms = worked_since(begin);
    end_compiling();
    if (error == CL_SUCCESS) {
        ++builds.done;
        return 0;
    }
    gemm_cl_say_failed(__FILE__, __LINE__, "clBuildProgram", error);
    say_log(p);
    p->faulty = error == CL_BUILD_PROGRAM_FAILURE || error == CL_INVALID_BUILD_OPTIONS;
    *lasts = p->faulty && !failed_before;
    failed_before = true;
fail:
    leave_out(p, "it cannot be built");
    return -1;
}

static int ask_kernel(gemm_cl_program *p)
{
    cl_device_id id = gemm_cl_opened()->id;
    CL_MAKE(p->kernel, clCreateKernel(p->program, p->name, &error));
    CL_TRY(clGetKernelInfo(p->kernel, CL_KERNEL_NUM_ARGS, sizeof p->args, &p->args, NULL));
    CL_TRY(clGetKernelWorkGroupInfo(p->kernel, id, CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof p->group_items, &p->group_items, NULL));
    CL_TRY(clGetKernelWorkGroupInfo(p->kernel, id, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof p->spilled,
                                    &p->spilled, NULL));
    CL_TRY(clGetKernelWorkGroupInfo(p->kernel, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof p->local,
                                    &p->local, NULL));
    return 0;
fail:
    leave_out(p, "its kernel cannot be had");
    return -1;
}

/* Tries the program, and keeps the verdict. A trial that cannot be made, because memory is short,
   is made again at the next use; but not for ever. */
static void judge(gemm_cl_program *p, const gemm_cl_key *key, bool *lasts)
{
    enum { MOST_TRIALS = 3 };
    char reason[160];
    if (gemm_cl_settings()->untried) {
        p->right = true;
        return;
    }
    const moment begin = now();
    const double others = made_ms;      /* that the trial needs, and makes */
    p->on_trial = true;
    const gemm_cl_verdict verdict = trial(p, reason, sizeof reason);
    p->on_trial = false;
    switch (verdict) {
    case GEMM_CL_RIGHT:
        p->right = true;
        keep(p, key, worked_since(begin) - (made_ms - others));
        return;
    case GEMM_CL_WRONG:
        *lasts = p->faulty = true;
        leave_out(p, reason);
        return;
    case GEMM_CL_UNFINISHED:
        if (++p->unfinished == MOST_TRIALS) leave_out(p, "it cannot be run");
    }
}

/* Makes a program ready, or leaves it out, or neither. */
static void make(gemm_cl_program *p)
{
    const gemm_cl_device *d = gemm_cl_opened();
    const gemm_cl_key key = {p->name, source_of(p->name), p->options, d->name, d->driver};
    gemm_cl_note note = {.fd = -1};
    bool lasts = false, bare = false;
    if (!key.source) {
        leave_out(p, "there is no such kernel");
        return;
    }
    if (!p->program) p->right = load(p, &key, &bare);
    const bool noted = !p->right && !gemm_cl_settings()->untried;
    if (noted && (p->why = gemm_cl_begin_note(&key, &note))) {
        p->faulty = true;
        return;
    }
    if ((p->program || compile(p, &key, &lasts) == 0) && (p->kernel || ask_kernel(p) == 0)) {
        if (!p->right) judge(p, &key, &lasts);
        else if (bare && d->traits.cpu) complete(p, &key);
    }
    gemm_cl_end_note(&note, &key, lasts ? p->reason : NULL);
}

static gemm_cl_program *find(const char *name, const char *options)
{
    gemm_cl_program *p = programs;
    while (p && (strcmp(p->name, name) || (!p->on_trial && strcmp(p->options, options))))
        p = p->next;
    return p;
}

static gemm_cl_program *add(const char *name, const char *options)
{
    gemm_cl_program *p = calloc(1, sizeof *p);
    char *copy = strdup(options);
    if (!p || !copy) {
        free(p);
        free(copy);
        return NULL;
    }
    *p = (gemm_cl_program){.next = programs, .name = name, .options = copy};
    programs = p;
    return p;
}

const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why)
{
    gemm_cl_program *p = options ? find(name, options) : NULL;
    if (!p && options) p = add(name, options);
    if (p && p->on_trial) return p;
    if (p && !p->why && !(p->right && p->kernel)) {
        const moment begin = now();
        const double before = made_ms;
        make(p);
        made_ms = before + worked_since(begin);     /* those inside of its trial too */
    }
    if (p && !p->why && p->right && p->kernel) return p;
    *why = p && p->why ? p->why : p ? "the OpenCL kernel could not be tried" : "out of memory";
    return NULL;
}

const char *gemm_cl_why_left_out(const char *name, const char *options)
{
    const char *why = NULL;
    return gemm_cl_build(name, options, &why) ? NULL : why;
}

const gemm_cl_program *gemm_cl_need(const char *name, const char *options)
{
    const char *why;
    const gemm_cl_program *p = gemm_cl_build(name, options, &why);
    if (!p) gemm_cl_say_left_out(why);
    return p;
}

/* The program that is left out for this reason, or NULL. */
static gemm_cl_program *left_out(const char *why)
{
    gemm_cl_program *p = programs;
    while (p && p->why != why) p = p->next;
    return p;
}

bool gemm_cl_is_faulty(const char *why)
{
    const gemm_cl_program *p = left_out(why);
    return p && p->faulty;
}

void gemm_cl_say_left_out(const char *why)
{
    gemm_cl_program *p = left_out(why);
    if (p && p->said) return;
    gemm_cl_say(why);
    if (p) p->said = true;
}

void gemm_cl_release_programs(void)
{
    while (programs) {
        gemm_cl_program *p = programs;
        programs = p->next;
        CL_RELEASE(clReleaseKernel, p->kernel);
        CL_RELEASE(clReleaseProgram, p->program);
        free(p->options);
        free(p->why);
        free(p);
    }
}
