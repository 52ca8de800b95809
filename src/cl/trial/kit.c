/* SPDX-License-Identifier: MIT */
/* What all trials do: see kit.h. */
#include "cl/trial/kit.h"

#include "util/ints.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options and operands ---- */

/* The text behind an option, or NULL. */
static const char *find_option(const gemm_cl_kit *k, const char *option)
{
    const size_t length = strlen(option);
    const char *at = k->p->options;
    while ((at = strstr(at, option))) {
        const char before = at == k->p->options ? ' ' : at[-1], behind = at[length];
        if (before == ' ' && (behind == ' ' || behind == '=' || !behind)) return at + length;
        at += length;
    }
    return NULL;
}

bool gemm_cl_kit_has(const gemm_cl_kit *k, const char *option)
{
    return find_option(k, option);
}

int gemm_cl_kit_number(const gemm_cl_kit *k, const char *option, int otherwise)
{
    const char *at = find_option(k, option);
    return at && *at == '=' ? (int)strtol(at + 1, NULL, 10) : otherwise;
}

float *gemm_cl_kit_room(gemm_cl_kit *k, size_t n)
{
    if (k->used + n > GEMM_CL_KIT_ROOM) {
        gemm_cl_say("the trial of an OpenCL program needs more room");
        k->unfinished = true;
        k->used = 0;
    }
    float *at = k->memory + k->used;
    k->used += n;
    memset(at, 0, n * sizeof *at);
    return at;
}

float *gemm_cl_kit_made_up(gemm_cl_kit *k, size_t n)
{
    float *at = gemm_cl_kit_room(k, n);
    for (size_t i = 0; i < n; ++i) {
        const uint32_t mixed = (uint32_t)(k->used + i) * 2654435761u;
        at[i] = (float)((int)((mixed >> 8) % 9) - 4) / 4;
    }
    return at;
}

float *gemm_cl_kit_norm(gemm_cl_kit *k, int n)
{
    float *norm = gemm_cl_kit_made_up(k, 2 * (size_t)n);
    for (int i = 0; i < n; ++i) norm[i] += 2;
    return norm;
}

/* ---- 16 bits ---- */

/* Of a float that 16 bits hold exactly. */
static uint16_t narrow(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, number = bits & 0x7fffffff;
    return (uint16_t)(sign | (number ? (number >> 13) - (112 << 10) : 0));
}

/* Of a half-float that is normal or 0. Anything else becomes NaN, as it is no expected value. */
static float widen(uint16_t half)
{
    const uint32_t number = half & 0x7fff, exponent = number >> 10;
    const uint32_t bits = (uint32_t)(half & 0x8000) << 16 |
                          (number ? (number << 13) + ((uint32_t)112 << 23) : 0);
    float x;
    memcpy(&x, &bits, sizeof x);
    return number && (exponent == 0 || exponent == 31) ? NAN : x;
}

/* n floats at `from` as the device has them, and back. */
static void encode(void *to, const float *from, size_t n, bool half)
{
    if (!half) memcpy(to, from, n * sizeof *from);
    for (size_t i = 0; half && i < n; ++i) ((uint16_t *)to)[i] = narrow(from[i]);
}

static void decode(float *to, const void *from, size_t n, bool half)
{
    if (!half) memcpy(to, from, n * sizeof *to);
    for (size_t i = 0; half && i < n; ++i) to[i] = widen(((const uint16_t *)from)[i]);
}

static size_t bytes_of(size_t n, bool half)
{
    return n * (half ? sizeof(uint16_t) : sizeof(float));
}

/* ---- buffers and images ---- */

cl_mem gemm_cl_kit_buffer(gemm_cl_kit *k, gemm_cl_slot slot, const float *data, size_t n,
                          bool half)
{
    const gemm_cl_slot own = k->inner ? slot + (SLOT_INNER - SLOT_TRIAL) : slot;
    cl_mem mem = k->unfinished ? NULL : gemm_cl_scratch(own, GEMM_CL_KIT_BYTES);
    float *coded = gemm_cl_kit_room(k, n);
    if (!mem || bytes_of(n, half) > GEMM_CL_KIT_BYTES) goto fail;
    encode(coded, data, n, half);
    CL_TRY(clEnqueueWriteBuffer(gemm_cl_opened()->queue, mem, CL_TRUE, 0, bytes_of(n, half), coded,
                                0, NULL, NULL));
    return mem;
fail:
    k->unfinished = true;
    return mem;
}

/* Both directions: writes `from`, or reads to `to`, where it is not NULL. 0 or -1. */
static int move_image(cl_mem image, const float *from, float *to, int width, int height, bool half)
{
    const size_t origin[3] = {0}, region[3] = {(size_t)width, (size_t)height, 1};
    const size_t columns = 4 * (size_t)width;
    const cl_map_flags access = from ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ;
    cl_command_queue queue = gemm_cl_opened()->queue;
    size_t pitch = 0;
    char *at;
    CL_MAKE(at, clEnqueueMapImage(queue, image, CL_TRUE, access, origin, region, &pitch, NULL, 0,
                                  NULL, NULL, &error));
    for (size_t y = 0; y < (size_t)height; ++y) {
        if (from) encode(at + y * pitch, from + y * columns, columns, half);
        if (to) decode(to + y * columns, at + y * pitch, columns, half);
    }
    CL_TRY(clEnqueueUnmapMemObject(queue, image, at, 0, NULL, NULL));
    return 0;
fail:
    return -1;
}

cl_mem gemm_cl_kit_image(gemm_cl_kit *k, const float *data, int width, int height, bool half)
{
    cl_mem image = k->unfinished ? NULL
                                 : gemm_cl_image_get((size_t)width, (size_t)height, half);
    if (!image || move_image(image, data, NULL, width, height, half)) k->unfinished = true;
    return image;
}

gemm_cl_operand gemm_cl_kit_operand(gemm_cl_kit *k, gemm_cl_slot slot, int first, int n)
{
    const size_t count = (size_t)first + (size_t)n;
    const float *all = gemm_cl_kit_made_up(k, count);
    cl_mem mem = gemm_cl_kit_buffer(k, slot, all, count, false);
    return (gemm_cl_operand){all + first, mem};
}

gemm_cl_output gemm_cl_kit_output(gemm_cl_kit *k, int n)
{
    gemm_cl_output o = {.count = GEMM_CL_KIT_TO + (size_t)n + 3};
    o.before = gemm_cl_kit_made_up(k, o.count);
    o.after = gemm_cl_kit_room(k, o.count);
    memcpy(o.after, o.before, o.count * sizeof(float));
    o.mem = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, o.before, o.count, false);
    return o;
}

float gemm_cl_kit_pixel(const float *channel, int h, int w, int y, int x)
{
    return y >= 0 && y < h && x >= 0 && x < w ? channel[y * w + x] : 0;
}

/* ---- launches and results ---- */

void gemm_cl_kit_run(gemm_cl_kit *k, const gemm_cl_arguments *args, int x, int y, int z,
                     int wide)
{
    const size_t most = gemm_cl_line(k->p, SIZE_MAX);
    const size_t local[3] = {most < (size_t)wide ? most : (size_t)wide, 1, 1};
    const size_t global[3] = {round_up((size_t)x, local[0]), (size_t)y, (size_t)z};
    if (!k->unfinished) k->unfinished = gemm_cl_run_shared(k->p, args, global, local);
}

float *gemm_cl_kit_read(gemm_cl_kit *k, cl_mem mem, size_t n, bool half)
{
    float *coded = gemm_cl_kit_room(k, n), *actual = gemm_cl_kit_room(k, n);
    if (k->unfinished) return actual;
    CL_TRY(clEnqueueReadBuffer(gemm_cl_opened()->queue, mem, CL_TRUE, 0, bytes_of(n, half), coded,
                               0, NULL, NULL));
    decode(actual, coded, n, half);
    return actual;
fail:
    k->unfinished = true;
    return actual;
}

static void say_wrong(gemm_cl_kit *k, double difference)
{
    k->wrong = true;
    snprintf(k->reason, sizeof k->reason, "it gives wrong results (off by %g in a trial, with "
             "%.60s)", difference, k->p->options);
}

/* Rounding and exp are off by less than this part. A fault of a compiler is off by more. */
void gemm_cl_kit_compare(gemm_cl_kit *k, const float *expected, const float *actual, size_t n)
{
    const double part = 1e-3;
    for (size_t i = 0; i < n && !k->wrong && !k->unfinished; ++i) {
        const double e = expected[i], a = actual[i];
        if (!(fabs(a - e) <= part * (1 + fabs(e))) && !(isnan(e) && isnan(a)))
            say_wrong(k, fabs(a - e));
    }
}

void gemm_cl_kit_judge(gemm_cl_kit *k, int status, const gemm_error *e)
{
    if (status) gemm_cl_say("out of memory");
    k->unfinished = k->unfinished || status;
    if (!k->unfinished && !k->wrong && e->ratio > 1) say_wrong(k, e->difference);
}

void gemm_cl_kit_expect(gemm_cl_kit *k, cl_mem mem, const float *expected, size_t n, bool half)
{
    gemm_cl_kit_compare(k, expected, gemm_cl_kit_read(k, mem, n, half), n);
}

void gemm_cl_kit_expect_image(gemm_cl_kit *k, cl_mem image, const float *expected, int width,
                              int height, bool half)
{
    const size_t n = 4 * (size_t)width * (size_t)height;
    float *actual = gemm_cl_kit_room(k, n);
    if (k->unfinished) return;
    if (move_image(image, NULL, actual, width, height, half)) k->unfinished = true;
    gemm_cl_kit_compare(k, expected, actual, n);
}
