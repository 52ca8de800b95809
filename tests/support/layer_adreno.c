/*
 * An OpenCL layer (OPENCL_LAYERS=layer_adreno.so) that makes a CPU's OpenCL device look like an
 * Adreno, and enforces an Adreno's limits:
 *
 *   - a GPU with unified memory, without fp16; an Adreno 640, or ADRENO_MODEL
 *   - ADRENO_FP16=1 lists cl_khr_fp16. Then cl_image's 16-bit arithmetic has 32 bits, because the
 *     CPU has no other
 *   - a compiler that spills no registers, or those of programs whose options contain ADRENO_SPILLS
 *   - groups of at most 256 items; a global size must be a multiple of the local one
 *   - 32 KiB of local memory; ADRENO_LOCAL names another number of bytes. What a kernel takes is
 *     what the CPU's driver says: PoCL 6 says 0, as every kernel does under ADRENO_SILENT=1
 *   - images up to 16384 a side, or less where the device below has less
 *   - an image from a buffer needs rows of a multiple of 64 pixels and a start aligned to 64 pixels
 *
 * A program that breaks a limit gets the error that the driver would give, and the layer says so.
 *
 * Every buffer lies in memory of the layer's own. An image from a buffer is an image over the same
 * memory.
 */
#define LAYER_NAME "an Adreno's limits"
#include "layer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_SIDE = 16384, PITCH = 64, GROUP = 256, PIXEL = 16, BUFFERS = 4096 };
enum { PITCH_ALIGNMENT = 0x104A, BASE_ALIGNMENT = 0x104B };

static struct { cl_mem mem; char *at; } buffers[BUFFERS];

static cl_ulong local_bytes(void)
{
    const char *bytes = getenv("ADRENO_LOCAL");
    return bytes ? strtoull(bytes, NULL, 10) : 32768;
}

static bool has_fp16(void)
{
    const char *wanted = getenv("ADRENO_FP16");
    return wanted && *wanted == '1';
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
    const char *options = getenv("ADRENO_SPILLS");
    char built[1024] = "";
    cl_program p;
    return options && *options &&
           !next->clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof p, &p, NULL) &&
           !next->clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_OPTIONS, sizeof built, built,
                                        NULL) &&
           strstr(built, options);
}

static cl_int refuse(const char *what, cl_int error)
{
    fprintf(stderr, "layer_adreno: %s\n", what);
    return error;
}

/* ---- what the device says of itself -------------------------------------------------------- */

static cl_int answer_size(cl_device_id d, cl_device_info info, size_t limit, size_t size,
                          void *value, size_t *size_ret)
{
    size_t real = 0;
    const cl_int rc = next->clGetDeviceInfo(d, info, sizeof real, &real, NULL);
    if (rc) return rc;
    real = real < limit ? real : limit;
    return answer(&real, sizeof real, size, value, size_ret);
}

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    static const char name[] = "QUALCOMM Adreno(TM) (layer)";
    static const char all_extensions[] = "cl_khr_byte_addressable_store cl_khr_image2d_from_buffer "
                                         "cl_khr_3d_image_writes cl_khr_fp16";
    char extensions[sizeof all_extensions];
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const cl_bool yes = CL_TRUE;
    const cl_uint pitch = PITCH, units = 2;
    const cl_ulong local = local_bytes();
    char version[64];
    const size_t items[3] = {GROUP, GROUP, GROUP};
    const char *model = getenv("ADRENO_MODEL");
    snprintf(version, sizeof version, "OpenCL 2.0 Adreno(TM) %.8s", model ? model : "640");
    strcpy(extensions, all_extensions);
    if (!has_fp16()) *strstr(extensions, " cl_khr_fp16") = '\0';
    switch (info) {
    case CL_DEVICE_VERSION:
        return answer(version, strlen(version) + 1, size, value, size_ret);
    case CL_DEVICE_NAME: return answer(name, sizeof name, size, value, size_ret);
    case CL_DEVICE_TYPE: return answer(&gpu, sizeof gpu, size, value, size_ret);
    case CL_DEVICE_EXTENSIONS:
        return answer(extensions, strlen(extensions) + 1, size, value, size_ret);
    case CL_DEVICE_HOST_UNIFIED_MEMORY: return answer(&yes, sizeof yes, size, value, size_ret);
    case CL_DEVICE_MAX_COMPUTE_UNITS: return answer(&units, sizeof units, size, value, size_ret);
    case CL_DEVICE_LOCAL_MEM_SIZE: return answer(&local, sizeof local, size, value, size_ret);
    case PITCH_ALIGNMENT:
    case BASE_ALIGNMENT: return answer(&pitch, sizeof pitch, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer(items, sizeof items, size, value, size_ret);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: return answer_size(d, info, GROUP, size, value, size_ret);
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
        return answer_size(d, info, IMAGE_SIDE, size, value, size_ret);
    default: return next->clGetDeviceInfo(d, info, size, value, size_ret);
    }
}

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceIDs(cl_platform_id p, cl_device_type type,
                                                    cl_uint n, cl_device_id *ids, cl_uint *count)
{
    const cl_device_type real = type == CL_DEVICE_TYPE_GPU ? CL_DEVICE_TYPE_ALL : type;
    return type == CL_DEVICE_TYPE_CPU ? CL_DEVICE_NOT_FOUND
                                      : next->clGetDeviceIDs(p, real, n, ids, count);
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
    if (!rc && value && info == CL_KERNEL_WORK_GROUP_SIZE && *(size_t *)value > GROUP)
        *(size_t *)value = GROUP;
    return rc;
}

/* ---- what it refuses ------------------------------------------------------------------------ */

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
    if (items > GROUP) return refuse("a group of more than 256 items", CL_INVALID_WORK_GROUP_SIZE);
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

/* ---- the loader's side ---------------------------------------------------------------------- */

static cl_int replace_entries(void)
{
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clGetDeviceIDs = GetDeviceIDs;
    layer.clGetKernelWorkGroupInfo = GetKernelWorkGroupInfo;
    layer.clEnqueueNDRangeKernel = EnqueueNDRangeKernel;
    layer.clCreateBuffer = CreateBuffer;
    layer.clCreateProgramWithSource = CreateProgramWithSource;
    layer.clCreateImage = CreateImage;
    return CL_SUCCESS;
}
