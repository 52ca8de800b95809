/*
 * The OpenCL device of this process: chosen by GEMM_CL_DEVICE, opened by the first call that needs
 * it, closed at exit. Programs are built from the text of kernels/ once per set of options, and
 * their binaries kept on disk (cl/cache.c).
 */
#include "cl/device.h"

#include "cl/memory.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64, MAX_PLATFORMS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gemm_cl_device device;
static gemm_cl_program *programs;
static enum { UNOPENED, OPEN, UNUSABLE } state;
static char reason[2048];
static gemm_cl_configuration configuration;

void gemm_cl_configure(const gemm_cl_configuration *c)
{
    configuration = *c;
}

const gemm_cl_configuration *gemm_cl_settings(void)
{
    return &configuration;
}

void gemm_cl_lock(void)
{
    pthread_mutex_lock(&lock);
}

void gemm_cl_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

#define NAME(code) case code: return #code
const char *gemm_cl_error_name(cl_int error)
{
    switch (error) {
    NAME(CL_DEVICE_NOT_FOUND);
    NAME(CL_DEVICE_NOT_AVAILABLE);
    NAME(CL_COMPILER_NOT_AVAILABLE);
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    NAME(CL_OUT_OF_RESOURCES);
    NAME(CL_OUT_OF_HOST_MEMORY);
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE);
    NAME(CL_MEM_COPY_OVERLAP);
    NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED);
    NAME(CL_BUILD_PROGRAM_FAILURE);
    NAME(CL_MAP_FAILURE);
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    NAME(CL_INVALID_VALUE);
    NAME(CL_INVALID_DEVICE);
    NAME(CL_INVALID_CONTEXT);
    NAME(CL_INVALID_COMMAND_QUEUE);
    NAME(CL_INVALID_MEM_OBJECT);
    NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    NAME(CL_INVALID_IMAGE_DESCRIPTOR);
    NAME(CL_INVALID_IMAGE_SIZE);
    NAME(CL_INVALID_BINARY);
    NAME(CL_INVALID_BUILD_OPTIONS);
    NAME(CL_INVALID_PROGRAM_EXECUTABLE);
    NAME(CL_INVALID_KERNEL_NAME);
    NAME(CL_INVALID_KERNEL_ARGS);
    NAME(CL_INVALID_ARG_VALUE);
    NAME(CL_INVALID_ARG_SIZE);
    NAME(CL_INVALID_WORK_GROUP_SIZE);
    NAME(CL_INVALID_WORK_ITEM_SIZE);
    NAME(CL_INVALID_EVENT);
    NAME(CL_INVALID_OPERATION);
    NAME(CL_INVALID_BUFFER_SIZE);
    NAME(CL_INVALID_GLOBAL_WORK_SIZE);
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "an OpenCL error";
    }
}
#undef NAME

void gemm_cl_say_failed(const char *file, int line, const char *what, cl_int error)
{
    const char *base = strrchr(file, '/');
    fprintf(stderr, "%s:%d: %s: %s (%d)\n", base ? base + 1 : file, line, what,
            gemm_cl_error_name(error), (int)error);
}

/* ---- which device --------------------------------------------------------------------------- */

typedef struct found_device {
    cl_device_id id;
    cl_device_type type;
    int platform, number;
    char name[128];
} found_device;

static int find_devices(found_device *found)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint platform_count = 0;
    int count = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count) != CL_SUCCESS) {
        return 0;
    }
    if (platform_count > MAX_PLATFORMS) {
        platform_count = MAX_PLATFORMS;
    }
    for (cl_uint p = 0; p < platform_count; ++p) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint n = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n) != CL_SUCCESS) {
            continue;
        }
        for (cl_uint i = 0; i < n && i < MAX_DEVICES && count < MAX_DEVICES; ++i) {
            found_device *d = &found[count];
            *d = (found_device){.id = ids[i], .platform = (int)p, .number = (int)i};
            if (clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof d->type, &d->type, NULL) ==
                    CL_SUCCESS &&
                clGetDeviceInfo(ids[i], CL_DEVICE_NAME, sizeof d->name, d->name, NULL) ==
                    CL_SUCCESS) {
                ++count;
            }
        }
    }
    return count;
}

static bool wanted(const found_device *d, const char *choice)
{
    int platform, number, used = 0;
    if (strcmp(choice, "gpu") == 0) {
        return d->type & CL_DEVICE_TYPE_GPU;
    }
    if (strcmp(choice, "cpu") == 0) {
        return d->type & CL_DEVICE_TYPE_CPU;
    }
    if (sscanf(choice, "%d:%d%n", &platform, &number, &used) == 2 && !choice[used]) {
        return d->platform == platform && d->number == number;
    }
    return strcasestr(d->name, choice) != NULL;
}

/* The index of the device that GEMM_CL_DEVICE asks for, or -1 with the reason set. */
static int pick_device(const found_device *found, int count)
{
    const char *choice = configuration.device;
    if (count == 0) {
        snprintf(reason, sizeof reason,
                 "no OpenCL device on this machine: install a driver, for CPUs for "
                 "example the package pocl-opencl-icd");
        return -1;
    }
    if (!choice || !*choice) {
        for (int i = 0; i < count; ++i) {
            if (found[i].type & CL_DEVICE_TYPE_GPU) {
                return i;
            }
        }
        return 0;
    }
    for (int i = 0; i < count; ++i) {
        if (wanted(&found[i], choice)) {
            return i;
        }
    }
    size_t n = (size_t)snprintf(reason, sizeof reason,
                                "GEMM_CL_DEVICE=%.200s: no such OpenCL device; allowed are gpu, "
                                "cpu, or the number or a part of the name of",
                                choice);
    for (int i = 0; i < count && n < sizeof reason; ++i) {
        n += (size_t)snprintf(reason + n, sizeof reason - n, "%s %d:%d %s", i ? "," : "",
                              found[i].platform, found[i].number, found[i].name);
    }
    return -1;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static bool has_extension(cl_device_id id, const char *name)
{
    size_t bytes = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0) {
        return false;
    }
    char *all = malloc(bytes);
    const bool has = all &&
                     clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, all, NULL) == CL_SUCCESS &&
                     strstr(all, name);
    free(all);
    return has;
}

#define ASK(what, where) CL_TRY(clGetDeviceInfo(d->id, what, sizeof(where), &(where), NULL))

static bool ask_limits(gemm_cl_device *d, cl_device_type type)
{
    enum { PITCH_ALIGNMENT = 0x104A, BASE_ALIGNMENT = 0x104B }; /* cl_khr_image2d_from_buffer */
    cl_bool unified, images, compiler;
    cl_uint units, vector;
    cl_ulong local;
    ASK(CL_DEVICE_NAME, d->name);
    ASK(CL_DRIVER_VERSION, d->driver);
    ASK(CL_DEVICE_COMPILER_AVAILABLE, compiler);
    ASK(CL_DEVICE_HOST_UNIFIED_MEMORY, unified);
    ASK(CL_DEVICE_IMAGE_SUPPORT, images);
    ASK(CL_DEVICE_MAX_COMPUTE_UNITS, units);
    ASK(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, vector);
    ASK(CL_DEVICE_MAX_WORK_GROUP_SIZE, d->group_items);
    ASK(CL_DEVICE_MAX_WORK_ITEM_SIZES, d->item_sizes);
    ASK(CL_DEVICE_GLOBAL_MEM_SIZE, d->memory);
    ASK(CL_DEVICE_LOCAL_MEM_SIZE, local);
    if (images) {
        ASK(CL_DEVICE_IMAGE2D_MAX_WIDTH, d->image_width);
        ASK(CL_DEVICE_IMAGE2D_MAX_HEIGHT, d->image_height);
    }
    if (images && has_extension(d->id, "cl_khr_image2d_from_buffer")) {
        ASK(PITCH_ALIGNMENT, d->pitch_alignment);
        ASK(BASE_ALIGNMENT, d->base_alignment);
    }
    d->traits = (gemm_cl_traits){
        .cpu = (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU),
        .unified = unified,
        .images = images,
        .units = (int)units,
        .vector = (int)vector,
        .group = d->group_items > 1 << 20 ? 1 << 20 : (int)d->group_items,
        .local = local > 1 << 30 ? 1 << 30 : (int)local,
    };
    if (!compiler) {
        snprintf(reason, sizeof reason, "%s has no OpenCL compiler", d->name);
        return false;
    }
    return true;
fail:
    snprintf(reason, sizeof reason, "the OpenCL device does not tell its limits");
    return false;
}

static void release(void)
{
    gemm_cl_memory_close();
    while (programs) {
        gemm_cl_program *p = programs;
        programs = p->next;
        if (p->kernel) {
            clReleaseKernel(p->kernel);
        }
        if (p->program) {
            clReleaseProgram(p->program);
        }
        free(p->options);
        free(p->why);
        free(p);
    }
    if (device.transfers) {
        clReleaseCommandQueue(device.transfers);
    }
    if (device.queue) {
        clReleaseCommandQueue(device.queue);
    }
    if (device.context) {
        clReleaseContext(device.context);
    }
    device = (gemm_cl_device){0};
}

static void close_device(void)
{
    gemm_cl_lock();
    if (state == OPEN) {
        clFinish(device.queue);
        release();
        snprintf(reason, sizeof reason, "the program is ending");
    }
    state = UNUSABLE;
    gemm_cl_unlock();
}

static bool open_device(void)
{
    static found_device found[MAX_DEVICES];
    const int pick = pick_device(found, find_devices(found));
    if (pick < 0) {
        return false;
    }
    gemm_cl_device *d = &device;
    d->id = found[pick].id;
    if (!ask_limits(d, found[pick].type)) {
        goto gone;
    }
    CL_MAKE(d->context, clCreateContext(NULL, 1, &d->id, NULL, NULL, &error));
    CL_MAKE(d->queue, clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &error));
    CL_MAKE(d->transfers, clCreateCommandQueue(d->context, d->id, 0, &error));
    if (atexit(close_device) != 0) {
        snprintf(reason, sizeof reason, "atexit is full");
        goto gone;
    }
    return true;
fail:
    snprintf(reason, sizeof reason, "OpenCL device %s cannot be opened: the line above says why",
             found[pick].name);
gone:
    release();
    return false;
}

const gemm_cl_device *gemm_cl_open(const char **why)
{
    if (state == UNOPENED) {
        state = UNUSABLE;       /* while it is being opened, too */
        state = open_device() ? OPEN : UNUSABLE;
    }
    if (state != OPEN && why) {
        *why = reason;
    }
    return state == OPEN ? &device : NULL;
}

const char *gemm_cl_describe(void)
{
    static char text[768];
    gemm_cl_lock();
    const gemm_cl_device *d = gemm_cl_open(NULL);
    if (d) {
        snprintf(text, sizeof text,
                 "%s, driver %s, %d compute units, %s memory, images up to %zux%zu", d->name,
                 d->driver, d->traits.units, d->traits.unified ? "unified" : "discrete",
                 d->image_width, d->image_height);
    }
    gemm_cl_unlock();
    return d ? text : NULL;
}

void gemm_cl_list(FILE *f)
{
    static found_device found[MAX_DEVICES];
    gemm_cl_lock();
    const int count = find_devices(found);
    for (int i = 0; i < count; ++i) {
        fprintf(f, "%d:%d\t%s\t%s\n", found[i].platform, found[i].number,
                found[i].type & CL_DEVICE_TYPE_GPU   ? "gpu"
                : found[i].type & CL_DEVICE_TYPE_CPU ? "cpu"
                                                     : "accelerator",
                found[i].name);
    }
    gemm_cl_unlock();
}

/* ---- programs ------------------------------------------------------------------------------- */

static const char *source_of(const char *name)
{
    for (size_t i = 0; i < gemm_cl_source_count; ++i) {
        if (strcmp(gemm_cl_sources[i].name, name) == 0) {
            return gemm_cl_sources[i].text;
        }
    }
    return NULL;
}

/* The compiler's log and the options, on standard error. */
static void say_log(const gemm_cl_program *p)
{
    size_t bytes = 0;
    char *log = NULL;
    if (clGetProgramBuildInfo(p->program, device.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) ==
        CL_SUCCESS) {
        log = calloc(1, bytes + 1);
    }
    if (log) {
        clGetProgramBuildInfo(p->program, device.id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    }
    fprintf(stderr, "gemm_cl: kernels/%s.cl does not compile with %s:\n%s\n", p->name, p->options,
            log ? log : "(no log)");
    free(log);
}

static bool build_from_cache(gemm_cl_program *p, const gemm_cl_key *key)
{
    size_t bytes;
    unsigned char *binary = gemm_cl_cache_read(key, &bytes);
    if (!binary) {
        return false;
    }
    cl_int error, status;
    const unsigned char *binaries = binary;
    p->program = clCreateProgramWithBinary(device.context, 1, &device.id, &bytes, &binaries,
                                           &status, &error);
    free(binary);
    if (error == CL_SUCCESS) {
        error = clBuildProgram(p->program, 1, &device.id, p->options, NULL, NULL);
    }
    if (error != CL_SUCCESS) {
        fprintf(stderr, "gemm_cl: the driver refuses its own binary of %s: %s; compiling anew\n",
                p->name, gemm_cl_error_name(error));
        if (p->program) {
            clReleaseProgram(p->program);
            p->program = NULL;
        }
    }
    return error == CL_SUCCESS;
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
    const char *text = key->source;
    CL_MAKE(p->program, clCreateProgramWithSource(device.context, 1, &text, NULL, &error));
    const cl_int error = clBuildProgram(p->program, 1, &device.id, p->options, NULL, NULL);
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
    CL_MAKE(p->kernel, clCreateKernel(p->program, p->name, &error));
    CL_TRY(clGetKernelInfo(p->kernel, CL_KERNEL_NUM_ARGS, sizeof p->args, &p->args, NULL));
    CL_TRY(clGetKernelWorkGroupInfo(p->kernel, device.id, CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof p->group_items, &p->group_items, NULL));
    CL_TRY(clGetKernelWorkGroupInfo(p->kernel, device.id, CL_KERNEL_PRIVATE_MEM_SIZE,
                                    sizeof p->spilled, &p->spilled, NULL));
    CL_TRY(clGetKernelWorkGroupInfo(p->kernel, device.id, CL_KERNEL_LOCAL_MEM_SIZE,
                                    sizeof p->local, &p->local, NULL));
    return true;
fail:
    return false;
}

static void build_program(gemm_cl_program *p)
{
    const gemm_cl_key key = {p->name, source_of(p->name), p->options, device.name, device.driver};
    const bool ok = key.source && (build_from_cache(p, &key) || build_from_source(p, &key)) &&
                    ask_kernel(p);
    if (!ok && asprintf(&p->why, "kernels/%s.cl cannot be built for %s: the lines above say why",
                        p->name, device.name) < 0) {
        p->why = NULL;
    }
    if (!ok && p->kernel) {
        clReleaseKernel(p->kernel);
        p->kernel = NULL;
    }
}

const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why)
{
    gemm_cl_program *p = programs;
    while (p && (strcmp(p->name, name) != 0 || strcmp(p->options, options) != 0)) {
        p = p->next;
    }
    if (!p) {
        p = calloc(1, sizeof *p);
        char *copy = strdup(options);
        if (!p || !copy) {
            free(p);
            free(copy);
            if (why) {
                *why = "out of memory";
            }
            return NULL;
        }
        *p = (gemm_cl_program){.next = programs, .name = name, .options = copy};
        programs = p;
        build_program(p);
    }
    if (!p->kernel && why) {
        *why = p->why ? p->why : "out of memory";
    }
    return p->kernel ? p : NULL;
}
