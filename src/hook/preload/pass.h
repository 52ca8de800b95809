/* SPDX-License-Identifier: MIT */
/* A pass of a Darknet that asks for one layer after the other. */
#ifndef HOOK_PASS_H
#define HOOK_PASS_H

#include "hook/hook.h"

/*
 * Runs layer net.index as hook_take does, unless an earlier layer of the same pass ran it too.
 * `output` is that of the layer Darknet is about to run. Returns 0 when Darknet's own code has to
 * run. A pass stays in one thread.
 */
int hook_pass(hook_net net, float *output);

#endif
