/* SPDX-License-Identifier: MIT */
/*
 * Calibration for 8 bits: which layers of a network may run in int8, and with which steps.
 *
 * While a network runs in single precision, each convolution shows its input here. At the end the
 * step of each layer's input is chosen, and a file is written (int8/scales.h): a line for each
 * layer, in the order in which they first ran. Behind them the table for a reader, as comments.
 *
 * All functions may be called from several threads. A child of fork begins with nothing.
 */
#ifndef GEMM_CALIBRATE_H
#define GEMM_CALIBRATE_H

#include "gemm_variant.h"

#include <stdint.h>

/* A layer whose output has less signal to noise, in dB, stays in single precision. */
extern const double gemm_least_snr;

/* The same for the layer before one of boxes, because no other layer evens its error out. */
extern const double gemm_least_snr_at_boxes;

/*
 * The file, or FOLDER/ with its slash, for a search of `darknet-gemm calibrate`. In single
 * precision FOLDER/steps gets a step for each layer that may go in 8 bits, FOLDER/wide one without
 * a clip, and FOLDER/outputs what the convolutions before yolo and region compute. With `compares`
 * a row in 8 bits computes these again, and a line on stderr says by how much they differ. Returns
 * NULL, or why that cannot be; valid until the next call of strerror.
 */
const char *gemm_calibration_begin(const char *path, bool compares);

/* Whether it is FOLDER/. */
bool gemm_calibration_searches(const char *path);

/* Shows the input of a convolution, with batch norm folded in; `norm`: it has one; `done`: its
   output is there. Memory that is missing leaves the layer in single precision. */
void gemm_calibration_add(const conv_call *, bool norm, bool done);

/*
 * Chooses the steps, writes the file and prints a table on stderr, but in a search. Then everything
 * is forgotten. Where another process wrote the file after the run `began` (util/started.h), this
 * one's number is added to the name. Returns NULL, or why there is no file: it was not written, or
 * no layer ran. A child of fork in which no layer ran returns NULL.
 */
const char *gemm_calibration_write(const char *path, int64_t began);

#endif
