/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL device of this process: chosen by GEMM_CL_DEVICE and opened once.
 */
#include "cl/device/device.h"

#include "cl/device/adreno.h"
#include "util/forked.h"
#include "util/number.h"
#include "util/text.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gemm_cl_device device;
static enum { UNOPENED, OPENING, OPEN, UNUSABLE, OF_PARENT } state;
static gemm_text reason;        /* why it could not be opened */
static const char *closed;      /* why it was closed, or must not be used; NULL: neither */
static gemm_text description;   /* of gemm_cl_describe */
static gemm_cl_configuration configuration;

/* A driver's threads do not live on in a child, and no driver can be begun anew in one process. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    if (state != OPEN && state != OPENING) return;
    state = OF_PARENT;
    closed = "the parent of this process opened the OpenCL device before it forked, and a child "
             "cannot use it";
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

bool gemm_cl_try_lock(void)
{
    return pthread_mutex_trylock(&lock) == 0;
}

void gemm_cl_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Begins a new reason. Only while the device is opened, because a reason that was told stays. */
#define refuse(...) (gemm_text_free(&reason), gemm_text_add(&reason, __VA_ARGS__))

static const char *get_reason(void)
{
    return closed ? closed : reason.at ? reason.at : "out of memory";
}

/* ---- what a device says of itself ---- */

/* A text of the device on one line: control characters become blanks. The caller frees it. NULL: it
   does not tell, or there is no memory. That is said. */
static char *ask_text(cl_device_id id, cl_device_info what, const char *title)
{
    size_t bytes = 0;
    char *text = NULL;
    cl_int error = clGetDeviceInfo(id, what, 0, NULL, &bytes);
    if (error == CL_SUCCESS && !(text = calloc(1, bytes + 1))) error = CL_OUT_OF_HOST_MEMORY;
    if (error == CL_SUCCESS && bytes) error = clGetDeviceInfo(id, what, bytes, text, NULL);
    if (error != CL_SUCCESS) {
        gemm_cl_say_failed(__FILE__, __LINE__, title, error);
        free(text);
        return NULL;
    }
    for (char *c = text; *c; ++c)
        if (iscntrl((unsigned char)*c)) *c = ' ';
    return text;
}

#define ASK_TEXT(id, what) ask_text(id, what, "clGetDeviceInfo " #what)

/* Whether a list of words with blanks between them has this word. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += length) {
        const bool begins = p == list || p[-1] == ' ';
        if (begins && (!p[length] || p[length] == ' ')) return true;
    }
    return false;
}

/* The name for people and for the cache: without blanks at its ends, and with an Adreno's model.
   NULL: no memory. The caller frees it. */
static char *make_name(const char *told, const gemm_cl_adreno *a)
{
    const char *begin = told + strspn(told, " ");
    size_t length = strlen(begin);
    while (length && begin[length - 1] == ' ') --length;
    gemm_text name = {0};
    gemm_text_add(&name, "%.*s", (int)length, begin);
    const bool known = a->model && memmem(begin, length, a->model, (size_t)a->length);
    if (a->is_one && !strcasestr(told, "Adreno"))
        gemm_text_add(&name, a->model ? " (Adreno %.*s)" : " (Adreno)", a->length, a->model);
    else if (a->model && !known)
        gemm_text_add(&name, " %.*s", a->length, a->model);
    if (name.lost) gemm_text_free(&name);
    return name.at;
}

/* ---- which device ---- */

typedef struct found_device {
    cl_device_id id;
    cl_device_type type;
    int platform, number;
    gemm_cl_adreno adreno;      /* without its text */
    char *name;
} found_device;

typedef struct found_devices {
    found_device *list;
    int count;
} found_devices;

/* The name and the model, for which the device is asked for all texts that may have it. */
static bool ask_name(found_device *d)
{
    cl_uint vendor = 0;
    char *name = ASK_TEXT(d->id, CL_DEVICE_NAME);
    char *version = ASK_TEXT(d->id, CL_DEVICE_VERSION);
    char *c_version = ASK_TEXT(d->id, CL_DEVICE_OPENCL_C_VERSION);  /* may be missing */
    CL_TRY(clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof d->type, &d->type, NULL));
    CL_TRY(clGetDeviceInfo(d->id, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL));
    if (name && version) {
        const gemm_cl_texts texts = {name, version, c_version ? c_version : "", vendor};
        if (d->type & CL_DEVICE_TYPE_GPU) d->adreno = gemm_cl_find_adreno(&texts);
        d->name = make_name(name, &d->adreno);
        d->adreno.model = NULL;
    }
fail:
    free(c_version);
    free(version);
    free(name);
    return d->name != NULL;
}

/* Adds a platform's devices. A device without a name is left out, and that was said. */
static void find_devices_of(cl_platform_id platform, int number, found_devices *found)
{
    cl_device_id *ids = NULL;
    cl_uint n = 0;
    const cl_int none = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
    if (none == CL_DEVICE_NOT_FOUND || (none == CL_SUCCESS && !n)) return;
    CL_TRY(none);
    ids = calloc(n, sizeof *ids);
    found_device *list = realloc(found->list, ((size_t)found->count + n) * sizeof *list);
    if (list) found->list = list;
    CL_TRY(ids && list ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY);
    CL_TRY(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL));
    for (cl_uint i = 0; i < n; ++i) {
        list[found->count] = (found_device){.id = ids[i], .platform = number, .number = (int)i};
        found->count += ask_name(&list[found->count]);
    }
fail:
    free(ids);
}

static void find_devices(found_devices *found)
{
    cl_platform_id *platforms = NULL;
    cl_uint n = 0;
    CL_TRY(clGetPlatformIDs(0, NULL, &n));
    CL_TRY((platforms = calloc(n, sizeof *platforms)) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY);
    CL_TRY(clGetPlatformIDs(n, platforms, NULL));
    for (cl_uint p = 0; p < n; ++p) find_devices_of(platforms[p], (int)p, found);
fail:
    free(platforms);
}

static void free_found(found_devices *found)
{
    for (int i = 0; i < found->count; ++i) free(found->list[i].name);
    free(found->list);
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
static void say_what_is_allowed(const found_devices *found, const char *choice)
{
    refuse("GEMM_CL_DEVICE=%s: no such OpenCL device; allowed are gpu, cpu, or the number or a "
           "part of the name of", choice);
    for (int i = 0; i < found->count; ++i) {
        const found_device *d = &found->list[i];
        gemm_text_add(&reason, "%s %d:%d %s", i ? "," : "", d->platform, d->number, d->name);
    }
}

/* The device that GEMM_CL_DEVICE asks for, or NULL with the reason set. */
static found_device *pick_device(const found_devices *found)
{
    const char *choice = configuration.device;
    const bool any = !choice || !*choice;
    if (found->count == 0) {
        refuse("the OpenCL library's devices cannot be used: %s", gemm_cl_last_failure());
        return NULL;
    }
    for (int i = 0; i < found->count; ++i)
        if (is_wanted(&found->list[i], any ? "gpu" : choice)) return &found->list[i];
    if (any) return &found->list[0];
    say_what_is_allowed(found, choice);
    return NULL;
}

/* ---- opening and closing ---- */

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

static bool ask_image_limits(gemm_cl_device *d, const char *extensions)
{
    enum { PITCH_ALIGNMENT = 0x104A, BASE_ALIGNMENT = 0x104B }; /* cl_khr_image2d_from_buffer */
    ASK(CL_DEVICE_IMAGE2D_MAX_WIDTH, d->traits.image_width);
    ASK(CL_DEVICE_IMAGE2D_MAX_HEIGHT, d->traits.image_height);
    if (has_word(extensions, "cl_khr_image2d_from_buffer")) {
        ASK(PITCH_ALIGNMENT, d->pitch_alignment);
        ASK(BASE_ALIGNMENT, d->base_alignment);
    }
    return true;
fail:
    return false;
}

static bool ask_traits(gemm_cl_device *d, const found_device *found, const char *extensions)
{
    cl_bool unified, images;
    cl_uint units, vector;
    cl_ulong local;
    const cl_device_type type = found->type;
    ASK(CL_DEVICE_HOST_UNIFIED_MEMORY, unified);
    ASK(CL_DEVICE_IMAGE_SUPPORT, images);
    ASK(CL_DEVICE_MAX_COMPUTE_UNITS, units);
    ASK(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, vector);
    ASK(CL_DEVICE_MAX_WORK_GROUP_SIZE, d->group_items);
    ASK(CL_DEVICE_MAX_WORK_ITEM_SIZES, d->item_sizes);
    ASK(CL_DEVICE_GLOBAL_MEM_SIZE, d->memory);
    ASK(CL_DEVICE_LOCAL_MEM_SIZE, local);
    d->traits = (gemm_cl_traits){
        .cpu = (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU),
        .unified = unified,
        .images = images,
        .units = (int)units,
        .vector = (int)vector,
        .group = d->group_items > 1 << 20 ? 1 << 20 : (int)d->group_items,
        .local = local > 1 << 30 ? 1 << 30 : (int)local,
        .fp16 = has_word(extensions, "cl_khr_fp16"),
        .dot = has_word(extensions, "cl_khr_integer_dot_product") ||
               has_word(extensions, "cl_nv_device_attribute_query"),
        .is_adreno = found->adreno.is_one,
        .adreno = found->adreno.number,
    };
    if (images && !ask_image_limits(d, extensions)) goto fail;
    return true;
fail:
    return false;
}

static bool ask_limits(gemm_cl_device *d, const found_device *found)
{
    cl_bool compiler = CL_TRUE;
    bool told = false;
    char *extensions = ASK_TEXT(d->id, CL_DEVICE_EXTENSIONS);
    d->driver = ASK_TEXT(d->id, CL_DRIVER_VERSION);
    ASK(CL_DEVICE_COMPILER_AVAILABLE, compiler);
    told = extensions && d->driver && ask_traits(d, found, extensions);
    d->has_perf_hint = told && has_word(extensions, "cl_qcom_perf_hint");
fail:
    free(extensions);
    if (!told) refuse("OpenCL device %s does not tell its limits: %s", d->name,
                      gemm_cl_last_failure());
    if (told && !compiler) refuse("OpenCL device %s has no compiler", d->name);
    return told && compiler;
}

static void release(void)
{
    CL_RELEASE(clReleaseCommandQueue, device.queue);
    CL_RELEASE(clReleaseCommandQueue, device.other);
    CL_RELEASE(clReleaseContext, device.context);
    free(device.name);
    free(device.driver);
    gemm_text_free(&description);
    device = (gemm_cl_device){0};
}

/* A Qualcomm GPU lowers its clock within 100 ms without work, and a detection is shorter than it
   takes to rise again. So the context asks for the high clock, where the device lists that it can
   be asked: others refuse a property that they do not know. One that lists it and refuses it gets
   a context without it. Source: cl_qcom_perf_hint. */
static cl_context make_context(const gemm_cl_device *d, cl_int *error)
{
    enum { CONTEXT_PERF_HINT = 0x40C2, PERF_HINT_HIGH = 0x40C3 };
    static const cl_context_properties high[] = {CONTEXT_PERF_HINT, PERF_HINT_HIGH, 0};
    if (d->has_perf_hint) {
        const cl_context context = clCreateContext(high, 1, &d->id, NULL, NULL, error);
        if (*error == CL_SUCCESS) return context;
    }
    return clCreateContext(NULL, 1, &d->id, NULL, NULL, error);
}

/* Takes the name of the found device. */
static bool open_found(found_device *found)
{
    gemm_cl_device *d = &device;
    d->id = found->id;
    d->name = found->name;
    found->name = NULL;
    if (!ask_limits(d, found)) return false;
    CL_MAKE(d->context, make_context(d, &error));
    d->traits.half_images = d->traits.images && has_half_images(d);
    CL_MAKE(d->queue, clCreateCommandQueue(d->context, d->id, 0, &error));
    return true;
fail:
    refuse("OpenCL device %s cannot be opened: %s", d->name, gemm_cl_last_failure());
    return false;
}

/* OpenCL's loader and drivers load what OCL_ICD_VENDORS and other variables name. */
static const char not_for_privileged[] =
    "OpenCL loads libraries that the environment names, and this program has more rights than its "
    "caller";

static bool open_any(void)
{
    found_devices found = {0};
    gemm_cl_forget_failure();
    if (configuration.privileged) closed = not_for_privileged;
    if (closed || !gemm_cl_load(&configuration, &reason)) return false;
    find_devices(&found);
    found_device *picked = pick_device(&found);
    const bool opened = picked && open_found(picked);
    free_found(&found);
    return opened;
}

const gemm_cl_device *gemm_cl_open_device(const char **why)
{
    if (state == UNOPENED) {
        state = OPENING;
        state = open_any() ? OPEN : UNUSABLE;
        if (state == UNUSABLE) release();
    }
    if (state != OPEN) *why = get_reason();
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
    closed = why;
}

/* For a reader of a report. Texts that the device does not tell are left out. */
static void add_texts(const gemm_cl_device *d)
{
    char *version = ASK_TEXT(d->id, CL_DEVICE_VERSION);
    char *c_version = ASK_TEXT(d->id, CL_DEVICE_OPENCL_C_VERSION);
    if (version) gemm_text_add(&description, ", %s", version);
    if (c_version) gemm_text_add(&description, ", %s", c_version);
    free(version);
    free(c_version);
}

const char *gemm_cl_describe(void)
{
    const gemm_cl_device *d = gemm_cl_opened();
    if (!d) return NULL;
    gemm_text_free(&description);
    gemm_text_add(&description,
                  "%s, driver %s, %d compute units, %s memory, images up to %zux%zu", d->name,
                  d->driver, d->traits.units, d->traits.unified ? "unified" : "discrete",
                  d->traits.image_width, d->traits.image_height);
    gemm_text_add(&description,
                  ", groups up to %zu, %d KiB local memory, %llu MiB in all, %s 16-bit floats",
                  d->group_items, d->traits.local >> 10, (unsigned long long)d->memory >> 20,
                  d->traits.fp16 ? "with" : "without");
    add_texts(d);
    return gemm_text_part(&description);
}
