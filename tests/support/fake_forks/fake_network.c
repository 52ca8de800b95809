/* SPDX-License-Identifier: MIT */
/* The functions for users of the small Darknet (fake_fork.c). They call the parser and the layers
   in another object file. */
#include "fake_fork.h"

#include <stdlib.h>
#include <string.h>

C_NAME network *load_network_custom(PATH cfg, PATH weights, int clear, int batch)
{
    network *net = (network *)calloc(1, sizeof *net);
    (void)clear;
    *net = parse_network_cfg_custom(cfg, batch, 1);
    load_weights(net, weights);
    return net;
}

C_NAME void free_network_ptr(network *net)
{
    for (int i = 0; i < net->n; ++i) free_layer(net->layers[i]);
    free(net->layers);
}

C_NAME float *network_predict_ptr(network *net, float *input)
{
    state_of_pass s;
    memset(&s, 0, sizeof s);
    s.net = *net;
    s.input = input;
    for (int i = 0; i < net->n; ++i) {
        s.index = i;
        const int last = hook_layers(net, &s);
        if (last >= i) {
            i = last;
            s.input = net->layers[i].output;
            continue;
        }
        net->layers[i].forward(net->layers[i], s);
        s.input = net->layers[i].output;
    }
    return s.input;
}
