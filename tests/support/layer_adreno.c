/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_adreno.so) that makes a CPU's OpenCL device look like an
 * Adreno, and enforces an Adreno's limits:
 *
 *   - a GPU with unified memory that answers as the device ADRENO_DEVICE of adreno_devices.h.
 *     Without it: an Adreno 640 with the least of all limits: groups of at most 256 items, no fp16
 *   - where it lists cl_khr_fp16, cl_image's 16-bit arithmetic has 32 bits, because the CPU has no
 *     other
 *   - a compiler that spills no registers, or those of programs whose options contain ADRENO_SPILLS
 *   - a global size must be a multiple of the local one
 *   - ADRENO_DOT=1 adds cl_khr_integer_dot_product to its list, which the CPU's compiler may lack
 *   - 32 KiB of local memory; ADRENO_LOCAL names another number of bytes. What a kernel takes is
 *     what the CPU's driver says: PoCL 6 says 0, as every kernel does under ADRENO_SILENT=1
 *   - buffers no larger than the device's largest
 *   - images up to 16384 a side, or less where the device below has less
 *   - an image from a buffer needs rows of a multiple of 64 pixels and a start aligned to 64 pixels
 *
 *   - a context with the property of cl_qcom_perf_hint only where the device lists that, and with
 *     no other property. The first context sets ADRENO_HINT in this process to high, none or
 *     refused. Under ADRENO_NO_HINT=1 the property is refused
 *
 * A program that breaks a limit gets the error that the driver would give, and the layer says so.
 *
 * Every buffer lies in memory of the layer's own. An image from a buffer is an image over the same
 * memory.
 */
#define LAYER_NAME "an Adreno's limits"
#include "layer.h"

#include "support/adreno_devices.h"

#include <stdio.h>
#include <stdlib.h>

enum { IMAGE_SIDE = 16384, PITCH = 64, PIXEL = 16, BUFFERS = 4096, UNITS = 2 };
enum { PERF_HINT = 0x40C2, PERF_HINT_HIGH = 0x40C3 };
enum { PITCH_ALIGNMENT = 0x104A, BASE_ALIGNMENT = 0x104B, ALL_C_VERSIONS = 0x1066 };

static const adreno_device strict = {
    .name = "QUALCOMM Adreno(TM)", .version = "OpenCL 2.0 Adreno(TM) 640",
    .c_version = "OpenCL C 2.0 Adreno(TM) 640", .driver = "OpenCL 2.0 QUALCOMM build: layer",
    .extensions = "cl_khr_byte_addressable_store cl_khr_image2d_from_buffer "
                  "cl_khr_3d_image_writes", .group = 256};

static const adreno_device *device = &strict;
static char *extensions;

static struct { cl_mem mem; char *at; } buffers[BUFFERS];

static cl_ulong local_bytes(void)
{
    const char *bytes = getenv("ADRENO_LOCAL");
    return bytes ? strtoull(bytes, NULL, 10) : 32768;
}

static size_t group_limit(void)
{
    return device->group ? device->group : 1024;
}

static cl_ulong largest_buffer(void)
{
    return device->largest ? device->largest : MIB(1024);
}

static bool has_fp16(void)
{
    return strstr(extensions, "cl_khr_fp16");
}

/* The device's list. One of which only the length is known goes on with names that are made up. */
static char *make_extensions(void)
{
    const char *known = device->extensions ? device->extensions : COMMON_EXTENSIONS;
    const size_t used = strlen(known), end = device->extension_blank;
    const size_t bytes = device->extension_bytes ? device->extension_bytes : used;
    char *list = malloc(bytes + 1);
    if (!list || bytes < used + end) abort();
    memcpy(list, known, used);
    for (size_t at = used; at < bytes - end;) {
        static const char name[] = " cl_qcom_made_up_extension";
        const size_t left = bytes - end - at, most = sizeof name - 1;
        /* a rest shorter than a name makes the last one longer */
        const size_t length = left < 2 * most ? left : most;
        memset(list + at, 'x', length);
        memcpy(list + at, name, length < most ? length : most);
        at += length;
    }
    memset(list + bytes - end, ' ', end);
    list[bytes] = '\0';
    return list;
}

static CL_API_ENTRY cl_program CL_API_CALL CreateProgramWithSource(cl_context c, cl_uint n,
                                                                   const char **texts,
                                                                   const size_t *lengths,
                                                                   cl_int *error)
{
    const char *both[] = {"#ifdef HALF_SUMS\n#define NUMBER float\n#define NUMBER4 float4\n"
                          "#define READ read_imagef\n#define NARROW(x) (x)\n#endif\n", texts[0]};
    if (!has_fp16() || n != 1 || lengths)
        return next->clCreateProgramWithSource(c, n, texts, lengths, error);
    return next->clCreateProgramWithSource(c, 2, both, NULL, error);
}

static bool spills(cl_kernel k, cl_device_id d)
{
    return is_built_with(k, d, getenv("ADRENO_SPILLS"));
}

static cl_int refuse(const char *what, cl_int error)
{
    fprintf(stderr, "layer_adreno: %s\n", what);
    return error;
}

/* ---- what the device says of itself ---- */

static cl_int answer_size(cl_device_id d, cl_device_info info, size_t limit, size_t size,
                          void *value, size_t *size_ret)
{
    size_t real = 0;
    const cl_int rc = next->clGetDeviceInfo(d, info, sizeof real, &real, NULL);
    if (rc) return rc;
    real = real < limit ? real : limit;
    return answer(&real, sizeof real, size, value, size_ret);
}

static cl_int answer_text(const char *text, size_t size, void *value, size_t *size_ret)
{
    return answer(text, strlen(text) + 1, size, value, size_ret);
}

/* Texts; *known is false for all else. */
static cl_int answer_texts(cl_device_info info, size_t size, void *value, size_t *size_ret,
                           bool *known)
{
    *known = true;
    switch (info) {
    case CL_DEVICE_NAME: return answer_text(device->name, size, value, size_ret);
    case CL_DEVICE_VENDOR: return answer_text("QUALCOMM", size, value, size_ret);
    case CL_DEVICE_VERSION: return answer_text(device->version, size, value, size_ret);
    case CL_DEVICE_OPENCL_C_VERSION: return answer_text(device->c_version, size, value, size_ret);
    case CL_DRIVER_VERSION: return answer_text(device->driver, size, value, size_ret);
    case CL_DEVICE_EXTENSIONS: return answer_text(extensions, size, value, size_ret);
    case ALL_C_VERSIONS: return CL_INVALID_VALUE;
    default: *known = false; return CL_SUCCESS;
    }
}

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const cl_bool yes = CL_TRUE;
    const cl_uint pitch = device->rusticl ? 0 : PITCH;
    const cl_uint units = device->units ? device->units : UNITS;
    const cl_uint vendor = device->vendor ? device->vendor : 0x5143, megahertz = 1, bits = 1024;
    const cl_ulong local = local_bytes(), largest = largest_buffer();
    const cl_ulong memory = device->memory ? device->memory : MIB(3800);
    const cl_ulong cache = device->cache ? device->cache : 65536;
    const cl_device_local_mem_type kind = device->rusticl ? CL_GLOBAL : CL_LOCAL;
    const size_t side = group_limit() < 1024 ? group_limit() : 1024;
    const size_t items[3] = {side, side, device->rusticl ? 64 : side};
    bool known;
    const cl_int rc = answer_texts(info, size, value, size_ret, &known);
    if (known) return rc;
#define ANSWER(x) return answer(&(x), sizeof(x), size, value, size_ret)
    switch (info) {
    case CL_DEVICE_TYPE: ANSWER(gpu);
    case CL_DEVICE_VENDOR_ID: ANSWER(vendor);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: ANSWER(megahertz);
    case CL_DEVICE_HOST_UNIFIED_MEMORY: ANSWER(yes);
    case CL_DEVICE_MAX_COMPUTE_UNITS: ANSWER(units);
    case CL_DEVICE_GLOBAL_MEM_SIZE: ANSWER(memory);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: ANSWER(largest);
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: ANSWER(cache);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: ANSWER(bits);
    case CL_DEVICE_LOCAL_MEM_SIZE: ANSWER(local);
    case CL_DEVICE_LOCAL_MEM_TYPE: ANSWER(kind);
    case PITCH_ALIGNMENT:
    case BASE_ALIGNMENT: ANSWER(pitch);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: ANSWER(items);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return answer_size(d, info, group_limit(), size, value, size_ret);
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
        return answer_size(d, info, IMAGE_SIDE, size, value, size_ret);
    default: return next->clGetDeviceInfo(d, info, size, value, size_ret);
    }
#undef ANSWER
}

/* The platform's version is the beginning of the driver's, where none is told. */
static CL_API_ENTRY cl_int CL_API_CALL GetPlatformInfo(cl_platform_id p, cl_platform_info info,
                                                       size_t size, void *value, size_t *size_ret)
{
    char version[512] = "";
    const char *compiler = strstr(device->driver, " Compiler");
    const size_t length = compiler ? (size_t)(compiler - device->driver) : strlen(device->driver);
    switch (info) {
    case CL_PLATFORM_NAME:
        return answer_text(device->rusticl ? "rusticl" : "QUALCOMM Snapdragon(TM)", size, value,
                           size_ret);
    case CL_PLATFORM_VENDOR: return answer_text("QUALCOMM", size, value, size_ret);
    case CL_PLATFORM_VERSION:
        if (device->platform) return answer_text(device->platform, size, value, size_ret);
        memcpy(version, device->driver, length < sizeof version ? length : sizeof version - 1);
        return answer_text(version, size, value, size_ret);
    default: return next->clGetPlatformInfo(p, info, size, value, size_ret);
    }
}

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceIDs(cl_platform_id p, cl_device_type type,
                                                    cl_uint n, cl_device_id *ids, cl_uint *count)
{
    const cl_device_type real = type == CL_DEVICE_TYPE_GPU ? CL_DEVICE_TYPE_ALL : type;
    cl_uint found = 0;
    if (type == CL_DEVICE_TYPE_CPU) return CL_DEVICE_NOT_FOUND;
    const cl_int rc = next->clGetDeviceIDs(p, real, n, ids, &found);
    if (rc == CL_SUCCESS && device->twice && found == 1) {
        if (ids && n > 1) ids[1] = ids[0];
        found = 2;
    }
    if (rc == CL_SUCCESS && count) *count = found;
    return rc;
}

static CL_API_ENTRY cl_context CL_API_CALL CreateContext(
    const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
    cl_int *error)
{
    const bool lists = strstr(extensions, "cl_qcom_perf_hint") && !getenv("ADRENO_NO_HINT");
    const bool high = properties && properties[0] == PERF_HINT &&
                      properties[1] == PERF_HINT_HIGH && !properties[2];
    if (properties && properties[0] && !(high && lists)) {
        setenv("ADRENO_HINT", "refused", 0);
        if (error) *error = refuse("a property that the context does not know",
                                   CL_INVALID_PROPERTY);
        return NULL;
    }
    setenv("ADRENO_HINT", high ? "high" : "none", 0);
    return next->clCreateContext(NULL, n, devices, notify, data, error);
}

static CL_API_ENTRY cl_int CL_API_CALL GetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
                                                              cl_kernel_work_group_info info,
                                                              size_t size, void *value,
                                                              size_t *size_ret)
{
    const cl_int rc = next->clGetKernelWorkGroupInfo(k, d, info, size, value, size_ret);
    if (!rc && value && info == CL_KERNEL_PRIVATE_MEM_SIZE) *(cl_ulong *)value = spills(k, d) * 64;
    if (!rc && value && info == CL_KERNEL_LOCAL_MEM_SIZE && getenv("ADRENO_SILENT"))
        *(cl_ulong *)value = 0;
    if (!rc && value && info == CL_KERNEL_WORK_GROUP_SIZE && *(size_t *)value > group_limit())
        *(size_t *)value = group_limit();
    return rc;
}

/* ---- what it refuses ---- */

static CL_API_ENTRY cl_int CL_API_CALL EnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
    const size_t *local, cl_uint n, const cl_event *waits, cl_event *event)
{
    size_t items = 1;
    cl_device_id d;
    cl_ulong bytes = 0;
    for (cl_uint i = 0; local && i < dims; ++i) {
        items *= local[i];
        if (global[i] % local[i])
            return refuse("the global size is no multiple of the local one",
                          CL_INVALID_WORK_GROUP_SIZE);
    }
    if (local && device->rusticl && dims > 2 && local[2] > 64)
        return refuse("a group deeper than 64 items", CL_INVALID_WORK_ITEM_SIZE);
    if (items > group_limit())
        return refuse("a group of more items than the device has", CL_INVALID_WORK_GROUP_SIZE);
    if (!next->clGetCommandQueueInfo(q, CL_QUEUE_DEVICE, sizeof d, &d, NULL) &&
        !next->clGetKernelWorkGroupInfo(k, d, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes,
                                        NULL) &&
        bytes > local_bytes()) {
        return refuse("more local memory than there is", CL_OUT_OF_RESOURCES);
    }
    return next->clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, waits, event);
}

static void CL_CALLBACK free_memory(cl_mem mem, void *at)
{
    for (int i = 0; i < BUFFERS; ++i) {
        if (buffers[i].mem == mem) buffers[i].mem = NULL;
    }
    free(at);
}

static CL_API_ENTRY cl_mem CL_API_CALL CreateBuffer(cl_context c, cl_mem_flags flags, size_t bytes,
                                                    void *host, cl_int *error)
{
    const cl_mem_flags own = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    int free_place = 0;
    if (bytes > largest_buffer()) {
        if (error) *error = refuse("a buffer larger than the largest", CL_INVALID_BUFFER_SIZE);
        return NULL;
    }
    while (free_place < BUFFERS && buffers[free_place].mem) ++free_place;
    if (flags & own || free_place == BUFFERS)
        return next->clCreateBuffer(c, flags, bytes, host, error);
    void *at = NULL;
    if (posix_memalign(&at, 4096, bytes ? bytes : 1)) abort();
    cl_mem mem = next->clCreateBuffer(
        c, (flags & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR) | CL_MEM_USE_HOST_PTR, bytes, at, error);
    if (!mem) {
        free(at);
        return NULL;
    }
    buffers[free_place].mem = mem;
    buffers[free_place].at = at;
    next->clSetMemObjectDestructorCallback(mem, free_memory, at);
    return mem;
}

/* The address of a buffer or of a part of one. */
static char *memory_of(cl_mem mem)
{
    cl_mem parent = NULL;
    size_t offset = 0;
    next->clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
    next->clGetMemObjectInfo(mem, CL_MEM_OFFSET, sizeof offset, &offset, NULL);
    for (int i = 0; i < BUFFERS; ++i) {
        if (buffers[i].mem && buffers[i].mem == (parent ? parent : mem))
            return buffers[i].at + offset;
    }
    abort();
}

static CL_API_ENTRY cl_mem CL_API_CALL CreateImage(cl_context c, cl_mem_flags flags,
                                                   const cl_image_format *format,
                                                   const cl_image_desc *desc, void *host,
                                                   cl_int *error)
{
    cl_image_desc own = *desc;
    if (desc->image_width > IMAGE_SIDE || desc->image_height > IMAGE_SIDE) {
        *error = refuse("an image over 16384 a side", CL_INVALID_IMAGE_SIZE);
        return NULL;
    }
    if (!desc->buffer) return next->clCreateImage(c, flags, format, desc, host, error);
    if (device->rusticl) {
        *error = refuse("an image from a buffer, of which the device has none",
                        CL_INVALID_IMAGE_DESCRIPTOR);
        return NULL;
    }
    char *at = memory_of(desc->buffer);
    size_t offset = 0;
    next->clGetMemObjectInfo(desc->buffer, CL_MEM_OFFSET, sizeof offset, &offset, NULL);
    if (desc->image_row_pitch % (PITCH * PIXEL) || offset % (PITCH * PIXEL)) {
        *error = refuse("an image from a buffer that is not aligned to 64 pixels",
                        CL_INVALID_IMAGE_DESCRIPTOR);
        return NULL;
    }
    own.buffer = NULL;
    return next->clCreateImage(c, flags | CL_MEM_USE_HOST_PTR, format, &own, at, error);
}

/* ---- the loader's side ---- */

static void find_device(void)
{
    const char *id = getenv("ADRENO_DEVICE");
    int i = 0;
    if (!id || !*id) return;
    while (i < ADRENO_DEVICES && strcmp(adreno_devices[i].id, id)) ++i;
    if (i == ADRENO_DEVICES) {
        fprintf(stderr, "layer_adreno: ADRENO_DEVICE=%s is not in adreno_devices.h\n", id);
        abort();
    }
    device = &adreno_devices[i];
}

static char *with_dot(char *list)
{
    static const char more[] = " cl_khr_integer_dot_product";
    const size_t length = strlen(list);
    char *all = realloc(list, length + sizeof more);
    if (!all) abort();
    memcpy(all + length, more, sizeof more);
    return all;
}

static cl_int replace_entries(void)
{
    find_device();
    extensions = make_extensions();
    if (getenv("ADRENO_DOT")) extensions = with_dot(extensions);
    layer.clGetPlatformInfo = GetPlatformInfo;
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clGetDeviceIDs = GetDeviceIDs;
    layer.clCreateContext = CreateContext;
    layer.clGetKernelWorkGroupInfo = GetKernelWorkGroupInfo;
    layer.clEnqueueNDRangeKernel = EnqueueNDRangeKernel;
    layer.clCreateBuffer = CreateBuffer;
    layer.clCreateProgramWithSource = CreateProgramWithSource;
    layer.clCreateImage = CreateImage;
    return CL_SUCCESS;
}
