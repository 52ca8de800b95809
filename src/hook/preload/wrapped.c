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

/* A Darknet that lacks one of these does not call it either. */
#define WRAPPED(type, name, arguments)                                                            \
    type __wrap_##name arguments;                                                                 \
    extern type __real_##name arguments __attribute__((weak));
WRAPPED(network, parse_network_cfg, (char *cfg))
WRAPPED(network, parse_network_cfg_custom, (char *cfg, int batch, int time_steps))
WRAPPED(network *, load_network, (char *cfg, char *weights, int clear))
WRAPPED(network *, load_network_custom, (char *cfg, char *weights, int clear, int batch))
WRAPPED(void, load_weights, (network *, char *file))
WRAPPED(void, load_weights_upto, (network *, char *file, int cutoff))
WRAPPED(void, free_layer, (layer))
WRAPPED(void, free_layer_custom, (layer, int keep_cudnn_desc))
WRAPPED(void, fuse_conv_batchnorm, (network))
WRAPPED(int, resize_network, (network *, int w, int h))

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

static void drop_network(const network *net)
{
    int i;
    for (i = 0; i < net->n; ++i) hook_drop(&net->layers[i]);
}

network __wrap_parse_network_cfg(char *cfg)
{
    const network net = __real_parse_network_cfg(cfg);
    take_over(&net);
    return net;
}

network __wrap_parse_network_cfg_custom(char *cfg, int batch, int time_steps)
{
    const network net = __real_parse_network_cfg_custom(cfg, batch, time_steps);
    take_over(&net);
    return net;
}

network *__wrap_load_network(char *cfg, char *weights, int clear)
{
    network *net = __real_load_network(cfg, weights, clear);
    take_over(net);
    return net;
}

network *__wrap_load_network_custom(char *cfg, char *weights, int clear, int batch)
{
    network *net = __real_load_network_custom(cfg, weights, clear, batch);
    take_over(net);
    return net;
}

void __wrap_load_weights(network *net, char *file)
{
    drop_network(net);
    __real_load_weights(net, file);
}

void __wrap_load_weights_upto(network *net, char *file, int cutoff)
{
    drop_network(net);
    __real_load_weights_upto(net, file, cutoff);
}

void __wrap_free_layer(layer l)
{
    hook_drop(&l);
    __real_free_layer(l);
}

void __wrap_free_layer_custom(layer l, int keep_cudnn_desc)
{
    hook_drop(&l);
    __real_free_layer_custom(l, keep_cudnn_desc);
}

void __wrap_fuse_conv_batchnorm(network net)
{
    drop_network(&net);
    __real_fuse_conv_batchnorm(net);
}

int __wrap_resize_network(network *net, int w, int h)
{
    drop_network(net);
    return __real_resize_network(net, w, h);
}

#endif
