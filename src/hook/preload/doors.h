/* SPDX-License-Identifier: MIT */
/*
 * The functions of Darknet that libdarknet-layers.so replaces: DOOR(name, kind).
 *
 * kind: the type of the layers whose forward function it is, or what else it changes. A name with
 * _AT has a pointer as its first argument, the others a value.
 *
 * The preprocessor alone makes the linker's list of names of this file, too (mk/layers.mk).
 */
#ifndef HOOK_DOORS_H
#define HOOK_DOORS_H

/* How the function is called in an object file: hank-ai's C++ has names with their arguments. */
#ifdef HOOK_HANKAI
#define SYMBOL(name) SYMBOL_##name
#else
#define SYMBOL(name) name
#endif
#define SYMBOL_TEXT_(symbol) #symbol
#define SYMBOL_TEXT(symbol) SYMBOL_TEXT_(symbol)

#ifdef HOOK_ALEXEYAB
#define ONLY_ALEXEYAB(DOOR, ...) DOOR(__VA_ARGS__)
#else
#define ONLY_ALEXEYAB(DOOR, ...)
#endif

#define DOORS(DOOR)                                                                               \
    DOOR(forward_convolutional_layer, CONVOLUTIONAL)                                              \
    DOOR(forward_connected_layer, CONNECTED)                                                      \
    DOOR(forward_maxpool_layer, MAXPOOL)                                                          \
    DOOR(forward_avgpool_layer, AVGPOOL)                                                          \
    DOOR(forward_upsample_layer, UPSAMPLE)                                                        \
    DOOR(forward_route_layer, ROUTE)                                                              \
    DOOR(forward_shortcut_layer, SHORTCUT)                                                        \
    DOOR(forward_dropout_layer, DROPOUT)                                                          \
    DOOR(forward_yolo_layer, YOLO)                                                                \
    DOOR(update_convolutional_layer, CHANGES_LAYER)                                               \
    DOOR(update_connected_layer, CHANGES_LAYER)                                                   \
    DOOR(free_layer, CHANGES_LAYER)                                                               \
    ONLY_ALEXEYAB(DOOR, free_layer_custom, CHANGES_LAYER)                                         \
    ONLY_ALEXEYAB(DOOR, fuse_conv_batchnorm, CHANGES_NETWORK)                                     \
    DOOR(resize_convolutional_layer, CHANGES_LAYER_AT)                                            \
    DOOR(load_weights, CHANGES_NETWORK_AT)                                                        \
    DOOR(load_weights_upto, CHANGES_NETWORK_AT)

#ifdef HOOK_EXPORTS
#ifdef HOOK_HANKAI
#include "darknet.h"
#endif
#define EXPORT(name, kind) export SYMBOL(name)
DOORS(EXPORT)
#endif

#endif
