/* SPDX-License-Identifier: MIT */
/*
 * The Darknet that the hook is compiled against, and what its layers lack or have besides.
 *
 *   (nothing)                          pjreddie's Darknet with the patches of this project
 *   HOOK_PRELOAD                       pjreddie's as it is, and Debian's: libdarknet-layers.so
 *   HOOK_PRELOAD and HOOK_ALEXEYAB     AlexeyAB's: libdarknet-layers.so, and patches/alexeyab
 *   these and HOOK_HANKAI              hank-ai's, by a darknet.h that preload/probe.cpp makes
 */
#ifndef HOOK_FORK_H
#define HOOK_FORK_H

#include "darknet.h"
#include "gemm_dispatch.h"

#include <math.h>

#ifdef HOOK_PRELOAD

/* What the hook reads of a pass. */
typedef struct hook_net {
    layer *layers;
    int n, index, train;
    float *input, *delta;
} hook_net;

/* Whether the layer's forward function is that of libdarknet-layers.so. */
int hook_has_door(const layer *);

/* The slot of a convolution, whose plan of other weights is dropped. With batch norm also `norm`,
   as gemm_conv means it, valid until the slot is dropped. Returns 0 without memory. */
int hook_kept(const layer *, gemm_plan ***slot, conv_norm *norm);

/* Whether the hook applies activations that rows do not. Else Darknet's own code has to run. */
#define HOOK_ACTIVATES 0
#define hook_activate(l) ((void)(l))

/* Whether CUDA computes the network. */
#define HOOK_ON_GPU(net) 0

#define HOOK_SET_SLOT(l, slot) ((void)(l))

/* Whether the program has promised what pjreddie.h says at hook_reads_boxes. */
#define HOOK_READS_BOXES 0

#ifdef HOOK_ALEXEYAB

/*
 * A shortcut: output = activation(w0 * input + w1 * first source + ...). The weights are 1, or
 * those of the layer: one for each input, or one for each channel of each input. A source that is
 * smaller than the output is added to its first elements, as Darknet does. Returns 0 when Darknet's
 * own code has to run.
 */
int hook_add(const layer *, const float *input, const layer *layers);

#endif

#else

typedef network hook_net;

#define HOOK_ACTIVATES 1

extern int hook_boxes_alone;
#define HOOK_READS_BOXES hook_boxes_alone

/* Darknet's own function for the activation of the layer. */
void hook_activate(const layer *);

#ifdef GPU
#define HOOK_ON_GPU(net) ((net).gpu_index >= 0)
#else
#define HOOK_ON_GPU(net) 0
#endif

static inline int hook_has_door(const layer *l)
{
    (void)l;
    return 1;
}

/*
 * The variance for conv_norm, which adds 1e-6 outside of the root. A layer of AlexeyAB's has 1e-5
 * inside, so its variance gets this difference once. A number behind the variances says whether
 * they stand; hook_stale takes it away.
 */
static inline float *hook_variance(const layer *l)
{
#ifdef OTHER_NETWORKS
    const int n = l->type == CONNECTED ? l->outputs : l->n;
    float *v = l->folded_variance;
    int i;
    if (!v) return l->rolling_variance;
    if (v[n]) return v;         /* read only, because images may run at once */
    for (i = 0; i < n; ++i) {
        const double root = sqrt(l->rolling_variance[i] + 1e-5) - 1e-6;
        v[i] = root * root;
    }
    v[n] = 1;
    return v;
#else
    return l->rolling_variance;
#endif
}

static inline void hook_stale(const layer *l)
{
#ifdef OTHER_NETWORKS
    if (l->folded_variance) l->folded_variance[l->type == CONNECTED ? l->outputs : l->n] = 0;
#else
    (void)l;
#endif
}

/* Of a copy of a layer. A preload finds the slot of an image by hook_present. */
#define HOOK_SET_SLOT(l, slot) ((l)->plan = (slot))

static inline int hook_kept(const layer *l, gemm_plan ***slot, conv_norm *norm)
{
    *slot = l->plan;
    *norm = (conv_norm){l->rolling_mean, hook_variance(l), l->scales};
    return 1;
}

#endif

/* Whether the list of layers that a route, or a shortcut of AlexeyAB's, has holds layer i. */
static inline int hook_lists(const layer *l, int i)
{
    int k;
    for (k = 0; k < l->n; ++k)
        if (l->input_layers[k] == i) return 1;
    return 0;
}

#ifdef HOOK_ALEXEYAB

#define HOOK_ALPHA(l) 1
#define HOOK_BETA(l) 1

/* Darknet takes pad 0 for a 1x1 convolution of stride 1. */
static inline int hook_is_odd(const layer *l)
{
    return l->size == 1 && l->pad;
}

/* Whether the variants know the layer: it has nothing that AlexeyAB's Darknet alone has, or the
   hook adds that. */
static inline int hook_knows(const layer *l)
{
    switch (l->type) {
    case CONVOLUTIONAL:
        return l->stride_x == l->stride_y && l->stride == l->stride_x && l->dilation == 1 &&
               !l->antialiasing && !l->binary && !l->deform;
    case MAXPOOL:
        return l->stride_x == l->stride_y && l->stride == l->stride_x && !l->maxpool_depth &&
               !l->antialiasing;
    case SHORTCUT:
        return l->n == 1 && !l->nweights && l->input_sizes[0] == l->outputs;
    default:
        return 1;
    }
}

/* Whether a layer behind layer i reads its output by its number. The embedding_layer_id of a yolo
   layer is 0 where it has none, and is read on a GPU alone. */
static inline int hook_reads(const layer *l, int i)
{
    if ((l->type == ROUTE || l->type == SHORTCUT) && hook_lists(l, i)) return 1;
    return (l->type == SHORTCUT || l->type == SAM || l->type == SCALE_CHANNELS) && l->index == i;
}

#else

#define HOOK_ALPHA(l) ((l)->alpha)
#define HOOK_BETA(l) ((l)->beta)
#ifdef OTHER_NETWORKS
#define HOOK_STRIDES(l) ((l)->alexeyab)
#else
#define HOOK_STRIDES(l) 0
#endif

/* Darknet takes stride 1 and pad 0 for a 1x1 convolution. */
static inline int hook_is_odd(const layer *l)
{
    return l->size == 1 && (l->stride != 1 || l->pad) && !HOOK_STRIDES(l);
}

/* In a build for CUDA Darknet's own yolo layer has no logistic on the CPU. */
static inline int hook_knows(const layer *l)
{
#ifdef GPU
    return l->type != YOLO;
#else
    (void)l;
    return 1;
#endif
}

/* The layer whose output this one reads beside that of the layer before it, or -1. */
static inline int hook_from(const layer *l)
{
#ifdef OTHER_NETWORKS
    if (l->type == SAM || l->type == SCALE_CHANNELS) return l->index;
#endif
    return l->type == SHORTCUT ? l->index : -1;
}

/* Whether a layer behind layer i reads its output by its number. */
static inline int hook_reads(const layer *l, int i)
{
    return hook_from(l) == i || (l->type == ROUTE && hook_lists(l, i));
}

static inline int hook_add(const layer *l, const float *input, const layer *layers)
{
    (void)l, (void)input, (void)layers;
    return 0;
}

#endif

#if defined(HOOK_ALEXEYAB) || defined(OTHER_NETWORKS)

#define HOOK_GROUPS(l) ((l)->groups > 1 ? (l)->groups : 1)
#define HOOK_GROUP(l) ((l)->group_id)
#define HOOK_COPIES(l) ((l)->new_coords) /* a yolo layer behind a logistic */
#define HOOK_SCALE(l) ((l)->scale_x_y)   /* of x and y of each anchor, behind the logistic */

#else

#define HOOK_GROUPS(l) 1
#define HOOK_GROUP(l) 0
#define HOOK_COPIES(l) 0
#define HOOK_SCALE(l) 1

#endif

static inline void hook_end_yolo(const layer *l)
{
    const double scale = HOOK_SCALE(l), shift = -.5 * (scale - 1);
    const int area = l->w * l->h, entries = l->outputs / area / l->n;
    int anchor, i;
    for (anchor = 0; anchor < l->n * l->batch; ++anchor) {
        float *x = l->output + (size_t)anchor * entries * area;
        for (i = 0; i < 2 * area; ++i) x[i] = (float)(scale * x[i] + shift);
    }
}

/* The next state of a fingerprint. The factor is odd, so a change of one number always shows. */
#define HOOK_MIX(number) (stamp = stamp * 0x9e3779b1u + (unsigned)(size_t)(number))

/* Adds to the fingerprint of a network what says which layers go together. Sizes, and what
   hook_knows reads, are left out, because each call compares them. */
static inline unsigned hook_stamp(unsigned stamp, const layer *l, const layer *before)
{
    int k;
    HOOK_MIX(l->type), HOOK_MIX(l->forward), HOOK_MIX(l->activation);
    HOOK_MIX(before && l->output == before->output);
    HOOK_MIX(l->truth), HOOK_MIX(l->batch), HOOK_MIX(l->index), HOOK_MIX(l->n);
    if (l->type != ROUTE && l->type != SHORTCUT) return stamp;
    for (k = 0; k < l->n && l->input_layers; ++k) HOOK_MIX(l->input_layers[k]);
    return stamp;
}

#endif
