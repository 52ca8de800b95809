// SPDX-License-Identifier: MIT
#pragma once

namespace Darknet {
struct Layer {
    char not_known[24];
    int index, binary, xnor, deform, truth, new_coords, embedding_layer_id, classes;
    ELayerType type;
    float reverse, scale, scale_x_y;
    float *output, *weights, *biases, *scales, *rolling_mean, *rolling_variance;
    int batch_normalize, batch, inputs, outputs, nweights, h, w, c, out_h, out_w, out_c, n, groups;
    void (*forward)(Layer &, NetworkState);
    ACTIVATION activation;
    WEIGHTS_NORMALIZATION_T weights_normalization;
    int group_id, size, stride, stride_x, stride_y, dilation, antialiasing, maxpool_depth, pad;
    char not_known_either[400];
    int *input_layers, *input_sizes;
};
}
