/* SPDX-License-Identifier: MIT */
/*
 * What a patched pjreddie's Darknet calls (patches/pjreddie).
 *
 *   parse_network_cfg   hook_start, place_outputs
 *   forward_network     hook_forward for each layer -> hook_take -> row, for one layer or several
 *                                                   -> Darknet's own code
 *   resize_network      hook_resizes, place_outputs
 *   update_network      drop_plan
 *   load_weights_upto   weights_changed
 *   free_layer          hook_free
 *
 * The patched Darknet's own Makefile compiles these files, because the layout of a layer depends on
 * its switches (GPU, CUDNN). They are no part of gemm.o. A network belongs to one thread at a time,
 * because its layers have one output each. Two networks may run at once.
 */
#ifndef HOOK_PJREDDIE_H
#define HOOK_PJREDDIE_H

#include "hook/hook.h"

/* Reads the environment, and opens the device where the row has one. What they have to say then
   comes before the table of layers, and an error ends the program there. */
void hook_start(void);

/*
 * The program promises that of all outputs it reads only that of the last layer of a network, and
 * those of layers with boxes. So outputs between chains need not be written. Before any pass.
 */
void hook_reads_boxes(void);

/*
 * The inputs of a route lie in its output, so that nothing is copied:
 *
 *     output of the route   | input 0 | input 1 | ...      each is the output of an earlier layer
 *
 * place_outputs moves outputs there, where no more than one image is computed and no device shares
 * their memory. A layer in two routes goes to the later one. All outputs are written as before.
 * separate_outputs gives each layer memory of its own again, without what was in it.
 */
void place_outputs(network *);
void separate_outputs(network *);

/* Sizes are about to change: plans and the workspace go, and each layer has memory of its own. */
void hook_resizes(network *);

/*
 * Runs layer net->index, and with it the layers behind it that the row takes in the same call. The
 * outputs between them are then not written. Returns the number of the last layer that ran. `net`
 * is the copy of `whole` for this pass. Both get a workspace when Darknet's own code first needs
 * it. Behind the last layer of `whole` the outputs that Darknet reads are the CPU's, and the input
 * may be written.
 */
int hook_forward(network *whole, network *net);

/* Before the first pass: makes what the row keeps in it for each layer of few weights. All others
   would add to the memory while all weights are there. Where `until` is not NULL, the rest is left
   to the pass once *until is not 0. */
void hook_prepare(network *, const int *until);

/* Runs a convolution inside of a recurrent layer on the row. Returns 0 when Darknet's own code has
   to run. What this code reads is then the CPU's. */
int hook_convolution(layer, network);

/* Drops what the row keeps for the layer. Called where weights, batch norm or sizes change. */
void drop_plan(layer);

/* Frees the plan, the weights and the output, and takes them from this copy of the layer. */
void hook_free(layer *);

/* The CPU reads the output of the layer; weights of the network changed. As darknet.h has them. */
void output_to_cpu(layer);
void weights_changed(network *);

#endif
