/*
 * The convolution of `packed`, without im2col: the ways, in the order in which they are asked.
 * docs/packed-ways.md says which layers each of them takes.
 */
#include "packed/conv/way.h"
#include "packed/packed.h"

#include <stdio.h>

static const packed_way *const ways[] = {
    &packed_way_dots,           /* filters as large as the image */
    &packed_way_winograd,       /* 3x3, where it is faster */
    &packed_way_banded,         /* few channels and filters: nothing is packed */
    &packed_way_nchwc,          /* 1x1 filters over small maps */
    &packed_way_depthwise,      /* a filter sees one channel */
    &packed_way_polyphase,      /* stride S > 1, large maps */
    &packed_way_implicit,       /* all others */
};

/* A way without room leaves the convolution to the ways behind it. The trace has both names. */
gemm_status gemm_packed_conv(const conv_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    gemm_note *const note = context->note;
    const char *failed = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        packed_choice choice = {.name = ways[i]->name};
        if (!ways[i]->plan(c, context, &choice)) continue;
        if (ways[i]->run(c, &choice, context)) {
            if (!failed) failed = choice.name;
            continue;
        }
        snprintf(note->algorithm, sizeof note->algorithm, "%s%s%s", choice.name,
                 failed ? ", no room for " : "", failed ? failed : "");
        return GEMM_DONE;
    }
    return GEMM_DECLINED;
}
