/* SPDX-License-Identifier: MIT */
/* The calls of a patched pjreddie's Darknet, and its memory: see pjreddie.h. */
#include "hook/pjreddie.h"

#include "activations.h"
#include "utils.h"

#include <stdlib.h>

int hook_boxes_alone;

void hook_reads_boxes(void)
{
    hook_boxes_alone = 1;
}

void hook_start(void)
{
    gemm_conv_offered();
    gemm_host_free(gemm_host_alloc(1, 1));
}

/* ---- Outputs that may lie on a device ---- */

/* A recurrent layer has a batch of images for each time step. */
static size_t batch_bytes(layer l, int floats)
{
    size_t steps = l.steps > 1 ? l.steps : 1;
    return steps * l.batch * floats * sizeof(float);
}

static size_t output_bytes(layer l)
{
    return batch_bytes(l, l.outputs);
}

void output_to_cpu(layer l)
{
    gemm_host_read(l.output, output_bytes(l));
}

static void outputs_to_cpu(network *net)
{
    int i, last = 1;
    for (i = net->n - 1; i >= 0; --i) {
        layer l = net->layers[i];
        if (last || l.type == YOLO) output_to_cpu(l);
        if (l.type != COST) last = 0;
    }
    gemm_host_write(net->input, (size_t)net->inputs * net->batch * sizeof(float));
}

/* Darknet's own code is about to run: the CPU needs what it reads, and writes the output. */
static void layer_to_cpu(layer l, network net)
{
    int i;
    if (l.type == ROUTE)
        for (i = 0; i < l.n; ++i) output_to_cpu(net.layers[l.input_layers[i]]);
    else
        gemm_host_read(net.input, batch_bytes(l, l.inputs));
    if (hook_from(&l) >= 0) output_to_cpu(net.layers[hook_from(&l)]);
    gemm_host_write(l.output, output_bytes(l));
}

void hook_activate(const layer *l)
{
    activate_array(l->output, l->outputs * l->batch, l->activation);
}

/* ---- Outputs in the output of a route ---- */

/* Whether the output may lie elsewhere. Of these kinds nothing else has its address. */
static int can_move(const layer *l)
{
    switch (l->type) {
    case CONVOLUTIONAL:
    case MAXPOOL:
    case UPSAMPLE:
    case ROUTE:
    case SHORTCUT:
        return !l->placed && gemm_host_is_plain(l->output);
    default:
        return 0;
    }
}

/* Whether all inputs of the route may lie in its output. */
static int can_hold(const network *net, const layer *route)
{
    int i, k;
    if (route->type != ROUTE || route->batch != 1 || HOOK_GROUPS(route) > 1) return 0;
    if (!gemm_host_is_plain(route->output)) return 0;
    for (i = 0; i < route->n; ++i) {
        const layer *l = &net->layers[route->input_layers[i]];
        if (!can_move(l) || l->batch != 1 || l->outputs != route->input_sizes[i]) return 0;
        for (k = 0; k < i; ++k)
            if (route->input_layers[k] == route->input_layers[i]) return 0;
    }
    return 1;
}

/* From the last route on, so that an input that is a route has its place before its own inputs
   get theirs. A dropout writes to the output before it, which may then be that of others too. */
void place_outputs(network *net)
{
    int i, k;
    if (HOOK_ON_GPU(*net) || !gemm_conv_offered()) return;
    for (i = 0; i < net->n; ++i)
        if (net->layers[i].type == DROPOUT) return;
    for (i = net->n - 1; i >= 0; --i) {
        const layer *route = &net->layers[i];
        float *at = route->output;
        if (!can_hold(net, route)) continue;
        for (k = 0; k < route->n; ++k) {
            layer *l = &net->layers[route->input_layers[k]];
            gemm_host_free(l->output);
            l->output = at;
            l->placed = 1;
            at += l->outputs;
        }
    }
}

void separate_outputs(network *net)
{
    int i;
    for (i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (!l->placed) continue;
        l->output = gemm_host_alloc((size_t)l->outputs * l->batch, sizeof(float));
        if (!l->output) malloc_error();
        l->placed = 0;
    }
}

/* ---- A pass ---- */

/* As large as the layers need that the row does not take, and as this one needs. */
static void make_workspace(network *whole, const layer *l)
{
    size_t size = l->workspace_size;
    int i;
    for (i = 0; i < whole->n; ++i) {
        l = &whole->layers[i];
        if (l->workspace_size > size && !convolution_hooked(*l, *whole)) size = l->workspace_size;
    }
    gemm_host_free(whole->workspace);
    whole->workspace = gemm_host_alloc(1, size);
    whole->workspace_size = size;
    if (!whole->workspace) malloc_error();
}

/* Darknet's own code. In training it changes rolling means and variances. */
static void run_darknet(const layer *l, network *whole, network *net)
{
    if (net->train) drop_plan(*l);
    layer_to_cpu(*l, *net);
    if (l->workspace_size > whole->workspace_size) make_workspace(whole, l);
    net->workspace = whole->workspace;
    net->workspace_size = whole->workspace_size;
    l->forward(*l, *net);
}

/* Gives each layer to the row, or the convolutions alone, until *until. */
static void walk(network net, int all, const int *until)
{
    int last;
    for (net.index = 0; net.index < net.n; net.index = last + 1) {
        const layer *l = &net.layers[net.index];
        if (until && __atomic_load_n(until, __ATOMIC_RELAXED)) break;
        last = all || l->type == CONVOLUTIONAL ? hook_take(net, l->output) : -1;
        if (last < 0) last = net.index;
        net.input = net.layers[last].output;
    }
}

/* Before the first pass of a process. */
static void foresee(network *whole, network net)
{
    static int begun;
    if (__atomic_exchange_n(&begun, 1, __ATOMIC_RELAXED)) return;
    if (!gemm_foresee(1)) return;
    if (!net.train) walk(net, 1, 0);
    gemm_foresee(0);
    weights_changed(whole);
}

int hook_forward(network *whole, network *net)
{
    const layer *l = &net->layers[net->index];
    if (!net->index) foresee(whole, *net);
    int last = hook_take(*net, l->output);
    if (last < 0) {
        last = net->index;
        run_darknet(l, whole, net);
    }
    if (net->layers[last].truth) output_to_cpu(net->layers[last]);
    if (last == whole->n - 1) outputs_to_cpu(whole);
    return last;
}

void hook_prepare(network *whole, const int *until)
{
    if (!gemm_prepare(1)) return;
    walk(*whole, 0, until);
    gemm_prepare(0);
}

int hook_convolution(layer l, network net)
{
    if (net.layers[net.index].type == CONVOLUTIONAL) return 0; /* hook_forward has asked */
    if (hook_convolve(&l, net)) {
        output_to_cpu(l);
        return 1;
    }
    layer_to_cpu(l, net);
    return 0;
}

/* ---- Changes ---- */

void drop_plan(layer l)
{
    if (l.plan) gemm_plan_drop(l.plan);
    hook_stale(&l);
    if (l.type == CRNN) {
        drop_plan(*l.input_layer);
        drop_plan(*l.self_layer);
        drop_plan(*l.output_layer);
    }
}

void weights_changed(network *net)
{
    int i;
    for (i = 0; i < net->n; ++i) drop_plan(net->layers[i]);
}

void hook_resizes(network *net)
{
    if (HOOK_ON_GPU(*net)) return;
    weights_changed(net);
    separate_outputs(net);
    gemm_host_free(net->workspace);
    net->workspace = 0;
    net->workspace_size = 0;
}

void hook_free(layer *l)
{
    drop_plan(*l);
    free(l->plan);
    gemm_host_free(l->weights);
    if (!l->placed) gemm_host_free(l->output);
    l->plan = 0;
    l->weights = l->output = 0;
}
