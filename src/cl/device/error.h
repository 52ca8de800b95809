/* SPDX-License-Identifier: MIT */
/*
 * OpenCL's errors: every call goes through one of these macros, which say on stderr what failed.
 * For the OpenCL files only; called with gemm_cl_lock held.
 */
#ifndef GEMM_CL_ERROR_H
#define GEMM_CL_ERROR_H

#include "cl/device/opencl.h"

#include <stddef.h>

/* The name of an error code. */
const char *gemm_cl_error_name(cl_int);

/* Says that `what` failed, and remembers it as the reason of a call that fails. */
void gemm_cl_say_failed(const char *file, int line, const char *what, cl_int error);

/* The same for what is no error of OpenCL's. */
void gemm_cl_say(const char *what);

/* What was said last since gemm_cl_forget_failure, or "". */
const char *gemm_cl_last_failure(void);
void gemm_cl_forget_failure(void);

/* Says what failed and goes to the function's `fail:`. */
#define CL_TRY(expr)                                                                              \
    do {                                                                                          \
        const cl_int error_ = (expr);                                                             \
        if (error_ != CL_SUCCESS) {                                                               \
            gemm_cl_say_failed(__FILE__, __LINE__, #expr, error_);                                \
            goto fail;                                                                            \
        }                                                                                         \
    } while (0)

/* The same for a call that returns an object and takes &error. */
#define CL_MAKE(object, expr)                                                                     \
    do {                                                                                          \
        cl_int error = CL_SUCCESS;                                                                \
        (object) = (expr);                                                                        \
        if (error != CL_SUCCESS) {                                                                \
            gemm_cl_say_failed(__FILE__, __LINE__, #expr, error);                                 \
            (object) = NULL;                                                                      \
            goto fail;                                                                            \
        }                                                                                         \
    } while (0)

/* Releases an object and sets it to NULL. An object that is NULL already is left alone. */
#define CL_RELEASE(release, object)                                                               \
    do {                                                                                          \
        const cl_int error_ = (object) ? release(object) : CL_SUCCESS;                            \
        if (error_ != CL_SUCCESS)                                                                 \
            gemm_cl_say_failed(__FILE__, __LINE__, #release "(" #object ")", error_);             \
        (object) = NULL;                                                                          \
    } while (0)

#endif
