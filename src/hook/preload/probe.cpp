// SPDX-License-Identifier: MIT
/*
 * hank-ai's Darknet is C++, and the hook is C. The compiler writes into the assembler text of this
 * file where the fields of hank-ai's structs lie, what its enums are, and the names of its
 * functions in an object file. probe.awk makes a darknet.h of it (setup/layers.sh). Nothing is run,
 * so a cross compiler serves too.
 *
 * A line is "-> KIND VALUE WORDS". A field that is missing or has another size is an error of the
 * compiler, which names it.
 */
#include "darknet_internal.hpp"
#include "hook/preload/doors.h"

#include <cstddef>
#include <type_traits>

#define SAY(kind, value, words) __asm__ volatile("\n-> " kind " %c0 " words : : "i"(value));

#define FIELD(owner, name, type)                                                                  \
    static_assert(sizeof(static_cast<Darknet::owner *>(nullptr)->name) == sizeof(type), #name);   \
    SAY(#owner, offsetof(Darknet::owner, name), #name " " #type)

/* ints, floats, and pointers to each, in a struct */
#define INT(owner, name) FIELD(owner, name, int)
#define FLOAT(owner, name) FIELD(owner, name, float)
#define FLOATS(owner, name) FIELD(owner, name, float *)
#define INTS(owner, name) FIELD(owner, name, int *)

#define TYPE(name) SAY("LAYER_TYPE", int(Darknet::ELayerType::name), #name)
#define ACTIVATES(name) SAY("ACTIVATION", int(name), #name)
#define NORMALIZES(name) SAY("WEIGHTS_NORMALIZATION_T", int(name), #name)
#define SIZE(owner) SAY("SIZE", sizeof(Darknet::owner), #owner)
#define SYMBOL_OF(name, kind) SAY("SYMBOL", &name, #name)

typedef Darknet::Layer layer;
typedef Darknet::Network network;

/* These are copied as they are, so a call has them where the hook looks for them. */
static_assert(std::is_trivially_copyable<Darknet::NetworkState>::value, "NetworkState");
static_assert(std::is_trivially_copyable<Darknet::Layer>::value, "Layer");

void probe()
{
    TYPE(CONVOLUTIONAL) TYPE(CONNECTED) TYPE(MAXPOOL) TYPE(DROPOUT) TYPE(ROUTE) TYPE(AVGPOOL)
    TYPE(SHORTCUT) TYPE(SCALE_CHANNELS) TYPE(SAM) TYPE(YOLO) TYPE(UPSAMPLE)
    ACTIVATES(LOGISTIC) ACTIVATES(RELU) ACTIVATES(RELU6) ACTIVATES(LINEAR) ACTIVATES(LEAKY)
    ACTIVATES(ELU) ACTIVATES(SWISH) ACTIVATES(MISH) ACTIVATES(HARD_MISH)
    NORMALIZES(NO_NORMALIZATION) NORMALIZES(RELU_NORMALIZATION) NORMALIZES(SOFTMAX_NORMALIZATION)

    SIZE(Layer)
    INT(Layer, type) INT(Layer, activation) FIELD(Layer, forward, void *)
    INT(Layer, batch_normalize) INT(Layer, batch) INT(Layer, inputs) INT(Layer, outputs)
    INT(Layer, nweights) INT(Layer, h) INT(Layer, w) INT(Layer, c)
    INT(Layer, out_h) INT(Layer, out_w) INT(Layer, out_c) INT(Layer, n)
    INT(Layer, groups) INT(Layer, group_id) INT(Layer, size)
    INT(Layer, stride) INT(Layer, stride_x) INT(Layer, stride_y) INT(Layer, pad)
    INT(Layer, dilation) INT(Layer, antialiasing) INT(Layer, maxpool_depth)
    INT(Layer, index) INT(Layer, binary) INT(Layer, xnor) INT(Layer, deform) INT(Layer, truth)
    INT(Layer, new_coords)
    FLOAT(Layer, reverse) FLOAT(Layer, scale) FLOAT(Layer, scale_x_y)
    INT(Layer, weights_normalization) INTS(Layer, input_layers) INTS(Layer, input_sizes)
    FLOATS(Layer, weights) FLOATS(Layer, biases) FLOATS(Layer, scales)
    FLOATS(Layer, rolling_mean) FLOATS(Layer, rolling_variance) FLOATS(Layer, output)

    SIZE(Network)
    INT(Network, n) INT(Network, inputs) FIELD(Network, layers, layer *)

    SIZE(NetworkState)
    FLOATS(NetworkState, input) FLOATS(NetworkState, delta)
    INT(NetworkState, train) INT(NetworkState, index) FIELD(NetworkState, net, network)

    DOORS(SYMBOL_OF)
}
