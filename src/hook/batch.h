/* SPDX-License-Identifier: MIT */
/*
 * A batch of at least as many images as threads: each thread takes images of its own through the
 * network (gemm_images_apart). An image has a copy of the layers, whose outputs are the image's
 * part of the batch, and lent plans. The first images run on the layers' own plans, one after the
 * other, until all is prepared.
 */
#ifndef HOOK_BATCH_H
#define HOOK_BATCH_H

#include "hook/fork.h"

/* An image of a batch: a pass of it uses these layers, slots and batch norms. */
typedef struct hook_image {
    layer *layers;
    int n;
    gemm_plan ***slots, **lent; /* slots: of the network, or those in `lent` */
    const conv_norm *norms;
} hook_image;

/* The image of this thread, or NULL. */
extern _Thread_local const hook_image *hook_present;

/* hook_take of hook.h, and whether the row may compute a convolution with its plan. */
typedef int hook_take_layer(hook_net net, float *output);
typedef int hook_keeps_plan(const layer *, hook_net net);

/* Called at layer 0. Returns the number of the last layer that ran. -1: nothing ran, or all layers
   have to run. */
int hook_apart(hook_net net, hook_take_layer *, hook_keeps_plan *);

#endif
