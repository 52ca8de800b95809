/* SPDX-License-Identifier: MIT */
/* Output points of a convolution: see points.h. */
#include "calibrate/points.h"

#include "calibrate/histogram.h"
#include "op/activation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many points cost about COST multiplications for each step that is tried. A picture offers
   OFFERED of its points. */
enum { LEAST = 64, MOST = 1024, COST = 1 << 24, OFFERED = 64 };

struct gemm_points {
    int M, K, room, count;
    uint64_t seen, state;       /* points that were offered; random numbers */
    conv_activation activation;
    int8_t *weights;            /* M x K */
    float *filter;              /* M: what a step of a filter's weights stands for */
    float *scale, *shift;       /* M */
    float *columns, *outputs;   /* room x K, room x M */
};

/* ---- one filter at one point ---- */

static float behind(const gemm_points *p, int filter, double sum)
{
    const float x = (float)(p->scale[filter] * sum + p->shift[filter]);
    return (float)gemm_activate(x, p->activation);
}

static double dot(const float *a, const float *b, int K)
{
    double sum = 0;
    for (int p = 0; p < K; ++p) sum += (double)a[p] * b[p];
    return sum;
}

/* K is at most GEMM_INT8_MOST_K, so the sum fits. */
static int32_t dot_int8(const int8_t *a, const int16_t *b, int K)
{
    int32_t sum = 0;
    for (int p = 0; p < K; ++p) sum += a[p] * b[p];
    return sum;
}

/* ---- 8 bits ---- */

static void round_filter(const float *w, size_t n, float step, int8_t *to)
{
    for (size_t i = 0; i < n; ++i) {
        const float number = rintf(w[i] / step), most = GEMM_INT8_MOST;
        to[i] = (int8_t)(number > most ? most : number < -most ? -most : number);
    }
}

/* Bytes less that of 0. */
static void round_inputs(const float *x, size_t n, float step, int zero, int16_t *to)
{
    const float most = (float)(GEMM_INT8_MOST - zero), least = (float)(-GEMM_INT8_MOST - 1 - zero);
    for (size_t i = 0; i < n; ++i) {
        const float number = rintf(x[i] / step);
        to[i] = (int16_t)(number > most ? most : number < least ? least : number);
    }
}

static void round_weights(gemm_points *p, const float *weights)
{
    for (int i = 0; i < p->M; ++i) {
        const float *filter = weights + (size_t)i * (size_t)p->K;
        float most = 0;
        for (int k = 0; k < p->K; ++k) most = fmaxf(most, fabsf(filter[k]));
        p->filter[i] = most / GEMM_INT8_MOST;
        if (p->filter[i] > 0)
            round_filter(filter, (size_t)p->K, p->filter[i], p->weights + (size_t)i * p->K);
    }
}

/* ---- making ---- */

static int room_of(const conv_call *c)
{
    const double each = (double)c->n * gemm_conv_taps(c);
    const double room = COST / each;
    return room < LEAST ? LEAST : room > MOST ? MOST : (int)room;
}

/* All arrays lie behind the struct. */
gemm_points *gemm_points_make(const conv_call *c)
{
    const int most = room_of(c);
    const size_t M = (size_t)c->n, K = (size_t)gemm_conv_taps(c), room = (size_t)most;
    gemm_points *p = calloc(1, sizeof *p + (3 * M + room * (K + M)) * sizeof(float) + M * K);
    if (!p) return NULL;
    float *const filter = (float *)(p + 1), *const columns = filter + 3 * M;
    *p = (gemm_points){.M = c->n, .K = (int)K, .room = most, .state = 1,
                       .activation = c->activation, .filter = filter, .scale = filter + M,
                       .shift = filter + 2 * M, .columns = columns, .outputs = columns + room * K,
                       .weights = (int8_t *)(columns + room * (K + M))};
    for (size_t i = 0; i < M; ++i) p->scale[i] = c->scale ? c->scale[i] : 1;
    memcpy(p->shift, c->shift, M * sizeof(float));
    round_weights(p, c->weights);
    return p;
}

void gemm_points_free(gemm_points *p)
{
    free(p);
}

/* ---- adding ---- */

/* A number below n: xorshift64*, of S. Vigna. */
static uint64_t draw(gemm_points *p, uint64_t n)
{
    p->state ^= p->state >> 12;
    p->state ^= p->state << 25;
    p->state ^= p->state >> 27;
    return (p->state * UINT64_C(2685821657736338717) >> 16) % n;
}

/* A column of im2col, for a point of an image of the batch. */
static void read_column(const conv_call *c, uint64_t point, float *to)
{
    const int places = gemm_conv_places(c), place = (int)(point % (uint64_t)places);
    const size_t map = (size_t)c->h * (size_t)c->w;
    const float *image = c->input + point / (uint64_t)places * (size_t)c->c * map;
    const int y0 = place / c->out_w * c->stride - c->pad;
    const int x0 = place % c->out_w * c->stride - c->pad;
    for (int k = 0; k < c->c; ++k)
        for (int y = y0; y < y0 + c->size; ++y)
            for (int x = x0; x < x0 + c->size; ++x)
                *to++ = y < 0 || y >= c->h || x < 0 || x >= c->w
                            ? 0
                            : image[(size_t)k * map + (size_t)y * (size_t)c->w + (size_t)x];
}

static void take(gemm_points *p, int at, const conv_call *c, uint64_t point)
{
    float *column = p->columns + (size_t)at * (size_t)p->K;
    float *output = p->outputs + (size_t)at * (size_t)p->M;
    read_column(c, point, column);
    for (int i = 0; i < p->M; ++i)
        output[i] = behind(p, i, dot(c->weights + (size_t)i * (size_t)p->K, column, p->K));
}

/* Each point of all pictures has the same chance, as far as pictures have the same size. */
void gemm_points_add(gemm_points *p, const conv_call *c)
{
    const uint64_t all = (uint64_t)c->batch * (uint64_t)gemm_conv_places(c);
    const uint64_t offered = all < OFFERED ? all : OFFERED;
    for (uint64_t i = 0; i < offered; ++i) {
        const uint64_t point = all == offered ? i : draw(p, all), seen = p->seen++;
        const uint64_t at = p->count < p->room ? (uint64_t)p->count++ : draw(p, seen + 1);
        if (at < (uint64_t)p->room) take(p, (int)at, c, point);
    }
}

/* ---- measuring ---- */

double gemm_points_snr(const gemm_points *p, float step, int zero)
{
    double signal = 0, noise = 0;
    int16_t *column = malloc((size_t)p->K * sizeof *column);
    if (!column) return -GEMM_SNR_MOST;
    for (int j = 0; j < p->count; ++j) {
        const float *output = p->outputs + (size_t)j * (size_t)p->M;
        round_inputs(p->columns + (size_t)j * (size_t)p->K, (size_t)p->K, step, zero, column);
        for (int i = 0; i < p->M; ++i) {
            const int32_t sum = dot_int8(p->weights + (size_t)i * (size_t)p->K, column, p->K);
            const double error = behind(p, i, (double)sum * p->filter[i] * step) - output[i];
            signal += (double)output[i] * output[i];
            noise += error * error;
        }
    }
    free(column);
    if (!isfinite(signal) || !isfinite(noise)) return -GEMM_SNR_MOST;
    if (noise <= signal * 1e-15) return GEMM_SNR_MOST;
    return fmax(10 * log10(signal / noise), -GEMM_SNR_MOST);
}
