/* SPDX-License-Identifier: MIT */
/* The plans of the layers of a Darknet that has no place for them. */
#ifndef HOOK_SLOTS_H
#define HOOK_SLOTS_H

#include "hook/fork.h"

/* Forgets all that is kept for the weights of this layer. */
void hook_drop(const layer *);
void hook_drop_network(const network *);

#endif
