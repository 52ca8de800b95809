/*
 * The OpenCL device of this process: chosen by GEMM_CL_DEVICE and opened once.
 */
#include "cl/device.h"

#include "util/forked.h"
#include "util/number.h"
#include "util/text.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64, MAX_PLATFORMS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gemm_cl_device device;
static enum { UNOPENED, OPENING, OPEN, UNUSABLE, OF_PARENT } state;
static char reason[2048];
static gemm_cl_configuration configuration;

/* A driver's threads do not live on in a child, and no driver can be begun anew in one process. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    if (state != OPEN && state != OPENING) return;
    state = OF_PARENT;
    snprintf(reason, sizeof reason, "the parent of this process opened the OpenCL device before it "
                                    "forked, and a child cannot use it");
}
GEMM_IN_CHILD(after_fork)

bool gemm_cl_is_of_parent(void)
{
    return state == OF_PARENT;
}

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

/* ---- which device -------------------------------------------------------------------------- */

typedef struct found_device {
    cl_device_id id;
    cl_device_type type;
    int platform, number;
    char name[128];
} found_device;

static bool ask_name(found_device *d)
{
    CL_TRY(clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof d->type, &d->type, NULL));
    CL_TRY(clGetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof d->name, d->name, NULL));
    return true;
fail:
    return false;
}

/* Appends a platform's devices; returns how many there are now. */
static int find_devices_of(cl_platform_id platform, int number, found_device *found, int count)
{
    cl_device_id ids[MAX_DEVICES];
    cl_uint n = 0;
    const cl_int error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n);
    if (error != CL_SUCCESS && error != CL_DEVICE_NOT_FOUND)
        gemm_cl_say_failed(__FILE__, __LINE__, "clGetDeviceIDs", error);
    if (error != CL_SUCCESS) return count;
    for (cl_uint i = 0; i < n && i < MAX_DEVICES && count < MAX_DEVICES; ++i) {
        found[count] = (found_device){.id = ids[i], .platform = number, .number = (int)i};
        count += ask_name(&found[count]);
    }
    return count;
}

static int find_devices(found_device *found)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    int count = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n) != CL_SUCCESS) return 0;
    for (cl_uint p = 0; p < n && p < MAX_PLATFORMS; ++p)
        count = find_devices_of(platforms[p], (int)p, found, count);
    return count;
}

/* Reads "platform:device". */
static bool parse_place(const char *text, int *platform, int *number)
{
    char first[16] = "";
    const char *colon = strchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof first) return false;
    memcpy(first, text, (size_t)(colon - text));
    return gemm_parse_int(first, 0, INT_MAX, platform) &&
           gemm_parse_int(colon + 1, 0, INT_MAX, number);
}

static bool is_wanted(const found_device *d, const char *choice)
{
    int platform, number;
    if (!strcmp(choice, "gpu")) return d->type & CL_DEVICE_TYPE_GPU;
    if (!strcmp(choice, "cpu")) return d->type & CL_DEVICE_TYPE_CPU;
    if (parse_place(choice, &platform, &number))
        return d->platform == platform && d->number == number;
    return strcasestr(d->name, choice) != NULL;
}

/* Why no device is the one that GEMM_CL_DEVICE asks for, as one line. */
static void say_what_is_allowed(const found_device *found, int count, const char *choice)
{
    snprintf(reason, sizeof reason,
             "GEMM_CL_DEVICE=%.200s: no such OpenCL device; allowed are gpu, cpu, or the number or "
             "a part of the name of", choice);
    for (int i = 0; i < count; ++i) {
        if (!gemm_append(reason, sizeof reason, "%s %d:%d %s", i ? "," : "", found[i].platform,
                         found[i].number, found[i].name))
            break;
    }
}

/* The index of the device that GEMM_CL_DEVICE asks for, or -1 with the reason set. */
static int pick_device(const found_device *found, int count)
{
    const char *choice = configuration.device;
    const bool any = !choice || !*choice;
    if (count == 0) {
        snprintf(reason, sizeof reason, "no OpenCL device on this machine: install a driver, for "
                                        "CPUs for example the package pocl-opencl-icd");
        return -1;
    }
    for (int i = 0; i < count; ++i)
        if (is_wanted(&found[i], any ? "gpu" : choice)) return i;
    if (any) return 0;
    say_what_is_allowed(found, count, choice);
    return -1;
}

/* ---- opening and closing ------------------------------------------------------------------- */

static bool has_extension(cl_device_id id, const char *name)
{
    size_t bytes = 0;
    char *all = NULL;
    bool has = false;
    CL_TRY(clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes));
    if (bytes && (all = malloc(bytes))) {
        CL_TRY(clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, all, NULL));
        has = strstr(all, name);
    }
fail:
    free(all);
    return has;
}

#define ASK(what, where) CL_TRY(clGetDeviceInfo(d->id, what, sizeof(where), &(where), NULL))

/* Whether a kernel can write images of four half-floats, and another kernel read them. */
static bool has_half_images(const gemm_cl_device *d)
{
    cl_image_format formats[256];
    cl_uint count = 0;
    CL_TRY(clGetSupportedImageFormats(d->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 256,
                                      formats, &count));
    for (cl_uint i = 0; i < count && i < 256; ++i)
        if (formats[i].image_channel_order == CL_RGBA &&
            formats[i].image_channel_data_type == CL_HALF_FLOAT)
            return true;
fail:
    return false;
}

static bool ask_image_limits(gemm_cl_device *d)
{
    enum { PITCH_ALIGNMENT = 0x104A, BASE_ALIGNMENT = 0x104B }; /* cl_khr_image2d_from_buffer */
    ASK(CL_DEVICE_IMAGE2D_MAX_WIDTH, d->image_width);
    ASK(CL_DEVICE_IMAGE2D_MAX_HEIGHT, d->image_height);
    if (has_extension(d->id, "cl_khr_image2d_from_buffer")) {
        ASK(PITCH_ALIGNMENT, d->pitch_alignment);
        ASK(BASE_ALIGNMENT, d->base_alignment);
    }
    return true;
fail:
    return false;
}

/* 640 for "OpenCL 2.0 Adreno(TM) 640", in which form Qualcomm's driver tells its version; 0 for any
   other text. */
static int adreno_model(const char *text)
{
    const char *p = strstr(text, "Adreno");
    if (!p) return 0;
    p += strcspn(p, "0123456789");
    return (int)strtoul(p, NULL, 10) % 10000;
}

static bool ask_limits(gemm_cl_device *d, cl_device_type type)
{
    cl_bool unified, images, compiler;
    cl_uint units, vector;
    cl_ulong local;
    char version[512];
    ASK(CL_DEVICE_NAME, d->name);
    ASK(CL_DEVICE_VERSION, version);
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
    if (images && !ask_image_limits(d)) goto fail;
    d->traits = (gemm_cl_traits){
        .cpu = (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU),
        .unified = unified,
        .images = images,
        .units = (int)units,
        .vector = (int)vector,
        .group = d->group_items > 1 << 20 ? 1 << 20 : (int)d->group_items,
        .local = local > 1 << 30 ? 1 << 30 : (int)local,
        .fp16 = has_extension(d->id, "cl_khr_fp16"),
        .adreno = adreno_model(version),
    };
    if (compiler) return true;
    snprintf(reason, sizeof reason, "%s has no OpenCL compiler", d->name);
    return false;
fail:
    snprintf(reason, sizeof reason, "the OpenCL device does not tell its limits");
    return false;
}

static void release(void)
{
    CL_RELEASE(clReleaseCommandQueue, device.queue);
    CL_RELEASE(clReleaseCommandQueue, device.other);
    CL_RELEASE(clReleaseContext, device.context);
    device = (gemm_cl_device){0};
}

static bool open_found(const found_device *found)
{
    gemm_cl_device *d = &device;
    d->id = found->id;
    if (!ask_limits(d, found->type)) return false;
    CL_MAKE(d->context, clCreateContext(NULL, 1, &d->id, NULL, NULL, &error));
    d->traits.half_images = d->traits.images && has_half_images(d);
    CL_MAKE(d->queue, clCreateCommandQueue(d->context, d->id, 0, &error));
    return true;
fail:
    snprintf(reason, sizeof reason, "OpenCL device %s cannot be opened: the line above says why",
             found->name);
    return false;
}

/* OpenCL's loader and drivers load what OCL_ICD_VENDORS and other variables name. */
static const char not_for_privileged[] =
    "OpenCL loads libraries that the environment names, and this program has more rights than its "
    "caller";

const gemm_cl_device *gemm_cl_open_device(const char **why)
{
    static found_device found[MAX_DEVICES];
    if (state == UNOPENED) {
        state = OPENING;
        const char *missing = configuration.privileged ? not_for_privileged : gemm_cl_load();
        if (missing) snprintf(reason, sizeof reason, "%s", missing);
        const int pick = missing ? -1 : pick_device(found, find_devices(found));
        state = pick >= 0 && open_found(&found[pick]) ? OPEN : UNUSABLE;
        if (state == UNUSABLE) release();
    }
    if (state != OPEN) *why = reason;
    return gemm_cl_opened();
}

const gemm_cl_device *gemm_cl_opened(void)
{
    return state == OPEN ? &device : NULL;
}

void gemm_cl_swap_queue(void)
{
    gemm_cl_device *d = &device;
    const cl_command_queue_properties wanted = d->timed ? 0 : CL_QUEUE_PROFILING_ENABLE;
    if (!d->other) CL_MAKE(d->other, clCreateCommandQueue(d->context, d->id, wanted, &error));
    const cl_command_queue now = d->other;
    d->other = d->queue;
    d->queue = now;
    d->timed = !d->timed;
fail:
    return;
}

void gemm_cl_close_device(const char *why)
{
    if (state == OF_PARENT) return;
    if (state == OPEN) release();
    state = UNUSABLE;
    snprintf(reason, sizeof reason, "%s", why);
}

const char *gemm_cl_describe(void)
{
    static char text[768];
    const gemm_cl_device *d = gemm_cl_opened();
    if (!d) return NULL;
    snprintf(text, sizeof text, "%s, driver %s, %d compute units, %s memory, images up to %zux%zu",
             d->name, d->driver, d->traits.units, d->traits.unified ? "unified" : "discrete",
             d->image_width, d->image_height);
    return text;
}
