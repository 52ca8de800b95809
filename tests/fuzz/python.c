/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target of the Python module's calls: a network, and a picture as Python gives it, which is a
 * file, a file's bytes, or pixels with distances of their own.
 *
 * Python's memoryview keeps its promise: each pixel lies inside of the block. So the block here is
 * exactly as long as the sizes and the distances need.
 */
#include "fuzz/fuzz.h"

/* exit() of a reader ends in the call, as in the wheel. */
#define __wrap_exit python_exit
#define __real_exit exit
#define __wrap_pause python_pause
#define __real_pause pause
#define __wrap_printf python_printf
#define __wrap___assert_fail python_assert_fail
#define run python_run
#include "python/calls.c"
#undef run

/* Sides of a picture that repeats one pixel. */
static const int64_t long_sides[] = {256, 65536, INT_MAX / 4, INT_MAX, INT64_C(1) << 32, INT64_MAX};
enum { LONG_SIDES = sizeof long_sides / sizeof *long_sides, HEAD = 16 };

/* The length of a side, from 0 on, or a long one without a distance. */
static int64_t side_of(uint8_t byte, bool *repeats)
{
    *repeats = byte >= 256 - LONG_SIDES;
    return *repeats ? long_sides[byte - (256 - LONG_SIDES)] : byte % 48;
}

/* Distances of the three sides, in one of six orders, each with a gap and a sign; the pixels. */
static unsigned char *put_pixels(py_pass *p, const uint8_t *head, const uint8_t *data, size_t size)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int64_t *const sides[] = {&p->c, &p->w, &p->h};
    int64_t *const steps[] = {&p->channel, &p->column, &p->row};
    int64_t step = 1, first = 0, last = 0;
    for (int i = 0; i < 3; ++i) {
        const int k = orders[head[0] % 6][i];
        bool repeats;
        *sides[k] = side_of(head[1 + k], &repeats);
        if (repeats || head[4 + k] % 8 == 7) continue;
        *steps[k] = head[4 + k] & 8 ? -step : step;
        const int64_t beyond = *sides[k] > 0 ? (*sides[k] - 1) * *steps[k] : 0;
        *(beyond < 0 ? &first : &last) += beyond;
        step *= (*sides[k] > 0 ? *sides[k] : 1) + head[4 + k] % 3;
    }
    const size_t bytes = (size_t)(last - first + 1);
    unsigned char *pixels = bytes > 1 << 20 ? NULL : malloc(bytes);
    for (size_t i = 0; pixels && i < bytes; ++i) pixels[i] = size ? data[i % size] : (uint8_t)i;
    p->data = pixels ? pixels - first : NULL;
    return pixels;
}

/* A cfg with boxes for three channels, else without. */
static void put_network(const uint8_t *head)
{
    char cfg[256];
    const int channels = 1 + head[0] % 4;
    snprintf(cfg, sizeof cfg, "[net]\nheight=%d\nwidth=%d\nchannels=%d\n%s", 2 + head[1] % 8 * 2,
             2 + head[2] % 8 * 2, channels,
             channels == 3 ? "[maxpool]\nsize=2\nstride=2\n[route]\nlayers=-1,-1\n"
                             "[yolo]\nmask=0\nclasses=1\nnum=1\nanchors=1,2\n"
                           : "[avgpool]\n");
    fuzz_write("cfg", "", 0, cfg, strlen(cfg));
    fuzz_write("weights", "", 0, "\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
}

static void call(py_network *n, const uint8_t *head, const uint8_t *data, size_t size)
{
    char why[PY_WHY_BYTES] = "";
    py_pass p = {.net = n->net, .threshold = (float)head[11] / 255, .nms = (float)head[12] / 255};
    unsigned char *pixels = NULL;
    switch (head[0] % 4) {
    case 0:
        p.path = FUZZ_FILE;
        break;
    case 1:
        p.data = data, p.bytes = (int64_t)size;
        break;
    default:
        pixels = put_pixels(&p, head + 1, data, size);
    }
    if (!p.path && (!p.data || (p.bytes == 0 && !pixels))) return;
    const bool boxes = py_has_boxes(n->net) && head[13] % 2;
    if (boxes ? py_detect(&p, why) : py_predict(&p, why)) {
        if (!*why || strchr(why, '\n')) abort();
    } else {
        int shape[3];
        for (int i = 0; py_output(n->net, i, shape); ++i)
            if (shape[0] < 1 || shape[1] < 1 || shape[2] < 1) abort();
        for (int i = 0; i < p.count; ++i)
            if (p.boxes[i].index < 0 || p.boxes[i].index >= py_classes(n)) abort();
        free(p.boxes);
    }
    free(pixels);
}

/* The first bytes say which network and picture, the rest is its file or its pixels. */
static void run_python(const uint8_t *data, size_t size)
{
    char cfg[128], weights[128], why[PY_WHY_BYTES];
    if (size < HEAD) return;
    snprintf(cfg, sizeof cfg, "%s/cfg", fuzz_folder());
    snprintf(weights, sizeof weights, "%s/weights", fuzz_folder());
    py_network n = {.cfg = cfg, .weights = weights};
    put_network(data + 8);
    fuzz_exit = python_exit;
    if (py_load(&n, why)) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
    call(&n, data, data + HEAD, size - HEAD);
    py_unload(&n);
    fuzz_exit = NULL;
}

static void seeds_python(void)
{
    static const char *const heads[] = {
        "\2\0\3\5\7\0\0\0\2\1\1\100\60\1\0\0BM",     /* 7 x 5 x 3, packed */
        "\2\5\1\7\11\1\11\2\0\1\2\0\0\0\0\0BM",      /* gray, with gaps */
        "\2\4\4\10\10\10\10\10\2\2\1\20\0\1\0\0BM",  /* four channels, from the last pixel on */
        "\2\0\3\377\373\0\0\0\2\1\1\100\60\1\0\0BM", /* a side that repeats one pixel */
        "\1\0\0\0\0\0\0\0\2\1\1\100\60\1\0\0BM",     /* the bytes of a file */
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; ++i) fuzz_seed(heads[i], HEAD + 2);
}

const fuzz_target fuzz_python_targets[] = {{"python", run_python, seeds_python},
                                           {NULL, NULL, NULL}};
