/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_faulty.so) whose compiler has faults, as those of real
 * devices have (docs/opencl.md). A kernel is named by its name alone, such as cl_tile:
 *
 *   CL_MUTATE="KERNEL|FROM|TO"   the kernel is compiled with FROM, where its text has it first,
 *                                replaced by TO, so that its results are wrong
 *   CL_ABORT_BUILD=KERNEL        building it from its text ends the process
 *   CL_FAIL_BUILD=KERNEL         building it from its text fails
 *   CL_ABORT_BINARY=KERNEL       asking for its binary ends the process
 *   CL_SAY_BUILDS=1              each build from a text is said on stderr, and each binary that
 *                                is asked for
 *   CL_BUSY_BUILD=MS             each build from a text takes MS milliseconds of CPU time longer
 *   CL_LATE_COMPILER=1           the first launch after a build from a text takes as much CPU time
 *                                as that build, as if the kernel were compiled then
 */
#define LAYER_NAME "a faulty compiler"
#include "layer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Whether the text defines the kernel with this name, of `length` bytes. */
static bool defines(const char *text, const char *kernel, size_t length)
{
    char entry[80];
    snprintf(entry, sizeof entry, "void %.*s(", (int)length, kernel);
    return strstr(text, entry);
}

/* The text with the mutation, which is not freed, or the same text. */
static const char *mutate(const char *text)
{
    const char *kernel = getenv("CL_MUTATE");
    if (!kernel || !*kernel) return text;
    const char *from = strchr(kernel, '|') + 1, *to = strchr(from, '|') + 1;
    const size_t length = (size_t)(to - 1 - from), size = strlen(text) + strlen(to) + 1;
    if (!defines(text, kernel, (size_t)(from - 1 - kernel))) return text;
    const char *at = text;
    while (*at && strncmp(at, from, length)) ++at;
    char *mutated = malloc(size);
    if (!*at || !mutated) {
        fprintf(stderr, "layer_faulty: nothing to mutate by %s\n", kernel);
        abort();
    }
    snprintf(mutated, size, "%.*s%s%s", (int)(at - text), text, to, at + length);
    return mutated;
}

static CL_API_ENTRY cl_program CL_API_CALL CreateProgramWithSource(cl_context c, cl_uint n,
                                                                   const char **texts,
                                                                   const size_t *lengths,
                                                                   cl_int *error)
{
    const char *text = n == 1 && !lengths ? mutate(texts[0]) : texts[0];
    return next->clCreateProgramWithSource(c, n, n == 1 ? &text : texts, lengths, error);
}

typedef void (CL_CALLBACK *program_callback)(cl_program, void *);

static bool is_named_by(const char *variable, const char *text)
{
    const char *kernel = getenv(variable);
    return kernel && *kernel && defines(text, kernel, strlen(kernel));
}

static void say_build(const char *text, const char *options)
{
    const char *name = strstr(text, "void cl_");
    if (getenv("CL_SAY_BUILDS"))
        fprintf(stderr, "layer_faulty: builds %.*s with %s\n", name ? (int)strcspn(name, "(") : 0,
                name, name ? options : "no kernel");
}

/* ---- time ---- */

static double late_ms;          /* what the next launch has to take */

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void be_busy(double ms)
{
    const double begin = cpu_ms();
    while (cpu_ms() - begin < ms) continue;
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
    const size_t *local, cl_uint n, const cl_event *events, cl_event *event)
{
    be_busy(late_ms);
    late_ms = 0;
    return next->clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, events, event);
}

static CL_API_ENTRY cl_int CL_API_CALL BuildProgram(cl_program p, cl_uint n, const cl_device_id *d,
                                                    const char *options, program_callback f,
                                                    void *u)
{
    static char text[1 << 16];
    const char *busy = getenv("CL_BUSY_BUILD");
    const double begin = cpu_ms();
    size_t bytes = 0;
    if (next->clGetProgramInfo(p, CL_PROGRAM_SOURCE, sizeof text, text, &bytes)) bytes = 0;
    if (bytes > 1) {
        say_build(text, options);
        if (is_named_by("CL_ABORT_BUILD", text)) abort();
        if (is_named_by("CL_FAIL_BUILD", text)) return CL_BUILD_PROGRAM_FAILURE;
        if (busy) be_busy(atof(busy));
    }
    const cl_int rc = next->clBuildProgram(p, n, d, options, f, u);
    if (bytes > 1 && getenv("CL_LATE_COMPILER")) late_ms = cpu_ms() - begin;
    return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL GetProgramInfo(cl_program p, cl_program_info what,
                                                      size_t bytes, void *to, size_t *needed)
{
    static char text[1 << 16];
    if (what == CL_PROGRAM_BINARIES && getenv("CL_SAY_BUILDS"))
        fputs("layer_faulty: gives a binary\n", stderr);
    if (what == CL_PROGRAM_BINARIES && getenv("CL_ABORT_BINARY") &&
        !next->clGetProgramInfo(p, CL_PROGRAM_SOURCE, sizeof text, text, NULL) &&
        is_named_by("CL_ABORT_BINARY", text))
        abort();
    return next->clGetProgramInfo(p, what, bytes, to, needed);
}

static cl_int replace_entries(void)
{
    layer.clGetProgramInfo = GetProgramInfo;
    layer.clCreateProgramWithSource = CreateProgramWithSource;
    layer.clBuildProgram = BuildProgram;
    layer.clEnqueueNDRangeKernel = EnqueueNDRangeKernel;
    return CL_SUCCESS;
}
