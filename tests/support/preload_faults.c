/* SPDX-License-Identifier: MIT */
/*
 * For Mesa's stand-in for an Adreno's kernel driver (LD_PRELOAD, in front of
 * libfreedreno_noop_drm_shim.so). It leaves the answer to a query of the submit queue unset.
 * Freedreno asks how many faults the GPU had, and takes what lay there for a number. Here it is 0.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* As in Linux's msm_drm.h: data, id, what is asked, bytes of the answer. */
typedef struct queue_query {
    uint64_t data;
    uint32_t id, param, bytes, pad;
} queue_query;
enum { DRM = 'd', QUEUE_QUERY = 0x4c };

int ioctl(int file, unsigned long request, ...)
{
    typedef int function(int, unsigned long, ...);
    union { void *object; function *code; } next = {dlsym(RTLD_NEXT, "ioctl")};
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (!next.object) abort();
    const int status = next.code(file, request, argument);
    if (status == 0 && _IOC_TYPE(request) == DRM && _IOC_NR(request) == QUEUE_QUERY) {
        const queue_query *q = argument;
        memset((void *)(uintptr_t)q->data, 0, q->bytes);
    }
    return status;
}
