/* SPDX-License-Identifier: MIT */
/*
 * cl_winograd_filter: U = G g GT for COLS filters and one channel (cl_winograd.h). Filters past M
 * are zero. Global {channels, strips of filters}, where channels may be rounded up.
 */
#include "cl_vector.h"
#include "cl_winograd.h"

__kernel ONE_ITEM
void cl_winograd_filter(PARAMETERS(CL_WINOGRAD_FILTER_ARGUMENTS))
{
    const int channel = get_global_id(0), strip = get_global_id(1);
    if (channel >= channels) {
        return;
    }
    for (int v = 0; v < VECTORS; ++v) {
        const int first = strip * COLS + v * VECTOR;
        float lanes[9][VECTOR];
        wide g[9], between[EDGE * 3], u[POINTS];
        for (int i = 0; i < VECTOR; ++i) {
            const ulong at = a0 + ((ulong)min(first + i, M - 1) * channels + channel) * 9;
            for (int tap = 0; tap < 9; ++tap) {
                lanes[tap][i] = first + i < M ? weights[at + tap] : 0.0f;
            }
        }
        #pragma unroll
        for (int tap = 0; tap < 9; ++tap) {
            g[tap] = VLOAD(lanes[tap]);
        }
        #pragma unroll
        for (int x = 0; x < 3; ++x) {
            filter_pass(g + x, 3, between + x, 3);
        }
        #pragma unroll
        for (int y = 0; y < EDGE; ++y) {
            filter_pass(between + y * 3, 1, u + y * EDGE, 1);
        }
        #pragma unroll
        for (int p = 0; p < POINTS; ++p) {
            const ulong row = ((ulong)p * strips + strip) * channels + channel;
            VSTORE(u[p], U + row * COLS + v * VECTOR);
        }
    }
}
