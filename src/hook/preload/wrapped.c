/* SPDX-License-Identifier: MIT */
/*
 * The hook in a Darknet of AlexeyAB's that is not patched, but linked with --wrap (mk/layers.mk has
 * the names).
 *
 *   parse_network_cfg -> l.forward = forward of this file -> row           return to Darknet
 *                                                         -> nothing taken: Darknet's own function
 *
 * The linker sends calls between two object files here. So parse_network_cfg is wrapped and not
 * forward_convolutional_layer, whose address is taken in its own file. Layers within a recurrent
 * layer keep their functions. Programs that load libdarknet.so find its own load_network: they
 * need the preload.
 */
#include "hook/preload/pass.h"
#include "hook/preload/slots.h"

#ifdef HOOK_ALEXEYAB

#include <stddef.h>

typedef void forward_function(layer, network_state);

/* The types that hook_take knows, and Darknet's own functions of them: the same in each network. */
static struct {
    LAYER_TYPE type;
    forward_function *own;
} known[] = {{CONVOLUTIONAL, NULL}, {CONNECTED, NULL}, {MAXPOOL, NULL},
             {AVGPOOL, NULL},       {UPSAMPLE, NULL},  {ROUTE, NULL},
             {SHORTCUT, NULL},      {DROPOUT, NULL},   {YOLO, NULL}};

enum { KNOWN = sizeof known / sizeof *known };

/* A layer of training will get other weights, so what is kept for it is dropped. */
static void forward(layer l, network_state s)
{
    const hook_net net = {s.net.layers, s.net.n, s.index, s.train, s.input, s.delta};
    int i;
    if (s.train) hook_drop(&l);
    if (hook_pass(net, l.output)) return;
    for (i = 0; known[i].type != l.type;) ++i;
    known[i].own(l, s);
}

int hook_has_door(const layer *l)
{
    return l->forward == forward;
}

static void take_over(const network *net)
{
    int i, k;
    for (i = 0; i < net->n; ++i)
        for (k = 0; k < KNOWN; ++k) {
            layer *l = &net->layers[i];
            if (l->type != known[k].type || l->forward == forward) continue;
            if (!known[k].own) known[k].own = l->forward;
            if (known[k].own == l->forward) l->forward = forward;
        }
}

/* A Darknet that lacks one of the next functions does not call it either. `first`: what is done
   before it. */
#define WRAP(type, name, first, parameters, arguments)                                            \
    extern type __real_##name parameters __attribute__((weak));                                   \
    type __wrap_##name parameters;                                                                \
    type __wrap_##name parameters                                                                 \
    {                                                                                             \
        first;                                                                                    \
        return __real_##name arguments;                                                           \
    }

/* A function that reads a network. `read`: its address; `net` is what the function returns. */
#define WRAP_READER(type, name, read, parameters, arguments)                                      \
    extern type __real_##name parameters __attribute__((weak));                                   \
    type __wrap_##name parameters;                                                                \
    type __wrap_##name parameters                                                                 \
    {                                                                                             \
        type net = __real_##name arguments;                                                       \
        take_over(read);                                                                          \
        return net;                                                                               \
    }

WRAP_READER(network, parse_network_cfg, &net, (char *cfg), (cfg))
WRAP_READER(network, parse_network_cfg_custom, &net, (char *cfg, int batch, int steps),
            (cfg, batch, steps))
WRAP_READER(network *, load_network, net, (char *cfg, char *weights, int clear),
            (cfg, weights, clear))
WRAP_READER(network *, load_network_custom, net,
            (char *cfg, char *weights, int clear, int batch), (cfg, weights, clear, batch))
WRAP(void, load_weights, hook_drop_network(net), (network *net, char *file), (net, file))
WRAP(void, load_weights_upto, hook_drop_network(net), (network *net, char *file, int cutoff),
     (net, file, cutoff))
WRAP(void, free_layer, hook_drop(&l), (layer l), (l))
WRAP(void, free_layer_custom, hook_drop(&l), (layer l, int keep_cudnn_desc), (l, keep_cudnn_desc))
WRAP(void, fuse_conv_batchnorm, hook_drop_network(&net), (network net), (net))
WRAP(int, resize_network, hook_drop_network(net), (network *net, int w, int h), (net, w, h))

#endif
