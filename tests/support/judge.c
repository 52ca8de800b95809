/* SPDX-License-Identifier: MIT */
#include "support/judge.h"

#include "packed/packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *get(size_t bytes)
{
    float *p = malloc(bytes);
    if (!p) abort();
    return p;
}

/* ---- one op ---- */

gemm_status judge_run(const judged *j, int threads, gemm_kept *kept, gemm_note *note)
{
    gemm_clear_note(note);
    if (j->before) memcpy(j->output, j->before, j->bytes);
    else memset(j->output, 0xff, j->bytes);
    return j->run(j->op, threads, kept, note);
}

bool judge_is_set(const float *output, size_t bytes)
{
    const unsigned char *const byte = (const unsigned char *)output;
    for (size_t i = 0; i < bytes; ++i)
        if (byte[i] != 0xff) return false;
    return true;
}

bool judge_untouched(const judged *j)
{
    return j->before ? !memcmp(j->output, j->before, j->bytes) : judge_is_set(j->output, j->bytes);
}

const char *judge_threads(const judged *j, int threads, bool *declined, gemm_note *note)
{
    float *const first = get(j->bytes);
    const char *wrong = NULL;
    *declined = false;
    for (int n = 1; n <= threads && !wrong && !*declined; ++n) {
        const gemm_status status = judge_run(j, n, NULL, note);
        *declined = status == GEMM_DECLINED;
        if (*declined && !judge_untouched(j)) wrong = "declined, and wrote";
        else if (*declined && n > 1) wrong = "declined with more threads";
        else if (*declined) continue;
        else if (status != GEMM_DONE) wrong = "failed";
        else if (n == 1) wrong = j->wrong ? j->wrong(j->op, note) : NULL;
        else if (memcmp(first, j->output, j->bytes)) wrong = "other bits with more threads";
        if (n == 1) memcpy(first, j->output, j->bytes);
    }
    free(first);
    return wrong;
}

const char *judge_kept(const judged *j, const float *weights, size_t count, size_t least,
                       size_t slack)
{
    float *const first = get(j->bytes);
    gemm_kept kept = {.room = 1 << 20};
    gemm_note note;
    const char *wrong = NULL;
    if (judge_run(j, 1, &kept, &note) || !j->in_format(&note)) wrong = "not in the format";
    memcpy(first, j->output, j->bytes);
    if (!kept.data || kept.bytes < least || kept.bytes >= least + slack) wrong = "not kept";
    memset((float *)weights, 0, count * sizeof *weights);
    if (judge_run(j, 2, &kept, &note) || memcmp(first, j->output, j->bytes))
        wrong = "kept weights do not serve";
    gemm_drop_kept(&kept);
    if (judge_run(j, 2, &kept, &note) || !memcmp(first, j->output, j->bytes))
        wrong = "dropped weights serve";
    gemm_drop_kept(&kept);
    kept.room = 100;
    if (judge_run(j, 2, &kept, &note) || kept.data) wrong = "kept without room";
    free(first);
    return wrong;
}

/* ---- random convolutions ---- */

conv_shape judge_draw_shape(rng *r, bool few, int widest)
{
    static const int sizes[] = {1, 1, 3, 3, 3, 5, 7};
    conv_shape s = {.batch = 1 + rng_below(r, 2),
                    .groups = rng_below(r, 4) ? 1 : 1 + rng_below(r, 4)};
    s.size = sizes[rng_below(r, sizeof sizes / sizeof *sizes)];
    s.stride = rng_below(r, 3) ? 1 : 1 + rng_below(r, 4);
    s.pad = rng_below(r, 4) ? s.size / 2 : rng_below(r, s.size);
    s.c = s.groups * ((few ? 1 : 3) + rng_below(r, rng_below(r, 2) ? 70 : 9));
    s.n = s.groups * ((few ? 1 : 5) + rng_below(r, 70));
    s.h = s.size + 1 + rng_below(r, 40);
    s.w = s.size + rng_below(r, rng_below(r, 8) ? 40 : widest);
    return s;
}

const char *judge_text(const conv_call *c, char text[JUDGE_TEXT])
{
    snprintf(text, JUDGE_TEXT, "%d filters %dx%d/%d pad %d groups %d over %dx%dx%d batch %d%s",
             c->n, c->size, c->size, c->stride, c->pad, c->groups, c->w, c->h, c->c, c->batch,
             c->pool ? " pool" : "");
    return text;
}

/* ---- chains ---- */

links links_make(const conv_shape shapes[LINKS], const conv_activation activations[LINKS],
                 int first, const layer_call *shortcut, rng *r)
{
    links l = {.first = first, .adds = rng_below(r, 2), .shortcut = *shortcut};
    for (int i = first; i < LINKS; ++i) {
        conv_shape s = shapes[i];
        if (i == LINKS - 1 && first < i) s.h = l.calls[1].out_h, s.w = l.calls[1].out_w;
        l.calls[i] = conv_shape_make(&s, activations[i]);
        conv_shape_fill(&l.calls[i], r);
    }
    const conv_call *last = &l.calls[LINKS - 1];
    const int n = (int)conv_outputs(last);
    l.other = guarded_make(1, n, n, AT_END, 0);
    l.output = guarded_make(1, n, n, AT_END, 0);
    l.expected = guarded_make(1, n, n, UNGUARDED, 0);
    guarded_fill(&l.other, r);
    l.inputs[0].size = l.inputs[1].size = n / last->batch;
    l.shortcut.kind = LAYER_SHORTCUT;
    l.shortcut.batch = last->batch;
    l.shortcut.c = l.shortcut.out_c = last->n;
    l.shortcut.h = l.shortcut.out_h = last->out_h;
    l.shortcut.w = l.shortcut.out_w = last->out_w;
    l.shortcut.inputs = 2;
    return l;
}

void links_free(links *l)
{
    for (int i = l->first; i < LINKS; ++i) conv_shape_free(&l->calls[i]);
    guarded_free(&l->other);
    guarded_free(&l->output);
    guarded_free(&l->expected);
}

conv_call links_alone(const links *l, int i)
{
    conv_call c = l->calls[i];
    if (i > l->first) c.input = l->calls[i - 1].output;
    return c;
}

static layer_call shortcut_of(links *l, const float *last, float *output)
{
    l->inputs[0].data = last;
    l->inputs[1].data = l->other.data;
    l->shortcut.input = l->inputs;
    l->shortcut.output = output;
    return l->shortcut;
}

void links_expect(links *l, const struct gemm_ukernel *u)
{
    const conv_call *last = &l->calls[LINKS - 1];
    gemm_note note;
    const gemm_context context = {.threads = 1, .isa = u ? u : gemm_ukernel_find(NULL),
                                  .note = &note};
    memcpy(l->expected.data, last->output, conv_outputs(last) * sizeof(float));
    const layer_call added = shortcut_of(l, last->output, l->expected.data);
    if (l->adds && gemm_packed_layer(&added, &context, NULL) != GEMM_DONE) abort();
}

const layer_call *links_calls(links *l, conv_call calls[LINKS])
{
    for (int i = l->first; i < LINKS; ++i) {
        calls[i] = l->calls[i];
        if (i > l->first) calls[i].input = NULL;
        calls[i].output = NULL;
    }
    if (!l->adds) calls[LINKS - 1].output = l->output.data;
    shortcut_of(l, NULL, l->output.data);
    return l->adds ? &l->shortcut : NULL;
}

bool links_right(const links *l)
{
    return !memcmp(l->output.data, l->expected.data, (size_t)l->output.columns * sizeof(float));
}

void links_clear(links *l)
{
    memset(l->output.data, 0xff, (size_t)l->output.columns * sizeof(float));
}

bool links_untouched(const links *l)
{
    return judge_is_set(l->output.data, (size_t)l->output.columns * sizeof(float));
}
