/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a network, for a search of layers that may go in 8 bits. One run of a program
 * keeps them in a file, in the order in which they are computed. Another run, with the same
 * pictures, compares its own with them. A network's outputs are those of convolutions that are linear and
 * have no batch norm: yolo and region follow them.
 *
 * The file is unbuffered floats. A child of fork takes no part.
 */
#ifndef GEMM_OUTPUTS_H
#define GEMM_OUTPUTS_H

#include "gemm_variant.h"

enum { GEMM_OUTPUTS_MOST = 999 };

/* Opens the file to compare with, or makes it, where there was none. Returns NULL, or why not. */
const char *gemm_outputs_open(const char *path, bool compare);

/* Whether this process keeps outputs, and whether it compares them. */
bool gemm_outputs_are_kept(void);
bool gemm_outputs_are_compared(void);

/* Takes n of them. */
void gemm_outputs_add(const float *, size_t n);

/*
 * Closes the file. *error is the largest |a - b| of outputs over their largest |b|, each layer and
 * picture for itself, and at most GEMM_OUTPUTS_MOST, which also stands for NaN. It is -1 where not
 * all outputs were kept, or other ones came than were kept. Returns false where there were none.
 */
bool gemm_outputs_close(double *error);

#endif
