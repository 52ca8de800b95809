/* SPDX-License-Identifier: MIT */
/*
 * The layers of a patched Darknet that the chosen row of GEMM_IMPL computes at inference.
 *
 *   forward_network -> hook_forward -> a layer's forward function -> hook_convolution ... -> row
 *                                   -> or several layers as one call ----------------------> row
 *
 * The patched Darknet's own Makefile compiles these files, because the layout of a layer depends on
 * its switches (GPU, CUDNN). They are no part of gemm.o. Darknet's own code runs for training, for
 * xnor, for what the row does not offer or declines, and for a 1x1 convolution with stride or
 * padding, because Darknet computes it as if it had none. output_to_cpu and weights_changed are
 * declared in darknet.h.
 */
#ifndef HOOK_H
#define HOOK_H

#include "hook/fork.h"

/*
 * Runs layer net.index, and with it the layers behind it that the row takes in the same call.
 * Returns the number of the last layer that ran, or -1 when Darknet's own code has to run.
 * `output` is that of the layer Darknet is about to run.
 */
int hook_take(hook_net net, float *output);

/* ---- what parse_network_cfg calls ---- */

/* Reads the environment, and opens the device where the row has one. What they have to say then
   comes before the table of layers, and an error ends the program there. */
void hook_start(void);

/*
 * The inputs of a route lie in its output, so that nothing is copied:
 *
 *     output of the route   | input 0 | input 1 | ...      each is the output of an earlier layer
 *
 * place_outputs moves outputs there, where no more than one image is computed and no device shares
 * their memory. A layer in two routes goes to the later one. All outputs are written as before.
 * separate_outputs gives each layer memory of its own again, without what was in it. Call it before
 * sizes change.
 */
void place_outputs(network *net);
void separate_outputs(network *net);

/* ---- what forward_network calls ---- */

/* Allocates the workspace of `whole` when layer net->index needs it and the row does not take that
   layer, as in training. `net` is the copy of `whole` for this pass, and gets the workspace too. */
void hook_workspace(network *whole, network *net);

/*
 * Runs layer net.index, and with it the layers behind it that the row takes in the same call. The
 * outputs between them are then not written. Returns the number of the last layer that ran.
 */
int hook_forward(network net);

/* The end of a pass: the outputs that Darknet reads are the CPU's, and the input may be written. */
void outputs_to_cpu(network *net);

/* ---- what layers call ---- */

/* Whether forward gives this convolution to the row. The row may still decline. */
int convolution_hooked(layer l, hook_net net);

/* These run the layer on the row. They return 0 when Darknet's own code has to run; what this code
   reads is then the CPU's. hook_layer: a layer without weights. */
int hook_convolution(layer l, network net);
int hook_connected(layer l, network net);
int hook_layer(layer l, network net);

/* Runs one layer in any way. */
void forward_layer(layer l, network net);

/* Where the network's workspace is too small, `net` gets one for the layer alone. Free what this
   returns. */
float *own_workspace(layer l, network *net);

/* Drops what the row keeps for the layer. Called where weights, batch norm or sizes change. */
void drop_plan(layer l);

#endif
