/* SPDX-License-Identifier: MIT */
/*
 * The convolution of `packed`, without im2col: the ways, in the order in which they are asked.
 * docs/packed-ways.md says which layers each of them takes.
 */
#include "packed/conv/way.h"
#include "packed/packed.h"

#include <stdio.h>
#include <string.h>

static const packed_way *const ways[] = {
    &packed_way_dots,           /* filters as large as the image */
    &packed_way_winograd4,      /* 3x3, where it is fastest */
    &packed_way_winograd2,
    &packed_way_banded,         /* few channels and filters: nothing is packed */
    &packed_way_nchwc,          /* 1x1 filters over small maps */
    &packed_way_depthwise,      /* a filter sees one channel */
    &packed_way_polyphase,      /* stride S > 1, large maps */
    &packed_way_implicit,       /* all others */
};

enum { WAYS = sizeof ways / sizeof *ways };

const char *gemm_packed_way(int i)
{
    return i < WAYS ? ways[i]->name : NULL;
}

/* What the trace says of a way that does not run, or of the one that does. */
static void weigh(const gemm_context *x, const packed_way *way, const char *text)
{
    char *const all = x->note->weighed;
    const size_t at = strlen(all), room = sizeof x->note->weighed - at;
    if (x->timed && *text) snprintf(all + at, room, "%s%s: %s", at ? "; " : "", way->name, text);
}

/* Whether the convolution goes this way. */
static bool takes(const packed_way *way, const conv_call *c, const gemm_context *x,
                  packed_choice *choice)
{
    const char *why_not = way->plan(c, x, choice);
    weigh(x, way, why_not ? why_not : choice->weighed);
    return !why_not;
}

/* The way that the user named. NULL: none, or it cannot. */
static const packed_way *take_asked(const conv_call *c, const gemm_context *x,
                                    packed_choice *choice)
{
    for (int i = 0; x->way && i < WAYS; ++i)
        if (!strcmp(ways[i]->name, x->way) && takes(ways[i], c, x, choice)) return ways[i];
    return NULL;
}

/* The way to try behind `tried` others, which counts on. NULL: no way is left. */
static const packed_way *take_next(const conv_call *c, const gemm_context *x, int *tried,
                                   packed_choice *choice)
{
    if (!(*tried)++) {
        *choice = (packed_choice){.asked = true};
        const packed_way *asked = take_asked(c, x, choice);
        if (asked) return asked;
    }
    while (*tried <= WAYS) {
        const packed_way *way = ways[(*tried)++ - 1];
        *choice = (packed_choice){.asked = false};
        if (takes(way, c, x, choice)) return way;
    }
    return NULL;
}

gemm_status gemm_packed_conv(const conv_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    gemm_note *const note = context->note;
    const char *failed = NULL;
    const packed_way *way;
    packed_choice choice;
    for (int tried = 0; (way = take_next(c, context, &tried, &choice));) {
        if (way->run(c, &choice, context)) {
            if (!failed) failed = way->name;
            continue;
        }
        snprintf(note->algorithm, sizeof note->algorithm, "%s%s%s", way->name,
                 failed ? ", no room for " : "", failed ? failed : "");
        return GEMM_DONE;
    }
    return GEMM_DECLINED;
}

gemm_status gemm_packed_explain(const conv_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    int tried = 0;
    packed_choice choice;
    const packed_way *way = take_next(c, context, &tried, &choice);
    if (!way) return GEMM_DECLINED;
    snprintf(context->note->algorithm, sizeof context->note->algorithm, "%s", way->name);
    return GEMM_DONE;
}
