/* SPDX-License-Identifier: MIT */
/*
 * The activations of this Darknet that rows apply. Each Darknet has its own numbers for them, and
 * not all have all, so they are found by name.
 */
#ifndef HOOK_ACTIVATION_NAMES_H
#define HOOK_ACTIVATION_NAMES_H

#include "hook/fork.h"

#ifdef HOOK_ALEXEYAB
#define HOOK_OTHERS(A) A(MISH) A(SWISH) A(RELU6) A(HARD_MISH)
#else
#define HOOK_OTHERS(A)
#endif

#ifndef HOOK_PRELOAD

#include "activations.h"

#include <string.h>

/* Those that a patch of patches/pjreddie/extra may have added behind Darknet's own. */
static inline conv_activation hook_added_activation(ACTIVATION a)
{
    static const struct {
        const char *name;
        conv_activation is;
    } added[] = {{"mish", CONV_MISH}, {"swish", CONV_SWISH}, {"relu6", CONV_RELU6},
                 {"hard_mish", CONV_HARD_MISH}};
    unsigned i;
    if (a <= SELU) return CONV_LINEAR;
    for (i = 0; i < sizeof added / sizeof *added; ++i)
        if (!strcmp(get_activation_string(a), added[i].name)) return added[i].is;
    return CONV_LINEAR;
}

#else

#define hook_added_activation(a) CONV_LINEAR

#endif

/* CONV_LINEAR for those that rows do not apply. */
static inline conv_activation hook_activation(ACTIVATION a)
{
#define HOOK_CASE(NAME) case NAME: return CONV_##NAME;
    switch (a) {
        HOOK_CASE(LEAKY) HOOK_CASE(RELU) HOOK_CASE(LOGISTIC) HOOK_CASE(ELU)
        HOOK_OTHERS(HOOK_CASE)
    default:
        return hook_added_activation(a);
    }
#undef HOOK_CASE
}

/* Whether rows apply the activation of this layer as Darknet does. AlexeyAB's applies mish and its
   kin in some layers only: a connected layer with mish gives 0. */
static inline int hook_is_applied(const layer *l)
{
    switch (hook_activation(l->activation)) {
    case CONV_LINEAR:
        return l->activation == LINEAR;
#ifdef HOOK_ALEXEYAB
    case CONV_MISH:
    case CONV_SWISH:
        return l->type == CONVOLUTIONAL || l->type == SHORTCUT;
    case CONV_HARD_MISH:
        return l->type == CONVOLUTIONAL;
#endif
    default:
        return 1;
    }
}

#endif
