/*
 * OpenCL programs: from the cache on disk, or else from the text of kernels/.
 */
#include "cl/program.h"

#include "cl/cache.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_BUILD_MS = 1000 };

static gemm_cl_program *programs;

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

/* Once, before a build, when the builds of this process have taken long enough to be noticed. */
static void say_compiling(double spent_ms)
{
    static bool said;
    const char *folder = gemm_cl_settings()->cache_dir;
    if (said || spent_ms < LONG_BUILD_MS) return;
    said = true;
    fprintf(stderr, "gemm_cl: compiling OpenCL programs for %s; ", gemm_cl_opened()->name);
    if (folder)
        fprintf(stderr, "they are kept in %s\n", folder);
    else
        fprintf(stderr, "they are not kept, because GEMM_CACHE_DIR names no folder\n");
}

static bool build_from_cache(gemm_cl_program *p, const gemm_cl_key *key)
{
    const gemm_cl_device *d = gemm_cl_opened();
    size_t bytes;
    unsigned char *binary = gemm_cl_cache_read(key, &bytes);
    if (!binary) return false;
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
    return false;
}

static void keep_binary(const gemm_cl_program *p, const gemm_cl_key *key)
{
    size_t bytes = 0;
    unsigned char *binary = NULL;
    CL_TRY(clGetProgramInfo(p->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL));
    binary = bytes ? malloc(bytes) : NULL;
    if (binary) {
        CL_TRY(clGetProgramInfo(p->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
        gemm_cl_cache_write(key, binary, bytes);
    }
fail:
    free(binary);
}

static bool build_from_source(gemm_cl_program *p, const gemm_cl_key *key)
{
    static double spent_ms;
    const gemm_cl_device *d = gemm_cl_opened();
    const char *text = key->source;
    say_compiling(spent_ms);
    const double start = gemm_now_ms();
    CL_MAKE(p->program, clCreateProgramWithSource(d->context, 1, &text, NULL, &error));
    const cl_int error = clBuildProgram(p->program, 1, &d->id, p->options, NULL, NULL);
    spent_ms += gemm_now_ms() - start;
    if (error != CL_SUCCESS) {
        gemm_cl_say_failed(__FILE__, __LINE__, "clBuildProgram", error);
        say_log(p);
        goto fail;
    }
    keep_binary(p, key);
    return true;
fail:
    return false;
}

static bool ask_kernel(gemm_cl_program *p)
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
    return true;
fail:
    return false;
}

static void build(gemm_cl_program *p)
{
    const gemm_cl_device *d = gemm_cl_opened();
    const gemm_cl_key key = {p->name, source_of(p->name), p->options, d->name, d->driver};
    if (key.source && (build_from_cache(p, &key) || build_from_source(p, &key)) && ask_kernel(p))
        return;
    CL_RELEASE(clReleaseKernel, p->kernel);
    if (asprintf(&p->why, "kernels/%s.cl cannot be built for %s: the lines above say why", p->name,
                 d->name) < 0)
        p->why = NULL;
}

static gemm_cl_program *find(const char *name, const char *options)
{
    gemm_cl_program *p = programs;
    while (p && (strcmp(p->name, name) || strcmp(p->options, options))) p = p->next;
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
    build(p);
    return p;
}

const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why)
{
    const gemm_cl_program *p = options ? find(name, options) : NULL;
    if (!p && options) p = add(name, options);
    if (p && p->kernel) return p;
    *why = p && p->why ? p->why : "out of memory";
    return NULL;
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
