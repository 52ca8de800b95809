/* SPDX-License-Identifier: MIT */
/*
 * Judging an op that a test runs with several numbers of threads, with kept memory and without
 * memory; and random convolutions and chains of them. What is right the test itself knows.
 */
#ifndef TEST_JUDGE_H
#define TEST_JUDGE_H

#include "support/conv_shape.h"
#include "support/operands.h"

#include <stdbool.h>
#include <stddef.h>

enum { JUDGE_TEXT = 200 };      /* of one case */

/* An op of a test. */
typedef struct judged {
    void *op;                   /* the test's own; the functions get it */
    float *output;
    size_t bytes;
    const float *before;        /* the output before each run; NULL: all bits are set */
    gemm_status (*run)(void *op, int threads, gemm_kept *kept, gemm_note *note);
    /* Whether this call went as the test wants it to, such as in 8 bits. */
    bool (*in_format)(const gemm_note *);
    /* NULL, or what is wrong with the output of this call. A test of threads may lack it. */
    const char *(*wrong)(void *op, const gemm_note *);
} judged;

/* One run. The note is cleared before it, and the output is set. */
gemm_status judge_run(const judged *, int threads, gemm_kept *, gemm_note *);

/* Whether all bits are set, so that nothing was written. */
bool judge_is_set(const float *output, size_t bytes);

/* Whether the output is as it was before the run. */
bool judge_untouched(const judged *);

/* 1 to `threads` threads: NULL, or what is wrong. All give the same bits. The note is of the last
   run; when the op declines, nothing is judged, and *declined is true. */
const char *judge_threads(const judged *, int threads, bool *declined, gemm_note *);

/* NULL, or what is wrong: the weights are kept in `least` bytes or up to `slack` more, serve the
   next call, go with the plan, and need room. The weights are changed. */
const char *judge_kept(const judged *, const float *weights, size_t count, size_t least,
                       size_t slack);

/* More than one place. With `few` any number of channels and filters; else more than 4 in a group,
   or more than 16 of a 1x1 layer. */
conv_shape judge_draw_shape(rng *, bool few, int widest);

/* Such as "40 filters 3x3/1 pad 1 groups 1 over 20x22x65 batch 1 pool". */
const char *judge_text(const conv_call *, char text[JUDGE_TEXT]);

/* ---- chains ---- */

enum { LINKS = 3 };

/* 1x1, depthwise, 1x1, each with the output of the one before it as input, and a shortcut. */
typedef struct links {
    int first;                  /* 0, or how many of the first layers are missing */
    bool adds;
    conv_call calls[LINKS];     /* each with an input of its own */
    layer_call shortcut;
    layer_input inputs[2];
    guarded other;              /* what the shortcut adds */
    guarded expected, output;   /* of the layers one by one, and of the chain */
} links;

/* Random numbers. The sizes of shapes[2] are set from the output of shapes[1]. `shortcut`: its
   factors and its activation. */
links links_make(const conv_shape shapes[LINKS], const conv_activation activations[LINKS],
                 int first, const layer_call *shortcut, rng *);
void links_free(links *);

/* Layer i as it runs alone, behind the one before it. */
conv_call links_alone(const links *, int i);

/* Behind the last layer alone: `expected` gets its output, and what the shortcut adds. NULL: the
   micro-kernels of GEMM_ISA. */
void links_expect(links *, const struct gemm_ukernel *);

/* The layers as a chain gets them: only the last output exists. Returns the shortcut or NULL. */
const layer_call *links_calls(links *, conv_call calls[LINKS]);

/* Whether the output of the chain has the expected bits; or was not written since links_clear. */
bool links_right(const links *);
void links_clear(links *);
bool links_untouched(const links *);

#endif
