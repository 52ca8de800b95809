/*
 * The OpenCL device: opened once, its programs built once. For the OpenCL files only.
 *
 * Everything here is called with gemm_cl_lock held: one device, one queue, one call at a time.
 */
#ifndef GEMM_CL_DEVICE_H
#define GEMM_CL_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "cl/configure.h"
#include "gemm_cl.h"

typedef struct gemm_cl_device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;         /* kernels and the CPU's access, in order */
    cl_command_queue transfers;     /* uploads that may overtake kernels */
    gemm_cl_traits traits;
    char name[128], driver[192];
    size_t group_items, item_sizes[3];
    size_t image_width, image_height;
    cl_uint pitch_alignment;        /* pixels; 0: no image from a buffer */
    cl_uint base_alignment;         /* pixels, of such an image's first */
    cl_ulong memory;
} gemm_cl_device;

typedef struct gemm_cl_program {
    struct gemm_cl_program *next;
    const char *name;
    char *options;
    cl_program program;
    cl_kernel kernel;
    cl_uint args;
    size_t group_items;             /* CL_KERNEL_WORK_GROUP_SIZE */
    cl_ulong spilled;               /* CL_KERNEL_PRIVATE_MEM_SIZE */
    cl_ulong local;                 /* CL_KERNEL_LOCAL_MEM_SIZE */
    char *why;                      /* it could not be built */
} gemm_cl_program;

void gemm_cl_lock(void);
void gemm_cl_unlock(void);

/* What the driver said by gemm_cl_configure. */
const gemm_cl_configuration *gemm_cl_settings(void);

/* The device of GEMM_CL_DEVICE, or NULL and the reason. Opened by the first call. */
const gemm_cl_device *gemm_cl_open(const char **why);

/* kernels/<name>.cl built with these options, or NULL and the reason. */
const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why);

const char *gemm_cl_error_name(cl_int);
void gemm_cl_say_failed(const char *file, int line, const char *what, cl_int error);

/* Logs what failed and goes to the function's `fail:`. */
#define CL_TRY(expr)                                                                             \
    do {                                                                                         \
        const cl_int error_ = (expr);                                                            \
        if (error_ != CL_SUCCESS) {                                                              \
            gemm_cl_say_failed(__FILE__, __LINE__, #expr, error_);                               \
            goto fail;                                                                           \
        }                                                                                        \
    } while (0)

/* The same for calls that return an object and take &error. */
#define CL_MAKE(object, expr)                                                                    \
    do {                                                                                         \
        cl_int error = CL_SUCCESS;                                                               \
        (object) = (expr);                                                                       \
        if (error != CL_SUCCESS) {                                                               \
            gemm_cl_say_failed(__FILE__, __LINE__, #expr, error);                                \
            (object) = NULL;                                                                     \
            goto fail;                                                                           \
        }                                                                                        \
    } while (0)

/* kernels/ as text, made by the build. */
typedef struct gemm_cl_source {
    const char *name, *text;
} gemm_cl_source;

extern const gemm_cl_source gemm_cl_sources[];
extern const size_t gemm_cl_source_count;

/* Compiled programs on disk: cl/cache.c. */
typedef struct gemm_cl_key {
    const char *name, *source, *options, *device, *driver;
} gemm_cl_key;

/* The program's binary, malloc'd, or NULL; says why when a file is there and cannot be used. */
unsigned char *gemm_cl_cache_read(const gemm_cl_key *, size_t *bytes);
void gemm_cl_cache_write(const gemm_cl_key *, const unsigned char *binary, size_t bytes);

#endif
