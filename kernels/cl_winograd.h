/* SPDX-License-Identifier: MIT */
/*
 * Winograd's algorithm for 3x3 filters of stride 1.
 *
 *   U = G g GT     cl_winograd_filter: each filter and channel, once for a layer
 *   V = BT d B     cl_winograd_input: each channel and tile; a tile is EDGE x EDGE pixels d
 *   M = VT U       cl_winograd: at each of the POINTS points a multiply
 *   Y = AT M A     cl_winograd: each filter and tile; TILE x TILE outputs
 *
 *   U [point][strip of COLS filters][channel][filter]
 *   V [image][point][channel][tile]      `ldv` tiles, a multiple of COLS
 *
 * A GPU takes vectors of one float, and strips of one filter. M is then as many multiplies as there
 * are points, by cl_tile, and cl_winograd_output has the last step.
 *
 * TILE is 2 or 4. For 4 the points are 0, +-P, +-Q and infinity. P and Q come from the host. Both
 * passes of a transform are the same function. It reads elements `step` apart and writes elements
 * `step_out` apart. A vector holds one element of VECTOR filters or tiles.
 *
 * Source: Lavin, Gray, "Fast algorithms for convolutional neural networks", 2015.
 */
#include "cl_winograd_arguments.h"

#ifndef TILE
#define TILE 4
#endif
#ifndef P_EIGHTHS
#define P_EIGHTHS 5
#define Q_EIGHTHS 12
#endif
#define P (P_EIGHTHS / 8.0f)
#define Q (Q_EIGHTHS / 8.0f)
#define EDGE (TILE + 2)
#define POINTS (EDGE * EDGE)

/* r = BT d */
void input_pass(const wide *d, int step, wide *r, int step_out)
{
#if TILE == 2
    r[0] = d[0] - d[2 * step];
    r[step_out] = d[step] + d[2 * step];
    r[2 * step_out] = d[2 * step] - d[step];
    r[3 * step_out] = d[step] - d[3 * step];
#else
    const wide odd_p = d[3 * step] - Q * Q * d[step], even_p = d[4 * step] - Q * Q * d[2 * step];
    const wide odd_q = d[3 * step] - P * P * d[step], even_q = d[4 * step] - P * P * d[2 * step];
    r[0] = P * P * Q * Q * d[0] - (P * P + Q * Q) * d[2 * step] + d[4 * step];
    r[step_out] = even_p + P * odd_p;
    r[2 * step_out] = even_p - P * odd_p;
    r[3 * step_out] = even_q + Q * odd_q;
    r[4 * step_out] = even_q - Q * odd_q;
    r[5 * step_out] = P * P * Q * Q * d[step] - (P * P + Q * Q) * d[3 * step] + d[5 * step];
#endif
}

/* r = G g */
void filter_pass(const wide *g, int step, wide *r, int step_out)
{
#if TILE == 2
    const wide even = g[0] + g[2 * step];
    r[0] = g[0];
    r[step_out] = 0.5f * (even + g[step]);
    r[2 * step_out] = 0.5f * (even - g[step]);
    r[3 * step_out] = g[2 * step];
#else
#define FACTOR(p, q) (1.0f / (2.0f * p * p * (p * p - q * q)))
    const wide even_p = FACTOR(P, Q) * (g[0] + P * P * g[2 * step]);
    const wide odd_p = FACTOR(P, Q) * P * g[step];
    const wide even_q = FACTOR(Q, P) * (g[0] + Q * Q * g[2 * step]);
    const wide odd_q = FACTOR(Q, P) * Q * g[step];
    r[0] = 1.0f / (P * P * Q * Q) * g[0];
    r[step_out] = even_p + odd_p;
    r[2 * step_out] = even_p - odd_p;
    r[3 * step_out] = even_q + odd_q;
    r[4 * step_out] = even_q - odd_q;
    r[5 * step_out] = g[2 * step];
#endif
}

/* r = AT x */
void output_pass(const wide *x, int step, wide *r, int step_out)
{
#if TILE == 2
    r[0] = x[0] + (x[step] + x[2 * step]);
    r[step_out] = (x[step] - x[2 * step]) - x[3 * step];
#else
    const wide even_p = x[step] + x[2 * step], odd_p = x[step] - x[2 * step];
    const wide even_q = x[3 * step] + x[4 * step], odd_q = x[3 * step] - x[4 * step];
    r[0] = x[0] + (even_p + even_q);
    r[step_out] = P * odd_p + Q * odd_q;
    r[2 * step_out] = P * P * even_p + Q * Q * even_q;
    r[3 * step_out] = P * P * P * odd_p + (Q * Q * Q * odd_q + x[5 * step]);
#endif
}
