/* SPDX-License-Identifier: MIT */
/* Activations as Darknet and its forks define them, from formulas of their own. */
#ifndef ACTIVATED_H
#define ACTIVATED_H

#include "gemm_dispatch.h"

float activated(float x, conv_activation);

/* Such as "LEAKY". */
const char *activation_name(conv_activation);

#endif
