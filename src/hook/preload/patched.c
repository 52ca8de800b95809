/* SPDX-License-Identifier: MIT */
/* The hook in a Darknet of AlexeyAB's that is patched: calls instead of doors. */
#define DARKNET_GEMM
#include "hook/hook.h"
#include "hook/preload/slots.h"

#ifdef HOOK_ALEXEYAB

#include "hook/preload/patched.h"

/* forward_network asks for each layer. */
int hook_has_door(const layer *l)
{
    (void)l;
    return 1;
}

int hook_layers(const network *net, const network_state *state)
{
    const hook_net pass = {net->layers,  net->n,       state->index,
                           state->train, state->input, state->delta};
    return hook_take(pass, net->layers[state->index].output);
}

void hook_layer_changes(const layer *l)
{
    hook_drop(l);
}

void hook_network_changes(const network *net)
{
    hook_drop_network(net);
}

#endif
