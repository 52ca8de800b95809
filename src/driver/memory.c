/* SPDX-License-Identifier: MIT */
/*
 * Memory for Darknet's buffers. While a row on a device is chosen, or `auto` may take one, it comes
 * from that device's driver. Otherwise, or when the device has none left, it comes from calloc.
 *
 * Blocks of both kinds may exist at the same time. src/cl knows its own blocks by their address.
 */
#include "cl/configure.h"
#include "driver/memory.h"
#include "driver/start.h"
#include "util/die.h"
#include "util/large.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool gemm_shares_memory(const gemm_variant *v)
{
    return gemm_is_on_device(v) || (v->device && v->device->may_share && v->device->may_share());
}

void *gemm_host_alloc(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    const int before = errno;
    void *p = gemm_shares_memory(gemm_get_state()->impl) ? gemm_cl_alloc(count * size) : NULL;
    errno = before;
    if (p) return p;
    p = calloc(count, size);
    gemm_advise_large(p, count * size);
    return p;
}

void gemm_host_free(void *p)
{
    const int before = errno;
    if (!gemm_cl_free(p)) free(p);
    errno = before;
}

/* A block of the device cannot grow in place: it is copied to a new one. */
void *gemm_host_realloc(void *p, size_t bytes)
{
    const size_t old = gemm_cl_alloc_size(p);   /* 0: not of the device */
    if (p && !old) return realloc(p, bytes);
    void *q = gemm_host_alloc(bytes ? bytes : 1, 1);
    if (q && old) {
        gemm_host_read(p, old);
        memcpy(q, p, old < bytes ? old : bytes);
        gemm_cl_free(p);
    }
    return q;
}

bool gemm_host_is_plain(const void *p)
{
    return gemm_cl_alloc_size(p) == 0;
}

static int wanted_b_ld(int columns)
{
    const gemm_variant *v = gemm_get_state()->impl;
    gemm_row_b_ld *b_ld = v->device ? v->device->b_ld : NULL;
    return b_ld && columns > 0 ? b_ld(columns, v->params) : columns;
}

/* An image of columns in the middle ends one row behind the last one. */
size_t gemm_b_bytes(int rows, int columns)
{
    const int ld = wanted_b_ld(columns);
    return ((size_t)rows + (ld != columns)) * (size_t)ld * sizeof(float);
}

int gemm_b_ld(const float *b, int rows, int columns)
{
    const int ld = wanted_b_ld(columns);
    return ld == columns || gemm_cl_alloc_size(b) >= gemm_b_bytes(rows, columns) ? ld : columns;
}

static void give_to_cpu(const void *data, size_t bytes, gemm_cl_cpu_use use)
{
    const int before = errno;
    const char *why = gemm_cl_give_to_cpu(data, bytes, use);
    if (why) gemm_die("the output of a layer is lost on the OpenCL device: %s", why);
    errno = before;
}

void gemm_host_read(const void *data, size_t bytes)
{
    give_to_cpu(data, bytes, GEMM_CL_CPU_READS);
}

void gemm_host_write(const void *data, size_t bytes)
{
    give_to_cpu(data, bytes, GEMM_CL_CPU_WRITES);
}

void gemm_operands_to_cpu(const gemm_op *op)
{
    if (!gemm_cl_has_left()) return;
    for (int i = 0, count = gemm_op_spans(op); i < count; ++i) {
        const gemm_span s = gemm_op_span(op, i);
        if (s.read) gemm_host_read(s.data, s.bytes);
        if (s.written) gemm_host_write(s.data, s.bytes);
    }
}

void gemm_read_back(const gemm_op *op)
{
    for (int i = 0, count = gemm_op_spans(op); i < count; ++i) {
        const gemm_span s = gemm_op_span(op, i);
        gemm_host_read(s.data, s.bytes);
    }
}
