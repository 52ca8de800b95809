/* SPDX-License-Identifier: MIT */
/* What C and C++ write in different ways, for fake_fork.c and fake_network.c. */
#ifndef FAKE_FORK_H
#define FAKE_FORK_H

#ifdef __cplusplus
#include "darknet_internal.hpp"
using Darknet::Layer;
typedef Layer layer;
typedef Darknet::Network network;
typedef Darknet::NetworkState state_of_pass;
#define ARGUMENTS Layer &l, state_of_pass s
#define TYPE(name) Darknet::ELayerType::name
#define C_NAME extern "C"
#define hook_layers(net, state) (-1)
#define hook_layer_changes(l) ((void)0)
#define hook_network_changes(net) ((void)0)
#define FREED Layer &
#define PATH const char *
#else
#include "darknet.h"
#include "hook/preload/patched.h" /* as patches/alexeyab has it; without DARKNET_GEMM nothing */
typedef network_state state_of_pass;
#define ARGUMENTS layer l, state_of_pass s
#define TYPE(name) name
#define C_NAME
#define FREED layer
#define PATH char *
#endif

/* The network of fake_fork.c for so many images, whatever the cfg. */
network parse_network_cfg_custom(PATH cfg, int batch, int time_steps);
void load_weights(network *, PATH file);
void free_layer(FREED l);

#endif
