/* SPDX-License-Identifier: MIT */
/*
 * Many images at once: each thread takes whole images through the network (gemm_images_apart).
 *
 *   network   weights, layers, plans   <- images at first, one after the other, until all is prepared
 *   shares    its weights, outputs and lent plans of their own   <- then an image each, at once
 *
 * In a network of a batch there are no shares: an image has a copy of the layers, whose outputs are
 * the image's part of the batch.
 */
#ifndef HOOK_BATCH_H
#define HOOK_BATCH_H

#include "hook/hook.h"

/* An image of a batch: a pass of it uses these layers, slots and batch norms. */
typedef struct hook_image {
    layer *layers;
    int n;
    gemm_plan ***slots, **lent; /* slots: of the network, or those in `lent` */
    const conv_norm *norms;
} hook_image;

/* The image of this thread, or NULL. */
extern _Thread_local const hook_image *hook_present;

/*
 * At layer 0 of a pass of at least as many images as threads: each thread takes images of its own
 * through the layers that the row takes, and threads wait once. Returns the number of the last
 * layer that ran. -1: nothing ran, or all layers have to run.
 */
int hook_apart(hook_net net);

#ifndef HOOK_PRELOAD

/* A network for one image with the weights of `of`, which lasts longer. NULL: without memory, or
   where a layer keeps something from image to image, or may change the weights. */
network *share_network(const network *of);
void free_share(network *);

/* Before passes of the share: it gets the plans of `of`. Returns 0 where `of` has to make a pass
   inside of gemm_images_apart first. */
int lend_plans(network *share, const network *of);

/* After them, before anything else uses `of`. */
void return_plans(network *share);

#endif

#endif
