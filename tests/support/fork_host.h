/* SPDX-License-Identifier: MIT */
/*
 * The libdarknet.so of a fork, loaded as Python does it, for the clients of tests/system. They are
 * compiled against the headers of that fork.
 */
#ifndef FORK_HOST_H
#define FORK_HOST_H

#include "hook/fork.h"

#include <time.h>

typedef struct fork_image {
    int w, h, c;
    float *data;
} fork_image;

typedef struct fork_detections {
    int count;
    void *list;
} fork_detections;

/* Predicts as many images as the network's batch, and finds the objects of the first `images`. The
   result has one for each image, and belongs to the caller. */
typedef fork_detections *fork_predict_batch(network *, fork_image, int images, int w, int h,
                                            float thresh, float hier, int *map, int relative,
                                            int letter);

/* The functions of a fork. The caller may call them and nothing else. */
typedef struct fork_host {
    void *library;
    network *(*load)(char *cfg, char *weights, int clear, int batch);
    float *(*predict)(network *, float *);
    void (*set_batch)(network *, int);
    void (*free)(network *);
    fork_predict_batch *predict_batch; /* NULL: this Darknet has none */
} fork_host;

/* Ends the program with status 2 and one line if the library or a function is missing. */
fork_host fork_open(const char *library);

/* A function of the library, or the end of the program. */
void *fork_find(void *library, const char *name);

/* Loads a network with room for `batch` images. pjreddie's Darknet takes that number from the cfg.
   weights: a file, or "draw" for those that fork_draw makes of the seed. */
network *fork_load(const fork_host *, char *cfg, char *weights, int batch, unsigned seed);

/* Random numbers from low to high, the same for each seed, which is changed. NULL: nothing. */
void fork_fill(unsigned *seed, float *to, int n, float low, float high);

/* Random weights that are the same for each seed. Outputs are about as large as inputs. */
void fork_draw(const network *, unsigned seed);

/* Whether layer i ends a branch: its output is what users read. */
int fork_is_end(const network *, int i);

/* Copies the outputs of the ends for one image, one behind the other. Returns their number.
   `to` may be NULL. */
int fork_copy_outputs(const network *, int image, float *to);

/* Milliseconds of a clock. */
double fork_ms(clockid_t);

/* The median of n times, which are sorted. */
double fork_median(double *times, int n);

#endif
