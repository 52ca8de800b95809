/* SPDX-License-Identifier: MIT */
/* Rows of the image in S parts: see parts.h. */
#include "packed/conv/parts.h"

#include "util/ints.h"

#include <string.h>

bool packed_reads_all_parts(const conv_call *c)
{
    return c->stride > 1 && c->size >= c->stride;
}

gemm_depthwise packed_band_of(const conv_call *c, const gemm_ukernel *u)
{
    gemm_depthwise d = {.h = c->h, .w = c->w, .out_h = c->out_h, .out_w = c->out_w,
                        .size = c->size, .pad = c->pad, .stride = c->stride};
    d.pitch = gemm_depthwise_pitch(&d, u->vl);
    return d;
}

void packed_pack_places(const gemm_depthwise *d, const gemm_ukernel *u, const float *band,
                        size_t apart, int first, int kc, int j0, int nc, float *strip)
{
    int y = j0 / d->out_w, x = j0 % d->out_w;
    for (int at = 0, n; at < nc; at += n, x = 0, ++y) {
        n = min_int(d->out_w - x, nc - at);
        u->conv.pack_band(d, band + (size_t)y * d->stride * d->pitch, apart, first, kc, x, n,
                          strip + at);
    }
    if (nc == u->nr) return;
    for (int p = 0; p < kc; ++p) {
        memset(strip + p * u->nr + nc, 0, (size_t)(u->nr - nc) * sizeof *strip);
    }
}
