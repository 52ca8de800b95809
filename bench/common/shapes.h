/* SPDX-License-Identifier: MIT */
/* The shapes of gemm that gemm-bench times, and where they come from. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct shape {
    int TA, TB, M, N, K, lda, ldb, ldc;
    long calls;                 /* how often a forward pass makes this call; weighs the totals */
} shape;

typedef struct shape_size {
    int M, N, K;
} shape_size;

/* The calls of yolov3-tiny at 416 x 416. */
enum { YOLOV3_TINY_CALLS = 13 };
extern const shape_size yolov3_tiny_sizes[YOLOV3_TINY_CALLS];

typedef struct shape_list {
    shape *items;
    size_t count;
} shape_list;

/*
 * Each adds to the list what its argument asks for; an equal shape only gains calls. Each returns
 * 0, or -1 with a message in error.
 */
int shapes_add_named(shape_list *, const char *name, char *error, size_t error_size);
int shapes_add_cfg(shape_list *, const char *path, int batch, char *error, size_t error_size);
int shapes_add_mnk(shape_list *, const char *text, char *error, size_t error_size);
int shapes_add_sizes(shape_list *, const char *text, char *error, size_t error_size);

/* Turns every shape into one for each transpose named, as in "NN,NT,TN,TT". */
int shapes_transpose(shape_list *, const char *text, char *error, size_t error_size);

void shapes_free(shape_list *);

/* The names that shapes_add_named knows, "a, b, c". */
const char *shapes_names(void);

double shape_flops(const shape *);      /* of one call */
double shape_bytes(const shape *);      /* least traffic: A, B and C read once, C written once */

#endif
