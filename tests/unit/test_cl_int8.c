/* SPDX-License-Identifier: MIT */
/*
 * The row cl_int8 gives the bits of packed_int8 on random layers: sizes, strides, groups, a batch,
 * with and without a plan or a pool. What packed_int8 leaves in single precision, it does too.
 *
 *   test_cl_int8 [--cases N] [--seed N] [--case I]
 */
#include "check/int8_check.h"
#include "cl/configure.h"
#include "driver/driver.h"
#include "int8/scales.h"
#include "packed/isa/ukernel.h"
#include "support/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs the layer, over outputs that are NaN. */
static gemm_status run(const char *row, const conv_call *c, const gemm_scale *scale,
                       gemm_kept *kept, gemm_note *note)
{
    const gemm_variant *v = gemm_find(row);
    gemm_clear_note(note);
    const gemm_context context = {.threads = 1, .isa = gemm_ukernel_find(NULL), .scale = scale,
                                  .kept = kept, .note = note};
    memset(c->output, 0xff, conv_outputs(c) * sizeof(float));
    const gemm_op op = {GEMM_CONVOLUTION, {.conv = c}};
    return v->run(&op, &context, v->params);
}

/* Whether the reference gives the same. exp has other bits on another device. */
static bool is_near(const conv_call *c, const gemm_scale *scale)
{
    gemm_error worst;
    return !gemm_int8_compare(c, scale->scale, scale->zero, &worst) && worst.ratio <= 1;
}

static const char *judge(const conv_call *c, const gemm_scale *scale)
{
    const size_t bytes = conv_outputs(c) * sizeof(float);
    float *expected = malloc(bytes);
    const char *wrong = NULL;
    gemm_kept kept = {.room = (size_t)1 << 30};
    gemm_note note;
    if (!expected) abort();
    if (run("packed_int8", c, scale, NULL, &note) != GEMM_DONE || !note.scale)
        wrong = "packed_int8 has it in single precision";
    memcpy(expected, c->output, bytes);
    for (int i = 0; i < 3 && !wrong; ++i) {
        const gemm_status status = run("cl_int8", c, scale, i ? &kept : NULL, &note);
        if (c->pool && status == GEMM_DECLINED && !gemm_cl_has_gpu()) break;
        if (status != GEMM_DONE) wrong = "declined";
        else if (note.scale != scale || strcmp(note.algorithm, "int8")) wrong = "not in 8 bits";
        else if (c->activation == CONV_MISH && !is_near(c, scale)) wrong = "above the bound";
        else if (c->activation != CONV_MISH && memcmp(c->output, expected, bytes))
            wrong = "not the bits of packed_int8";
        else if (i && !kept.data) wrong = "the weights are not kept";
    }
    gemm_drop_kept(&kept);
    free(expected);
    return wrong;
}

static conv_shape draw_shape(rng *r)
{
    static const int sizes[] = {1, 3, 3, 5};
    conv_shape s = {.batch = 1 + rng_below(r, 2), .groups = 1 + rng_below(r, 2)};
    s.size = sizes[rng_below(r, 4)];
    s.stride = 1 + rng_below(r, 3) % 2;
    s.pad = rng_below(r, 4) ? s.size / 2 : rng_below(r, s.size);
    s.c = s.groups * (3 + rng_below(r, 30));
    s.n = s.groups * (5 + rng_below(r, 30));
    s.h = s.size + 1 + rng_below(r, 20);
    s.w = s.size + rng_below(r, 40);
    return s;
}

/* The same with an even output, so that a pool of 2x2 can follow. */
static conv_shape make_even(conv_shape s)
{
    while (((s.h + 2 * s.pad - s.size) / s.stride + 1) % 2) ++s.h;
    while (((s.w + 2 * s.pad - s.size) / s.stride + 1) % 2) ++s.w;
    return s;
}

/* The layer, and then with a pool where that is possible. NULL, or what is wrong. */
static const char *judge_both(conv_call *c, const gemm_scale *scale)
{
    const char *wrong = judge(c, scale);
    if (wrong || c->out_h % 2 || c->out_w % 2 || c->activation == CONV_MISH) return wrong;
    conv_shape_pool(c);
    return judge(c, scale);
}

/* Every second layer can have a pool. Some inputs are beyond the range, and some are no numbers. */
static const char *judge_random(void *unused, rng *r, int number, char *text)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU, CONV_MISH};
    const conv_shape drawn = draw_shape(r), s = number % 2 ? make_even(drawn) : drawn;
    const int zero = number % 3 ? rng_below(r, 256) - 128 : 0;
    const gemm_scale scale = {.scale = .9f / 127, .zero = zero};
    conv_call c = conv_shape_make(&s, activations[rng_below(r, 4)]);
    (void)unused;
    conv_shape_fill(&c, r);
    float *input = (float *)c.input;
    input[0] = NAN;
    input[s.w] = -INFINITY;
    if (rng_below(r, 4) == 0) c.scale = NULL;
    const char *wrong = judge_both(&c, &scale);
    judge_text(&c, text);
    conv_shape_free(&c);
    return wrong;
}

static void test_single(void)
{
    static const conv_shape shapes[] = {{"depthwise", 1, 20, 20, 9, 9, 20, 3, 1, 1},
                                        {"few", 1, 1, 2, 9, 9, 16, 3, 1, 1},
                                        {"weight", 1, 1, 20, 9, 9, 20, 3, 1, 1}};
    const gemm_scale scale = {.scale = .9f / 127};
    const char *wrong = NULL;
    for (int i = 0; i < 3 && !wrong; ++i) {
        rng r = rng_make(7, (uint64_t)i);
        gemm_note note;
        conv_call c = conv_shape_make(&shapes[i], CONV_LEAKY);
        conv_shape_fill(&c, &r);
        if (i == 2) ((float *)c.weights)[5] = INFINITY;
        if (run("cl_int8", &c, &scale, NULL, &note) != GEMM_DONE) wrong = "declined";
        else if (note.scale) wrong = "a layer is in 8 bits";
        conv_shape_free(&c);
    }
    report_judged("cl-int8-single", wrong);
}

int main(int argc, char **argv)
{
    test_options o = {.cases = 40, .seed = 1, .only_case = -1};
    o = options_read(argc, argv, o, "--cases, --seed, --case", NULL);
    printf("# seed %llu, %d cases\n", (unsigned long long)o.seed, o.cases);
    const char *why = gemm_unusable(gemm_find("cl"));
    if (why) {
        report_skip("cl-int8", "%s", why);
        return report_status();
    }
    judge_cases(&(random_cases){.name = "cl-int8", .repeat = "test_cl_int8", .count = o.cases,
                                .judge = judge_random}, &o);
    test_single();
    return report_status();
}
