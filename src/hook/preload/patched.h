/* SPDX-License-Identifier: MIT */
/*
 * What a patched AlexeyAB's Darknet calls (patches/alexeyab). Include darknet.h before it. Without
 * DARKNET_GEMM, as with GPU=1, these do nothing.
 */
#ifndef HOOK_PATCHED_H
#define HOOK_PATCHED_H

#ifdef DARKNET_GEMM

#ifdef __cplusplus
extern "C" {
#endif

/* Runs layer state->index of the pass, and with it the layers behind it that go in the same call.
   Returns the number of the last layer that ran, or -1 when the layer's own function has to run. */
int hook_layers(const network *, const network_state *state);

/* Weights or sizes are about to change, or have changed: what is kept for them is dropped. */
void hook_layer_changes(const layer *);
void hook_network_changes(const network *);

#ifdef __cplusplus
}
#endif

#else

#define hook_layers(net, state) (-1)
#define hook_layer_changes(l) ((void)0)
#define hook_network_changes(net) ((void)0)

#endif
#endif
