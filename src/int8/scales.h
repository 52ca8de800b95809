/* SPDX-License-Identifier: MIT */
/*
 * The file of scales that a calibration writes and the row packed_int8 reads. Text, one line a
 * layer; empty lines and lines that begin with # do not count:
 *
 *     gemm-int8 3 LAYERS
 *     layer HASH M N K SCALE ZERO METHOD SNR
 *
 *   3        the version of the format. A file of version 2 has steps for narrow layers too
 *            (int8/layer.h), and these stay in single precision
 *   LAYERS   how many layers follow: so a file that was cut is known
 *   HASH     16 hexadecimal digits: gemm_scales_fingerprint of the layer
 *   M N K    its filters, the places of its output, and the taps of a filter; N is for readers
 *   SCALE    the input is about SCALE * (q - ZERO), q a whole number from -128 to 127; or `fp32`:
 *            the layer stays in single precision
 *   ZERO     the q of 0, from -128 to 127: below 0 where inputs are rather positive
 *   METHOD   how SCALE was found: percentile, error, range, or -
 *   SNR      signal to noise of the layer's output in dB, or -
 */
#ifndef INT8_SCALES_H
#define INT8_SCALES_H

#include "gemm_variant.h"

#include <stdint.h>
#include <stdio.h>

/* 2^16 products of 127 * 255 fit a sum of 32 bits: longer sums stay in single precision. */
enum { GEMM_INT8_MOST_K = 1 << 16 };

typedef enum gemm_scale_method {
    GEMM_SCALE_UNKNOWN,
    GEMM_SCALE_PERCENTILE,
    GEMM_SCALE_ERROR,
    GEMM_SCALE_RANGE
} gemm_scale_method;

/* One layer. */
typedef struct gemm_scale {
    uint64_t weights;           /* their fingerprint */
    int M, N, K;
    float scale;                /* what one step of the input stands for; 0: fp32 */
    int zero;                   /* the byte of 0 */
    gemm_scale_method method;
    float snr;                  /* dB; NaN: not known */
    bool by_noise;              /* of version 2 */
} gemm_scale;

typedef struct gemm_scales {
    gemm_scale *layers;
    int count;
} gemm_scales;

/* SCALE lies between these, so that neither it nor 1 / SCALE leaves the range of a float. */
#define GEMM_SCALE_LEAST 1e-30
#define GEMM_SCALE_MOST 1e30

/* The fingerprint of n x c / groups x size x size weights. 31 is odd, so a change of one weight
   always changes it. Never 0. */
uint64_t gemm_scales_fingerprint(const conv_call *);

enum { GEMM_SCALES_WHY = 320 };

/* Reads the file. Returns false with `why` set, in a line that begins with the file's name: it
   cannot be read, was cut, has a malformed line, or there is no memory. The caller frees the scales
   with gemm_scales_free. */
bool gemm_scales_read(const char *path, gemm_scales *, char why[GEMM_SCALES_WHY]);

/* The same from an open file; `path` is for the messages. */
bool gemm_scales_parse(FILE *, const char *path, gemm_scales *, char why[GEMM_SCALES_WHY]);

/* Writes the file. Returns false, with errno set, when that fails. */
bool gemm_scales_write(FILE *, const gemm_scales *);

/* The layer with these weights, or NULL. */
const gemm_scale *gemm_scales_find(const gemm_scales *, uint64_t weights, int M, int K);

void gemm_scales_free(gemm_scales *);

/* Such as "percentile". */
const char *gemm_scale_method_name(gemm_scale_method);

#endif
