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
#include "util/own.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gemm_cl_program *programs;
static gemm_cl_trial *trial;
static bool foreseeing;         /* gemm_cl_foresee */
static bool builds_wanted;
static GEMM_OWN bool postpones;
static GEMM_OWN gemm_cl_lack lack;      /* that was found since gemm_cl_postpone */
static const char not_yet[] = "its OpenCL program is not built yet";

void gemm_cl_set_trial(gemm_cl_trial *t)
{
    trial = t;
}

/* Kernels that are built together, where their options are the same. A compiler takes a tenth of a
   second for a program before it sees its text. */
static const struct {
    const char *kernel, *unit;
} units[] = {
    {"cl_copy", "cl_layers"},
    {"cl_copy_two", "cl_layers"},
    {"cl_maxpool", "cl_layers"},
    {"cl_shortcut", "cl_layers"},
    {"cl_upsample", "cl_layers"},
    {"cl_yolo", "cl_layers"},
    {"cl_winograd", "cl_winograd_all"},
    {"cl_winograd_filter", "cl_winograd_all"},
    {"cl_winograd_input", "cl_winograd_all"},
    {"cl_winograd_output", "cl_winograd_all"},
};

static const char *source_of(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; ++i)
        if (!strcmp(units[i].kernel, name)) name = units[i].unit;
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

/* ---- kernels of one text ---- */

/* Whether both are built at once. */
static bool are_one(const gemm_cl_program *p, const gemm_cl_program *q)
{
    return source_of(p->name) == source_of(q->name) && !strcmp(p->options, q->options);
}

/* Another kernel of the same text and options that was built, or could not be. NULL: none. */
static const gemm_cl_program *find_built(const gemm_cl_program *p)
{
    const gemm_cl_program *q = programs;
    while (q && (q == p || !(q->built || q->unbuilt) || !are_one(p, q))) q = q->next;
    return q;
}

/* Whether the text is foreseen, and p is its first kernel in the list. */
static bool is_left(const gemm_cl_program *p)
{
    const gemm_cl_program *q = programs;
    if (!p->foreseen || find_built(p)) return false;
    while (!q->foreseen || !are_one(p, q)) q = q->next;
    return p == q;
}

static int count_left(void)
{
    int count = 0;
    for (const gemm_cl_program *p = programs; p; p = p->next) count += is_left(p);
    return count;
}

/* ---- progress ---- */

/* The programs that no earlier process left in the cache. */
static struct {
    double ms;                  /* with their trials */
    int done;
    bool foreseen, said;        /* some of them; that it takes long */
} anew;

/* Once they have taken so long that somebody wonders, a line says so. How many will follow is known
   where a network was foreseen, which comes behind the first program. */
static void say_compiling(void)
{
    enum { LONG_MS = 1000 };
    char of[16] = "", left[24] = "";
    const int more = count_left();
    if (anew.said || anew.ms < LONG_MS || (anew.done < 2 && !anew.foreseen)) return;
    anew.said = true;
    const bool kept = gemm_cl_cache_keeps();
    if (anew.foreseen) snprintf(of, sizeof of, " of %d", anew.done + more);
    if (anew.foreseen) snprintf(left, sizeof left, ", %d left", more);
    fprintf(stderr, "gemm_cl: compiling OpenCL programs for %s, once: %d%s done in %.1f s%s%s%s\n",
            gemm_cl_opened()->name, anew.done, of, anew.ms / 1000, left,
            kept ? "; they are kept in " : "", kept ? gemm_cl_settings()->cache_dir : "");
}

/* ---- one program ---- */

/* Takes what was built for such a kernel. Whether it was. */
static bool share(gemm_cl_program *p)
{
    const gemm_cl_program *q = find_built(p);
    if (!q || q->unbuilt) return false;
    p->program = q->program;
    p->build_ms = q->build_ms;
    p->shared = p->built = true;
    return true;
}

/* Whether the cache says that the program is right. Takes the binary, where it has one. */
static bool load(gemm_cl_program *p, const gemm_cl_key *key)
{
    const gemm_cl_device *d = gemm_cl_opened();
    size_t bytes;
    unsigned char *binary = gemm_cl_cache_read(key, &bytes);
    if (!binary || !bytes || share(p)) {
        free(binary);
        return binary != NULL;
    }
    cl_int error, status;
    const unsigned char *binaries = binary;
    p->program = clCreateProgramWithBinary(d->context, 1, &d->id, &bytes, &binaries, &status,
                                           &error);
    free(binary);
    if (error == CL_SUCCESS) error = clBuildProgram(p->program, 1, &d->id, p->options, NULL, NULL);
    p->built = error == CL_SUCCESS;
    if (p->built) return true;
    fprintf(stderr, "gemm_cl: the OpenCL driver refuses its own binary of %s: %s; compiling "
                    "again\n", p->name, gemm_cl_error_name(error));
    CL_RELEASE(clReleaseProgram, p->program);
    return true;
}

/* Writes the program's file, with its binary where the driver gives one. The driver is not asked
   for what cannot be kept. */
static void keep_binary(const gemm_cl_program *p, const gemm_cl_key *key)
{
    size_t bytes = 0;
    unsigned char *binary = NULL;
    if (!gemm_cl_cache_keeps()) return;
    CL_TRY(clGetProgramInfo(p->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    binary = malloc(bytes + 1);
    if (!binary) goto fail;
    if (bytes)
        CL_TRY(clGetProgramInfo(p->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    gemm_cl_cache_write(key, binary, bytes);
fail:
    free(binary);
}

/* Whether a CPU's driver compiled within the trial of this kernel, or of another one that was built
   with it. */
static bool compiles_late(gemm_cl_program *p, double launch_ms)
{
    enum { PART = 8 };          /* of the build's time: to launch what is compiled takes far less */
    const gemm_cl_program *q = programs;
    p->late = gemm_cl_opened()->traits.cpu && launch_ms * PART > p->build_ms;
    while (q && !(q->late && q->program == p->program)) q = q->next;
    return q;
}

/*
 * Keeps a program that was tried in launch_ms and is right. PoCL compiles a kernel when it is
 * launched, for this group alone, and keeps that itself. For a binary it would compile all kernels
 * of the program once more. So the file of such a driver has none.
 */
static void keep(gemm_cl_program *p, const gemm_cl_key *key, double launch_ms)
{
    if (compiles_late(p, launch_ms)) gemm_cl_cache_write(key, (const unsigned char *)"", 0);
    else keep_binary(p, key);
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
    const gemm_cl_program *failed = find_built(p);
    const char *text = key->source;
    if (failed) {
        p->faulty = true;
        *lasts = failed->lasts;
        leave_out(p, failed->reason);
        return -1;
    }
    if (gemm_cl_settings()->foreseen) gemm_cl_begin_builders();
    CL_MAKE(p->program, clCreateProgramWithSource(d->context, 1, &text, NULL, &error));
    const moment begin = now();
    const cl_int error = clBuildProgram(p->program, 1, &d->id, p->options, NULL, NULL);
    p->build_ms = worked_since(begin);
    p->built = error == CL_SUCCESS;
    if (p->built) return 0;
    gemm_cl_say_failed(__FILE__, __LINE__, "clBuildProgram", error);
    say_log(p);
    p->faulty = error == CL_BUILD_PROGRAM_FAILURE || error == CL_INVALID_BUILD_OPTIONS;
    *lasts = p->lasts = p->faulty && !failed_before;
    p->unbuilt = p->faulty;
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

static gemm_cl_key key_of(const gemm_cl_program *p)
{
    const gemm_cl_device *d = gemm_cl_opened();
    return (gemm_cl_key){p->name, source_of(p->name), p->options, d->name, d->driver};
}

/* Makes a program ready, or leaves it out, or neither. Whether it was in no cache. */
static bool make(gemm_cl_program *p)
{
    const gemm_cl_key key = key_of(p);
    gemm_cl_note note = {.fd = -1};
    bool lasts = false;
    if (!key.source) {
        leave_out(p, "there is no such kernel");
        return false;
    }
    if (!p->program) p->right = load(p, &key);
    if (!p->right && postpones) {
        if (lack != GEMM_CL_LACKS_MORE)
            lack = p->wanted ? GEMM_CL_LACKS : GEMM_CL_LACKS_MORE;
        p->wanted = true;
        return false;
    }
    const bool noted = !p->right && !gemm_cl_settings()->untried;
    if (noted && (p->why = gemm_cl_begin_note(&key, builds_wanted, &note))) {
        p->faulty = true;
        return false;
    }
    const bool known = p->right;
    if ((p->program || share(p) || compile(p, &key, &lasts) == 0) &&
        (p->kernel || ask_kernel(p) == 0) && !p->right)
        judge(p, &key, &lasts);
    gemm_cl_end_note(&note, &key, lasts ? p->reason : NULL);
    return !known;
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
    gemm_cl_program *p = calloc(1, sizeof *p + strlen(name) + 1);
    char *copy = strdup(options);
    if (!p || !copy) {
        free(p);
        free(copy);
        return NULL;
    }
    *p = (gemm_cl_program){.next = programs, .options = copy};
    p->name = strcpy((char *)(p + 1), name);
    programs = p;
    return p;
}

/* Makes it, and counts what that took. */
static void make_counted(gemm_cl_program *p)
{
    const moment begin = now();
    const double before = made_ms, anew_before = anew.ms;
    const bool foresees = foreseeing;
    foreseeing = false;
    const bool compiled = make(p) || p->foreseen;
    foreseeing = foresees;
    p->foreseen = false;
    made_ms = before + worked_since(begin);     /* those inside of its trial too */
    if (!compiled || p->shared) return;
    anew.ms = anew_before + gemm_now_ms() - begin.wall;
    ++anew.done;
    say_compiling();
}

/* Whether the program is left for later. */
static bool foresee(gemm_cl_program *p)
{
    const gemm_cl_key key = key_of(p);
    if (!foreseeing || p->foreseen) return foreseeing;
    if (!key.source || p->program || gemm_cl_cache_has(&key)) return false;
    p->group_items = gemm_cl_opened()->group_items;
    return p->foreseen = anew.foreseen = true;
}

const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why)
{
    gemm_cl_program *p = options ? find(name, options) : NULL;
    if (!p && options) p = add(name, options);
    if (p && p->on_trial) return p;
    if (p && !p->why && !(p->right && p->kernel)) {
        if (foresee(p)) return p;
        make_counted(p);
    }
    if (p && !p->why && p->right && p->kernel) return p;
    *why = p && p->why ? p->why : p && p->wanted ? not_yet
           : p ? "the OpenCL kernel could not be tried" : "out of memory";
    return NULL;
}

void gemm_cl_postpone(void)
{
    postpones = true;
    lack = GEMM_CL_LACKS_NOTHING;
}

gemm_cl_lack gemm_cl_end_postponing(void)
{
    postpones = false;
    return lack;
}

bool gemm_cl_postpones(void) { return postpones; }
bool gemm_cl_lacks(void) { return postpones && lack; }

/* The one that was wanted first: the list has it behind the others. */
bool gemm_cl_build_wanted(void)
{
    const char *why;
    gemm_cl_program *p = NULL;
    for (gemm_cl_program *q = programs; q; q = q->next)
        if (q->wanted) p = q;
    if (!p) return false;
    p->wanted = false;
    builds_wanted = true;
    gemm_cl_build(p->name, p->options, &why);
    builds_wanted = false;
    return true;
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
    if (why == not_yet || (p && p->said)) return;
    gemm_cl_say(why);
    if (p) p->said = true;
}

/* ---- programs of a network that is known ---- */

void gemm_cl_foresee(bool on)
{
    foreseeing = on;
}

bool gemm_cl_foresees(void)
{
    return foreseeing;
}

/* An order whose texts do not fit has no name. */
static void set_order(gemm_cl_order *o, const gemm_cl_program *p)
{
    bool fits = gemm_append(o->options, sizeof o->options, "%s", p->options);
    for (const gemm_cl_program *q = p; q; q = q->next)
        if (q->foreseen && are_one(p, q))
            fits = fits && gemm_append(o->names, sizeof o->names, "%s ", q->name);
    if (!fits) *o->names = '\0';
}

static int work_of(const gemm_cl_order *o)
{
    return strstr(o->options, "-DSIZE=1") ? 1 : strstr(o->options, "-DSIZE=") ? 2 : 0;
}

/* What takes long comes first: windows of several taps, then large tiles. */
static int compare_orders(const void *a, const void *b)
{
    const int more = work_of(b) - work_of(a);
    return more ? more : strcmp(((const gemm_cl_order *)b)->options,
                                ((const gemm_cl_order *)a)->options);
}

void gemm_cl_build_order(const gemm_cl_order *o)
{
    gemm_cl_order own = *o;
    const char *why;
    char *rest = own.names;
    for (char *name; (name = strtok_r(rest, " ", &rest));) gemm_cl_build(name, o->options, &why);
}

void gemm_cl_build_foreseen(void)
{
    const int count = count_left();
    gemm_cl_order *orders = calloc((size_t)count + 1, sizeof *orders), *next = orders;
    foreseeing = false;
    say_compiling();
    for (const gemm_cl_program *p = programs; orders && p; p = p->next)
        if (is_left(p)) set_order(next++, p);
    if (orders) qsort(orders, (size_t)count, sizeof *orders, compare_orders);
    for (int i = 0; orders && i < count; ++i) orders[i].number = i;
    if (orders) gemm_cl_build_apart(orders, count, gemm_cl_build_order);
    free(orders);
}

void gemm_cl_release_programs(void)
{
    while (programs) {
        gemm_cl_program *p = programs;
        programs = p->next;
        CL_RELEASE(clReleaseKernel, p->kernel);
        if (!p->shared) CL_RELEASE(clReleaseProgram, p->program);
        free(p->options);
        free(p->why);
        free(p);
    }
}
