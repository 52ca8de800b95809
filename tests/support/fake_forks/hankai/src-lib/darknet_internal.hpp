// SPDX-License-Identifier: MIT
// The structs of a made-up Darknet with the names of hank-ai's, in another order: for
// tests/system/test_layers.sh, with fake_fork.c.
#pragma once

typedef enum {
    LINEAR, LEAKY, ELU, SWISH, MISH, HARD_MISH, LOGISTIC, RELU, RELU6
} ACTIVATION;
typedef enum { NO_NORMALIZATION, RELU_NORMALIZATION, SOFTMAX_NORMALIZATION } WEIGHTS_NORMALIZATION_T;

namespace Darknet {
enum class ELayerType {
    YOLO, UPSAMPLE, CONVOLUTIONAL, CONNECTED, MAXPOOL, DROPOUT, ROUTE, AVGPOOL, SHORTCUT,
    SCALE_CHANNELS, SAM
};
struct NetworkState;
struct Layer;
struct Network {
    Layer *layers;
    char not_known[72];
    float *output;
    int inputs, batch, n;
};
}

#include "darknet_layers.hpp"

namespace Darknet {
struct NetworkState {
    int index, train;
    float *delta, *input;
    Network net;
};
}

void forward_convolutional_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_connected_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_maxpool_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_avgpool_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_upsample_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_route_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_shortcut_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_dropout_layer(Darknet::Layer &, Darknet::NetworkState);
void forward_yolo_layer(Darknet::Layer &, Darknet::NetworkState);
void update_convolutional_layer(Darknet::Layer &, int, float, float, float);
void update_connected_layer(Darknet::Layer &, int, float, float, float);
void resize_convolutional_layer(Darknet::Layer *, int, int);
void free_layer(Darknet::Layer &);
void free_layer_custom(Darknet::Layer &, int);
void fuse_conv_batchnorm(Darknet::Network &);
void load_weights(Darknet::Network *, const char *);
void load_weights_upto(Darknet::Network *, const char *, int);
