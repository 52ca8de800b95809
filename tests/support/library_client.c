/* SPDX-License-Identifier: MIT */
/*
 * A program that loads a libdarknet.so nobody here built, as Python does, and runs a network.
 *
 *   library_client LIBDARKNET ROUNDS CFG WEIGHTS IMAGE
 *
 * Prints the raw outputs, and a line a detection above 50%: class, percent, x, y, width, height.
 * The median of the forward passes goes to stderr, in milliseconds.
 */
#include "darknet.h"
#include "util/clock.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* darknet.h declares the functions; here they are pointers, filled from the library. */
#define FUNCTIONS(F)                                                                              \
    F(load_network) F(set_batch_network) F(load_image_color) F(letterbox_image)                   \
    F(network_predict) F(get_network_boxes) F(do_nms_sort)
#define POINTER(name) __typeof__(name) *name;
static struct {
    FUNCTIONS(POINTER)
} darknet;

static void find(void *library, const char *name, void *pointer)
{
    *(void **)pointer = dlsym(library, name);
    if (*(void **)pointer) return;
    fprintf(stderr, "library_client: no %s in the library\n", name);
    exit(2);
}

static void print_detections(network *net, int w, int h)
{
    int count = 0;
    detection *found = darknet.get_network_boxes(net, w, h, .5f, .5f, NULL, 1, &count);
    if (count) darknet.do_nms_sort(found, count, found[0].classes, .45f);
    for (int i = 0; i < count; ++i) {
        const box b = found[i].bbox;
        for (int c = 0; c < found[i].classes; ++c) {
            if (found[i].prob[c] > .5f)
                printf("box %d %.2f %.2f %.2f %.2f %.2f\n", c, 100 * found[i].prob[c], b.x, b.y,
                       b.w, b.h);
        }
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { MOST = 100 };
    double ms[MOST];
    if (argc != 6) {
        fprintf(stderr, "usage: library_client LIBDARKNET ROUNDS CFG WEIGHTS IMAGE\n");
        return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    const int rounds = atoi(argv[2]);
    if (!library || rounds < 1 || rounds > MOST) {
        fprintf(stderr, "library_client: %s\n", library ? "rounds are 1 to 100" : dlerror());
        return 2;
    }
#define FIND(name) find(library, #name, &darknet.name);
    FUNCTIONS(FIND)
    network *net = darknet.load_network(argv[3], argv[4], 0);
    darknet.set_batch_network(net, 1);
    const image im = darknet.load_image_color(argv[5], 0, 0);
    const image sized = darknet.letterbox_image(im, net->w, net->h);
    const float *output = NULL;
    for (int i = 0; i < rounds; ++i) {
        const double start = gemm_now_ms();
        output = darknet.network_predict(net, sized.data);
        ms[i] = gemm_now_ms() - start;
    }
    for (int i = 0; i < net->outputs; ++i) printf("raw %.9g\n", output[i]);
    print_detections(net, im.w, im.h);
    qsort(ms, (size_t)rounds, sizeof *ms, compare);
    fprintf(stderr, "median ms %.2f\n", ms[rounds / 2]);
    return 0;
}
