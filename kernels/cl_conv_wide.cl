/* SPDX-License-Identifier: MIT */
/*
 * cl_conv_wide: cl_wide for whole convolutions (cl_conv.h). A group is one work-item, so the kernel
 * is a plain loop nest in the SIMD registers of a device that is a CPU.
 *
 *   item (x, y, z) -> COLS places of the output, for its shares of the filters and of the products
 *     for a product, for KC of K:  pack KC x COLS of B, straight from the image, into a strip
 *       for ROWS filters: ROWS x COLS of C in registers
 *
 * The coordinates of a strip's places are the same for all products. So a depthwise layer computes
 * them once, not once a channel.
 *
 * A strip may run over the end of a row of the output. With SHIFTED (stride 1, an output as large
 * as the image) a tap is the channel itself from a constant distance on. Masks remove what lies off
 * the image's edges. `elements` is the length of all images together, and nothing outside is read.
 * With DIRECT one tile has all filters of a group: nothing is packed, and vectors of B go straight
 * into the sums. Places past N are 0. Filters past M repeat the last one and are not stored.
 *
 * With POOL (cl_conv.h) a strip has COLS / 2 places of two neighbouring rows: its vectors are, by
 * turns, of the upper and of the lower row. K is at most KC, because parts of a sum would not fit
 * in C. Blocks of 2x2 lie in a pair of vectors, not in four places in a row.
 *
 * ROWS, COLS and VECTOR as in cl_wide. Global {strips, shares, z_shares}. There are N/COLS strips,
 * and with POOL out_w / (COLS / 2) for each two rows of the output.
 */
#define CONV
#include "cl_conv.h"
#include "cl_vector.h"

typedef PASTE(int, VECTOR) wide_int;

CONV_FINISH(conv_finish_wide, wide)

#if VECTOR == 16
#define LANES 8
#elif VECTOR == 8
#define LANES 4
#else
#define LANES 2
#endif
#define LANES_STORE(v, p) PASTE(vstore, LANES)(v, 0, p)

/* Places of a product. */
typedef struct strip {
    __global const float *image;    /* the product's first channel */
    long before, behind;            /* elements that may be read: image[-before] ... [behind - 1] */
    int cols;                       /* places of the strip; with POOL those of one row */
    int place[VECTORS];             /* the first one of each vector */
    int h, w, size, pad;
#ifdef SHIFTED
    wide_int inside[SIZE * SIZE][VECTORS];      /* masks of the taps */
#elif defined(TAPS)
    int y[COLS], x[COLS];           /* of the first tap in the image; far outside past N */
#endif
} strip;

/* Which places the strip has, of N. */
void cut_strip(strip *s, int id, int N, int out_w)
{
#ifdef POOL
    const int across = (out_w + COLS / 2 - 1) / (COLS / 2), x = id % across * (COLS / 2);
    const int first = id / across * 2 * out_w + x;
    s->cols = min(COLS / 2, out_w - x);
    #pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        s->place[v] = first + v % 2 * out_w + v / 2 * VECTOR;
    }
#else
    s->cols = min(COLS, N - id * COLS);
    #pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        s->place[v] = id * COLS + v * VECTOR;
    }
#endif
}

#ifdef TAPS
void find_places(strip *s, int out_w, int stride)
{
    int y[COLS], x[COLS];
    for (int v = 0; v < VECTORS; ++v) {
#ifdef POOL
        const int past = s->cols - v / 2 * VECTOR;
#else
        const int past = s->cols - v * VECTOR;
#endif
        int row = s->place[v] / out_w, column = s->place[v] % out_w;
        for (int i = v * VECTOR; i < (v + 1) * VECTOR; ++i) {
            y[i] = i - v * VECTOR < past ? row * stride - s->pad : -(1 << 30);
            x[i] = column * stride - s->pad;
            if (++column == out_w) {
                column = 0;
                ++row;
            }
        }
    }
#ifdef SHIFTED
    #pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        const wide_int ys = VLOAD(y + v * VECTOR), xs = VLOAD(x + v * VECTOR);
        for (int tap = 0; tap < SIZE * SIZE; ++tap) {
            const wide_int row = ys + tap / SIZE, column = xs + tap % SIZE;
            s->inside[tap][v] = row >= 0 && row < s->h && column >= 0 && column < s->w;
        }
    }
#else
    for (int i = 0; i < COLS; ++i) {
        s->y[i] = y[i];
        s->x[i] = x[i];
    }
#endif
}
#endif

/* A row of B: a channel, and with TAPS a tap in it. */
typedef struct b_row {
    long plane;                     /* where the channel begins in the image */
    int tap, y, x;                  /* tap y * SIZE + x */
} b_row;

void find_row(const strip *s, int k, b_row *r)
{
#ifdef TAPS
    const int size = s->size;
    r->plane = (long)(k / (SIZE * SIZE)) * s->h * s->w;
    r->tap = k % (SIZE * SIZE);
    r->y = r->tap / SIZE;
    r->x = r->tap % SIZE;
#else
    r->plane = (long)k * s->h * s->w;
#endif
}

/* The row behind it, without a division. */
void next_row(const strip *s, b_row *r)
{
#ifdef TAPS
    const int size = s->size;
    ++r->tap;
    if (++r->x < SIZE) {
        return;
    }
    r->x = 0;
    if (++r->y < SIZE) {
        return;
    }
    r->y = r->tap = 0;
#endif
    r->plane += (long)s->h * s->w;
}

/* One vector of a row of B. */
wide load_b(const strip *s, const b_row *r, int v)
{
    const int from = v * VECTOR;
    float lanes[VECTOR];
#ifdef TAPS
#ifdef SHIFTED
    const int tap = r->tap;
    const long at = r->plane + s->place[v] + (r->y - s->pad) * s->w + r->x - s->pad;
    if (at >= -s->before && at + VECTOR <= s->behind) {
        return s->inside[tap][v] ? VLOAD(s->image + at) : 0.0f;
    }
    int inside[VECTOR];
    VSTORE(s->inside[tap][v], inside);
    for (int i = 0; i < VECTOR; ++i) {
        lanes[i] = inside[i] ? s->image[at + i] : 0.0f;
    }
#else
    __global const float *image = s->image + r->plane;
    for (int i = 0; i < VECTOR; ++i) {
        const int row = s->y[from + i] + r->y, column = s->x[from + i] + r->x;
        lanes[i] = row >= 0 && row < s->h && column >= 0 && column < s->w
                       ? image[(long)row * s->w + column] : 0.0f;
    }
#endif
#else
    __global const float *row = s->image + r->plane + s->place[v];
    if (from + VECTOR <= s->cols) {
        return VLOAD(row);
    }
    for (int i = 0; i < VECTOR; ++i) {
        lanes[i] = from + i < s->cols ? row[i] : 0.0f;
    }
#endif
    return VLOAD(lanes);
}

/* ROWS filters from a[0] ... on kc rows of B from k0. */
void multiply(const strip *s, __local const float *Bp, __global const float **a, int k0, int kc,
              wide (*sum)[VECTORS])
{
#ifdef DIRECT
    b_row row;
    find_row(s, k0, &row);
#endif
    for (int k = 0; k < kc; ++k) {
        wide b[VECTORS];
        #pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
#ifdef DIRECT
            b[v] = load_b(s, &row, v);
#else
            b[v] = VLOAD(Bp + k * COLS + v * VECTOR);
#endif
        }
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const float t = a[i][k];
            #pragma unroll
            for (int v = 0; v < VECTORS; ++v) {
                sum[i][v] += t * b[v];
            }
        }
#ifdef DIRECT
        next_row(s, &row);
#endif
    }
}

/* Stores a row of sums: the first part of K overwrites C, and after the last part scale, shift and
   activation are applied. */
#define FINISH(s) conv_finish_wide(s, norm, filter, filters, slope)
void store_row(const wide *sum, bool first, bool last, int cols, __global float *c,
               __global const float *norm, int filter, int filters, float slope)
{
    #pragma unroll
    for (int v = 0; v < VECTORS; ++v, c += VECTOR, cols -= VECTOR) {
        wide s = sum[v];
        if (cols >= VECTOR) {
            s = first ? s : s + VLOAD(c);
            VSTORE(last ? FINISH(s) : s, c);
        } else {
            float lanes[VECTOR];
            for (int i = 0; i < VECTOR; ++i) {
                lanes[i] = !first && i < cols ? c[i] : 0.0f;
            }
            s += VLOAD(lanes);
            VSTORE(last ? FINISH(s) : s, lanes);
            for (int i = 0; i < cols; ++i) {
                c[i] = lanes[i];
            }
        }
    }
}

#ifdef POOL
/* Stores the maxima of a row's blocks: `cols` places in each of two rows. */
void store_most(const wide *sum, int cols, __global float *c, __global const float *norm,
                int filter, int filters, float slope)
{
    #pragma unroll
    for (int v = 0; v < VECTORS; v += 2, c += LANES, cols -= VECTOR) {
        const wide upper = FINISH(sum[v]), lower = FINISH(sum[v + 1]);
        PASTE(float, LANES) most = -FLT_MAX;
        most = upper.even > most ? upper.even : most;
        most = upper.odd > most ? upper.odd : most;
        most = lower.even > most ? lower.even : most;
        most = lower.odd > most ? lower.odd : most;
        if (cols >= VECTOR) {
            LANES_STORE(most, c);
        } else {
            float lanes[LANES];
            LANES_STORE(most, lanes);
            for (int i = 0; i < cols / 2; ++i) {
                c[i] = lanes[i];
            }
        }
    }
}
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void cl_conv_wide(PARAMETERS(CL_CONV_WIDE_ARGUMENTS))
{
#ifdef DIRECT
    __local const float *Bp = 0;
#else
    __local float Bp[KC * COLS];
#endif
    const int tiles = (M + ROWS - 1) / ROWS;
    const int each = (tiles + shares - 1) / shares * ROWS;
    const int first = get_global_id(1) * each, last = min(M, first + each);
    const int z_each = (products + z_shares - 1) / z_shares;
    const int z_first = get_global_id(2) * z_each, z_last = min(products, z_first + z_each);

    /* The strip of this item, and where its first output lies in a row of C. */
    strip s;
    cut_strip(&s, get_global_id(0), N, out_w);
#ifdef POOL
    const int c_first = s.place[0] / (2 * out_w) * (out_w / 2) + s.place[0] % (2 * out_w) / 2;
#else
    const int c_first = s.place[0];
#endif
    s.h = h;
    s.w = w;
    s.size = size;
    s.pad = pad;
#ifdef TAPS
    find_places(&s, out_w, stride);
#endif

    for (int z = z_first; z < z_last && first < last; ++z) {
        s.image = B + b0 + B_START(z);
        s.before = B_START(z);
        s.behind = elements - B_START(z);
        for (int k0 = 0; k0 < K; k0 += KC) {
            const int kc = min(KC, K - k0);
#ifndef DIRECT
            b_row row;
            find_row(&s, k0, &row);
            for (int k = 0; k < kc; ++k, next_row(&s, &row)) {
                #pragma unroll
                for (int v = 0; v < VECTORS; ++v) {
                    VSTORE(load_b(&s, &row, v), Bp + k * COLS + v * VECTOR);
                }
            }
#endif
            for (int i0 = first; i0 < last; i0 += ROWS) {
                __global const float *a[ROWS];
                wide sum[ROWS][VECTORS];
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    a[i] = A + a0 + A_START(z) + (ulong)min(i0 + i, M - 1) * K + k0;
                    #pragma unroll
                    for (int v = 0; v < VECTORS; ++v) {
                        sum[i][v] = (wide)(0.0f);
                    }
                }
                multiply(&s, Bp, a, k0, kc, sum);
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    if (i0 + i < last) {
                        __global float *c = C + c0 + C_START(z) + (ulong)(i0 + i) * ldc + c_first;
#ifdef POOL
                        store_most(sum[i], s.cols, c, norm, FILTER(z) + i0 + i, groups * M, slope);
#else
                        store_row(sum[i], k0 == 0, k0 + kc == K, s.cols, c, norm,
                                  FILTER(z) + i0 + i, groups * M, slope);
#endif
                    }
                }
            }
        }
    }
}
