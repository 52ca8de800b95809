/* SPDX-License-Identifier: MIT */
/*
 * What the Python module calls of the wheel's library (python/darknet_gemm/__init__.py has the same
 * structs). A function that can fail returns 0, or 1 with a line in `why`, of PY_WHY_BYTES.
 */
#ifndef PYTHON_CALLS_H
#define PYTHON_CALLS_H

#include "darknet.h"

#include <stddef.h>
#include <stdint.h>

enum { PY_WHY_BYTES = 2048 };

/* Of all networks. NULL and 0: those of the environment. No other call may run. */
int py_choose(const char *variant, int threads, char *why);

/* Name i of the variants, or NULL. `usable`: whether it can compute whole layers here. */
const char *py_variant(size_t i, int *usable);

typedef struct py_network {
    network *net;
    char *log;                          /* what Darknet said on stderr */
    char *cfg, *weights;                /* of the caller */
    network **shares;                   /* of py_detect_many: see hook/share.h */
    int share_count;
} py_network;

/* One call at a time. What a failed one left is freed by py_unload too. */
int py_load(py_network *n, char *why);
void py_unload(py_network *n);
int py_classes(const py_network *n);
int py_has_boxes(const network *net);

/* x and y are the middle, and all four are parts of the picture. */
typedef struct py_box {
    int index;
    float confidence, x, y, w, h;
} py_box;

typedef struct py_pass {
    network *net;
    /* The picture: a file, a file's bytes, or pixels of 8 bits with distances in bytes. */
    const char *path;
    const unsigned char *data;
    int64_t bytes;                      /* 0: pixels */
    int64_t w, h, c, column, row, channel;
    /* What is wanted. */
    float threshold, nms;
    char **names;
    const char *save;                   /* a file without .jpg, or NULL */
    const unsigned char *letters;       /* each: its length, 4 bytes, the lowest first; a PNG */
    /* What comes. */
    char *why;                          /* of py_detect_many: NULL, or why it failed */
    py_box *boxes;
    int count;
    double seconds;                     /* of the network */
    /* Freed at the end. */
    image picture;                      /* as the network takes it, then as it is drawn on */
    unsigned char *decoded;
    detection *found;
    int found_count;
} py_pass;

/* One call at a time for a network, and one with `save` for all. Free p->boxes. */
int py_detect(py_pass *p, char *why);

/* Each of `count` pictures as py_detect does it, to the bit. Where they are at least as many as
   threads, each thread takes pictures of its own. Free boxes and `why` of all. */
void py_detect_many(py_network *n, py_pass *passes, int count);
int py_predict(py_pass *p, char *why);

/* Output i of the last py_predict and its shape, or NULL when there is no more. */
const float *py_output(const network *net, int i, int shape[3]);

#endif
