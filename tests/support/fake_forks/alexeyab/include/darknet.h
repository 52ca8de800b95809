/* SPDX-License-Identifier: MIT */
/* The structs of a made-up Darknet with the names of AlexeyAB's, in another order: for
   tests/system/test_layers.sh, with fake_fork.c. */
#ifndef DARKNET_H
#define DARKNET_H

typedef enum {
    CONVOLUTIONAL, CONNECTED, MAXPOOL, DROPOUT, ROUTE, AVGPOOL, SHORTCUT, SCALE_CHANNELS, SAM, YOLO,
    UPSAMPLE
} LAYER_TYPE;
typedef enum {
    LOGISTIC, RELU, RELU6, LINEAR, LEAKY, ELU, SWISH, MISH, HARD_MISH
} ACTIVATION;
typedef enum {
    NO_NORMALIZATION, RELU_NORMALIZATION, SOFTMAX_NORMALIZATION
} WEIGHTS_NORMALIZATION_T;

struct network_state;
typedef struct network_state network_state;
typedef struct layer layer;

struct layer {
    float *output, *weights, *biases, *scales, *rolling_mean, *rolling_variance;
    char not_known[200];
    void (*forward)(layer, network_state);
    LAYER_TYPE type;
    ACTIVATION activation;
    WEIGHTS_NORMALIZATION_T weights_normalization;
    int batch_normalize, batch, inputs, outputs, nweights, h, w, c, out_h, out_w, out_c, n, groups;
    int group_id, size, stride, stride_x, stride_y, dilation, antialiasing, maxpool_depth, pad;
    int index, binary, xnor, deform, truth, new_coords, embedding_layer_id, classes;
    float reverse, scale, scale_x_y;
    int *input_layers, *input_sizes;
};

typedef struct network {
    float learning_rate;
    int n, batch, inputs;
    layer *layers;
    float *output;
} network;

struct network_state {
    float *truth, *input, *delta, *workspace;
    int train, index;
    network net;
};

void load_weights(network *, char *);
#endif
