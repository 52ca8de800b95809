/* SPDX-License-Identifier: MIT */
/*
 * The layers of a Darknet that the chosen row of GEMM_IMPL computes at inference. Each kind of
 * Darknet has its own way to hook_take: pjreddie.h, preload/patched.h, preload/doors.c,
 * preload/wrapped.c.
 *
 * Darknet's own code runs for training, for xnor, for what the row does not offer or declines, and
 * for a 1x1 convolution with stride or padding, because Darknet computes it as if it had none.
 */
#ifndef HOOK_H
#define HOOK_H

#include "hook/fork.h"

/*
 * Runs layer net.index, and with it the layers behind it that the row takes in the same call.
 * Returns the number of the last layer that ran, or -1 when Darknet's own code has to run.
 * `output` is that of the layer Darknet is about to run.
 */
int hook_take(hook_net net, float *output);

/* Runs a convolution alone. Returns 0 when Darknet's own code has to run. */
int hook_convolve(const layer *, hook_net);

/* Whether a pass gives this convolution to the row. The row may still decline. */
int convolution_hooked(layer, hook_net);

#endif
