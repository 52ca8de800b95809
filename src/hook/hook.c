/* SPDX-License-Identifier: MIT */
/* Which layers of a pass go to the row, and what the CPU needs of their outputs: see hook.h. */
#include "hook/hook.h"

#include "hook/activation_names.h"
#include "hook/batch.h"

static int at_inference(hook_net net)
{
    return !net.train && !net.delta && !HOOK_ON_GPU(net);
}

/* Else the whole layer is left to Darknet's own code. */
static int takes_activation(const layer *l)
{
    return HOOK_ACTIVATES || hook_is_applied(l);
}

/* What the row has written is about to be changed by the CPU. */
static void take_output(const layer *l)
{
    const size_t bytes = (size_t)l->outputs * l->batch * sizeof(float);
    gemm_host_read(l->output, bytes);
    gemm_host_write(l->output, bytes);
}

static void other_activation(const layer *l)
{
    if (hook_is_applied(l)) return;
    take_output(l);
    hook_activate(l);
}

static int is_known(const layer *l)
{
    return l->type == CONVOLUTIONAL && !l->xnor && !hook_is_odd(l) && hook_knows(l) &&
           hook_has_door(l);
}

/* Whether the row gets this layer with weights, if its kind and sizes are right. */
static int is_offered(const layer *l, hook_net net)
{
    return at_inference(net) && takes_activation(l) && gemm_conv_offered();
}

static int is_hooked(const layer *l, hook_net net)
{
    return is_known(l) && is_offered(l, net);
}

int convolution_hooked(layer l, hook_net net)
{
    return is_hooked(&l, net);
}

/* A connected layer is a convolution of a map of one place. */
static conv_call call_of(layer l, const float *input, int pool, float *output)
{
    if (l.type == CONNECTED) {
        l.groups = l.h = l.w = l.size = l.stride = l.out_h = l.out_w = 1;
        l.c = l.inputs;
        l.n = l.outputs;
        l.pad = 0;
    }
    return (conv_call){
        l.batch, l.groups, l.c,     l.h,   l.w,       l.n, l.size,   l.stride,
        l.pad,   l.out_h,  l.out_w, input, l.weights, 0,   l.biases, hook_activation(l.activation),
        pool,    output};
}

static int convolve(layer l, hook_net net, int pool, float *output)
{
    conv_norm norm;
    conv_call call = call_of(l, net.input, pool, output);
    gemm_plan **slot;
    return hook_kept(&l, &slot, &norm) &&
           gemm_conv(&call, l.batch_normalize ? &norm : 0, slot);
}

/* Whether a layer reads the output of layer i by its number. */
static int is_read_by_number(hook_net net, int i)
{
    int j;
    for (j = i + 1; j < net.n; ++j)
        if (hook_reads(&net.layers[j], i)) return 1;
    return 0;
}

/* The output of the layer is read by the next layer alone. */
static int is_inner(hook_net net, int i)
{
    return !net.layers[i].truth && !is_read_by_number(net, i);
}

/* Whether each output of the maxpool is the maximum of a 2x2 block of the layer before it. With
   such sizes the padding is 0 or 1, and the first window begins at 0. */
static int halves(const layer *pool)
{
    const layer *before = pool - 1;
    return pool->type == MAXPOOL && hook_knows(pool) && hook_has_door(pool) &&
           pool->size == 2 && pool->stride == 2 && pool->h == 2 * pool->out_h &&
           pool->w == 2 * pool->out_w && pool->batch == before->batch &&
           pool->c == before->out_c && pool->h == before->out_h && pool->w == before->out_w;
}

static layer_call shortcut_call(layer l, hook_net net, const float *first, layer_input input[2])
{
    input[0] = (layer_input){first, l.inputs};
    input[1] = (layer_input){net.layers[l.index].output, l.w * l.h * l.c};
    return (layer_call){LAYER_SHORTCUT,
                        l.batch,
                        l.c,
                        l.h,
                        l.w,
                        l.out_c,
                        l.out_h,
                        l.out_w,
                        .alpha = HOOK_ALPHA(&l),
                        .beta = HOOK_BETA(&l),
                        .activation = hook_activation(l.activation),
                        .inputs = 2,
                        .input = input,
                        .output = l.output};
}

/* The number of the shortcut that alone reads the output of layer i, or 0. A dropout between them
   does nothing at inference, and has the same output. */
static int shortcut_behind(hook_net net, int i)
{
    for (; i + 1 < net.n && is_inner(net, i); ++i) {
        const layer *next = &net.layers[i + 1];
        if (!hook_has_door(next)) return 0;
        if (next->type == SHORTCUT)
            return hook_knows(next) && hook_is_applied(next) ? i + 1 : 0;
        if (next->type != DROPOUT || next->output != net.layers[i].output) return 0;
    }
    return 0;
}

/* ---- steps: a convolution and the layers behind it as one call ---- */

/*
 * A fingerprint of the network, so that a step is not used after a change. A convolution that does
 * not follow the last one of this thread begins a new pass. Each pass of a network comes to all
 * convolutions that have a step under its fingerprint.
 */
static unsigned stamp_of(hook_net net)
{
    static _Thread_local struct {
        const layer *layers;
        int n, index;
        unsigned stamp;
    } last;
    int i;
    if (last.layers != net.layers || last.n != net.n || net.index <= last.index) {
        last.layers = net.layers;
        last.stamp = last.n = net.n;
        for (i = 0; i < net.n; ++i)
            last.stamp = hook_stamp(last.stamp, &net.layers[i], i ? &net.layers[i - 1] : 0);
    }
    last.index = net.index;
    return last.stamp;
}

enum { CHAIN_MOST = 3, STEPS_MOST = 2 * CHAIN_MOST };

/*
 * A gemm_step here:
 *
 *   convs   layers      what runs
 *   1       1           the convolution alone
 *   1       2           and the maxpool behind it, or the shortcut
 *   1       more        and the shortcut behind it. Layers between them do nothing
 *   2, 3    as many     a chain of convolutions: one or two 1x1 ones around a depthwise one
 *   2, 3    more        and the shortcut behind them. Layers between them do nothing
 */

/* Convolution `i` of a chain that begins at net.index can follow the one before it. */
static int continues_chain(hook_net net, int i)
{
    const layer *l = &net.layers[net.index + i];
    if (net.index + i >= net.n || !is_hooked(l, net)) return 0;
    return hook_is_applied(l) && (!i || is_inner(net, net.index + i - 1));
}

/* The steps with several layers that this network allows, the longest first. Returns how many. */
static int find_steps(hook_net net, gemm_step steps[STEPS_MOST])
{
    int found = 0, convs = 0, behind;
    while (convs < CHAIN_MOST && continues_chain(net, convs)) ++convs;
    if (!convs) return 0;
    const int pools = net.index + 1 < net.n && halves(&net.layers[net.index + 1]);
    for (; convs >= 1; --convs) {
        behind = shortcut_behind(net, net.index + convs - 1);
        if (behind) steps[found++] = (gemm_step){convs, behind - net.index + 1};
        if (convs > 1) steps[found++] = (gemm_step){convs, convs};
    }
    if (pools && is_inner(net, net.index)) steps[found++] = (gemm_step){1, 2};
    return found;
}

/* A chain as the driver wants it, and what that refers to. */
typedef struct hook_chain {
    conv_call calls[CHAIN_MOST];
    conv_norm norm[CHAIN_MOST];
    const conv_norm *norms[CHAIN_MOST];
    gemm_plan **slots[CHAIN_MOST];
    layer_input input[2];
    layer_call shortcut;
} hook_chain;

/* Returns 0 where the layers have changed, or without memory. */
static int make_chain(hook_net net, gemm_step s, hook_chain *of, gemm_chain *chain)
{
    const layer *last = &net.layers[net.index + s.layers - 1];
    int i;
    if (last->type == SHORTCUT && !hook_knows(last)) return 0;
    for (i = 0; i < s.convs; ++i) {
        const layer *l = &net.layers[net.index + i];
        if (!is_known(l) || !hook_kept(l, &of->slots[i], &of->norm[i])) return 0;
        of->norms[i] = l->batch_normalize ? &of->norm[i] : 0;
        of->calls[i] = call_of(*l, i ? 0 : net.input, 0, l->output);
    }
    const int adds = s.layers > s.convs;
    if (adds) of->shortcut = shortcut_call(*last, net, 0, of->input);
    *chain = (gemm_chain){of->calls, of->norms, s.convs, of->slots, adds ? &of->shortcut : 0};
    return 1;
}

static int run_chain(hook_net net, gemm_step s)
{
    hook_chain of;
    gemm_chain c;
    return make_chain(net, s, &of, &c) &&
           gemm_conv_chain(c.calls, c.norms, c.count, c.slots, c.shortcut);
}

/* Returns 0 when the row declines. */
static int run_step(hook_net net, gemm_step s)
{
    const layer *l = &net.layers[net.index];
    if (s.convs > 1 || l[s.layers - 1].type == SHORTCUT) return run_chain(net, s);
    return halves(l + 1) && convolve(*l, net, 1, l[1].output);
}

/* Whether only the chain `s`, which begins at net.index, reads the output of the layer before it:
   its first layer, and the shortcut behind it. */
static int is_read_by_chain(hook_net net, gemm_step s)
{
    const int before = net.index - 1, adds = s.layers > s.convs, last = before + s.layers;
    int j;
    if (net.layers[before].truth) return 0;
    for (j = net.index; j < net.n; ++j)
        if (hook_reads(&net.layers[j], before) != (adds && j == last)) return 0;
    return 1;
}

/*
 * The chains from net.index on that follow each other, and whose outputs but the last nobody else
 * reads. Each has run alone before. Returns how many layers ran: 0 where there are less than two,
 * -1 where the row declines.
 */
static int run_chains(hook_net net, unsigned stamp)
{
    enum { MOST = 32 };
    hook_chain of[MOST];
    gemm_chain chains[MOST];
    const int first = net.index;
    gemm_plan **slot;
    conv_norm norm;
    int count = 0;
    for (; count < MOST && net.index < net.n; ++count) {
        const layer *l = &net.layers[net.index];
        if (!is_hooked(l, net) || !hook_kept(l, &slot, &norm)) break;
        const gemm_step s = gemm_plan_step(slot);
        if (s.convs < 2 || gemm_plan_network(slot) - stamp > 1) break;
        if (count ? !is_read_by_chain(net, s) : s.layers > s.convs) break;
        if (!make_chain(net, s, &of[count], &chains[count])) break;
        net.index += s.layers;
    }
    if (count < 2) return 0;
    return gemm_conv_chains(chains, count) ? net.index - first : -1;
}

/*
 * Runs the convolution net.index with layers behind it. Returns how many layers ran, or 0: the
 * convolution is alone. The step that the row takes is kept with the plan of the layer. So the
 * layers behind are looked at once, and again after a change of the network.
 */
static int run_fused(hook_net net)
{
    const layer *l = &net.layers[net.index];
    gemm_step steps[STEPS_MOST];
    conv_norm norm;
    gemm_plan **slot;
    int i, found;
    if (!is_hooked(l, net) || !hook_is_applied(l)) return 0;
    if (!hook_kept(l, &slot, &norm)) return 0;
    const gemm_step known = gemm_plan_step(slot);
    const unsigned stamp = stamp_of(net);
    const unsigned since = gemm_plan_network(slot) - stamp;     /* 1: run_chains was declined */
    const int stands = known.layers && since <= 1;
    if (stands && known.layers == 1) return 0;
    if (stands && !since && HOOK_READS_BOXES && (i = run_chains(net, stamp))) {
        if (i > 0) return i;
        gemm_plan_set_network(slot, stamp + 1);
    }
    if (stands && run_step(net, known)) return known.layers;
    found = find_steps(net, steps);
    for (i = 0; i < found && !run_step(net, steps[i]);) ++i;
    gemm_plan_set_step(slot, i < found ? steps[i] : (gemm_step){1, 1});
    gemm_plan_set_network(slot, stamp);
    return i < found ? steps[i].layers : 0;
}

/* Whether all inputs lie where the route would copy them: see place_outputs. */
static int is_in_place(const layer *l, hook_net net)
{
    const float *at = l->output;
    int i;
    for (i = 0; i < l->n && net.layers[l->input_layers[i]].output == at; ++i)
        at += l->input_sizes[i];
    return i == l->n;
}

/* The images of a batch one by one where each input gives only one of its groups of channels. */
static int route(layer l, hook_net net)
{
    const int groups = HOOK_GROUPS(&l), images = groups > 1 ? l.batch : 1;
    int i, image;
    layer first = net.layers[l.input_layers[0]];
    layer_input input[l.n];
    if (is_in_place(&l, net)) return 1;
    if (l.out_c * l.out_h * l.out_w != l.outputs) return 0;
    for (image = 0; image < images; ++image) {
        for (i = 0; i < l.n; ++i) {
            const size_t size = l.input_sizes[i], at = size / groups * HOOK_GROUP(&l);
            const float *data = net.layers[l.input_layers[i]].output;
            input[i] = (layer_input){data + image * size + at, size / groups};
        }
        layer_call call = {LAYER_ROUTE, l.batch / images, first.out_c / groups, first.out_h,
                           first.out_w, l.out_c,          l.out_h,              l.out_w,
                           .inputs = l.n, .input = input,
                           .output = l.output + (size_t)image * l.outputs};
        if (!gemm_layer(&call)) return 0;
    }
    return 1;
}

static int layer_by_row(layer l, hook_net net)
{
    if (!at_inference(net)) return 0;
    if (!hook_knows(&l)) return l.type == SHORTCUT && hook_add(&l, net.input, net.layers);
    layer_input input[2] = {{net.input, l.inputs}};
    layer_call call = {LAYER_MAXPOOL,     l.batch, l.c,     l.h,         l.w,
                       l.out_c,           l.out_h, l.out_w, .inputs = 1, .input = input,
                       .output = l.output};
    switch (l.type) {
    case MAXPOOL:
        call.size = l.size;
        call.stride = l.stride;
        call.pad = l.pad;
        return gemm_layer(&call);
    case AVGPOOL:
        call.kind = LAYER_AVGPOOL;
        return gemm_layer(&call);
    case UPSAMPLE:
        call.kind = LAYER_UPSAMPLE;
        call.stride = l.stride;
        call.alpha = l.scale;
        return !l.reverse && gemm_layer(&call);
    case ROUTE:
        return route(l, net);
    case SHORTCUT:
        call = shortcut_call(l, net, net.input, input);
        if (!takes_activation(&l) || !gemm_layer(&call)) return 0;
        other_activation(&l);
        return 1;
    case YOLO:
        call.kind = HOOK_COPIES(&l) ? LAYER_ROUTE : LAYER_YOLO;
        call.anchors = l.n;
        call.out_h = l.h; /* resize leaves out_h and out_w as they were */
        call.out_w = l.w;
        if (!gemm_layer(&call)) return 0;
        if (HOOK_SCALE(&l) == 1) return 1;
        take_output(&l);
        hook_end_yolo(&l);
        return 1;
    default:
        return 0;
    }
}

static int run_alone(const layer *l, hook_net net)
{
    if (!convolve(*l, net, 0, l->output)) return 0;
    other_activation(l);
    return 1;
}

int hook_convolve(const layer *l, hook_net net)
{
    return is_hooked(l, net) && run_alone(l, net);
}

/* Returns what hook_take does. */
static int take(hook_net net)
{
    const layer *l = &net.layers[net.index];
    const int i = net.index;
    int done;
    switch (l->type) {
    case CONVOLUTIONAL:
        done = run_fused(net);
        if (done) return i + done - 1;
        return hook_convolve(l, net) ? i : -1;
    case CONNECTED:
        return l->batch == 1 && is_offered(l, net) && run_alone(l, net) ? i : -1;
    case DROPOUT:
        return at_inference(net) ? i : -1;
    default:
        return layer_by_row(*l, net) ? i : -1;
    }
}

int hook_take(hook_net net, float *output)
{
    const int apart = net.index ? -1 : hook_apart(net, hook_take, is_hooked);
    if (apart >= 0) return apart;
    return net.layers[net.index].output == output ? take(net) : -1;
}
