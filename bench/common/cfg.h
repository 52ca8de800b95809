/*
 * Reads a Darknet cfg file and says which gemm calls a forward pass through it makes.
 *
 * Only what fixes the sizes is read; learning rates, anchors and the like are skipped. The sizes
 * follow Darknet at 61c9d02e (src/parser.c and the make_ and forward_ functions of each layer),
 * with its integer arithmetic.
 */
#ifndef BENCH_CFG_H
#define BENCH_CFG_H

#include <stddef.h>

/* A layer as Darknet prints it. 0 where Darknet has no image at that point. */
typedef struct cfg_layer {
    char type[24];              /* the canonical name: convolutional, not conv */
    int line;                   /* of its [section] */
    int w, h, c, inputs;        /* comes in */
    int out_w, out_h, out_c, outputs;
} cfg_layer;

/* One shape of gemm in one layer, as gemm_cpu is called. */
typedef struct cfg_gemm {
    int layer;
    int TA, TB, M, N, K, lda, ldb, ldc;
    long calls;                 /* in one forward pass: batch x groups x locations x steps */
} cfg_gemm;

typedef struct cfg_net {
    int batch, time_steps;      /* batch: images (or sequences) that one forward pass takes */
    cfg_layer *layers;
    size_t layer_count;
    cfg_gemm *gemms;            /* in the order of the calls */
    size_t gemm_count;
} cfg_net;

/*
 * Reads `path`. batch 0: batch / subdivisions of the file; else that many, as `detect` (1) does.
 * Returns 0, or -1 with a message in error. The caller frees a net that was read with cfg_free.
 */
int cfg_read(const char *path, int batch, cfg_net *net, char *error, size_t error_size);

void cfg_free(cfg_net *net);

#endif
