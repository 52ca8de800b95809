/* SPDX-License-Identifier: MIT */
/*
 * Many images at once, each in a thread of its own (gemm_images_apart): the Python module, and
 * `detector valid`.
 *
 *   network   weights, layers, plans   <- images at first, one after the other, until all is ready
 *   shares    its weights, outputs and lent plans of their own   <- then an image each, at once
 */
#ifndef HOOK_SHARE_H
#define HOOK_SHARE_H

#include "hook/pjreddie.h"

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
