/* SPDX-License-Identifier: MIT */
/*
 * cl_winograd: the multiplies and the outputs of Winograd's algorithm (cl_winograd.h). A group is
 * one work-item.
 *
 *   item (x, y, z) -> `each` tiles of image z, COLS filters
 *     at each point, for ROWS tiles:  ROWS x COLS of M in registers; U is read in vectors, V is
 *                                     broadcast from where it lies
 *     for each tile:                  Y, scale, shift, activation; with `pool` the maxima of 2x2
 *
 * ROWS, COLS and VECTOR as in cl_wide. M lies in local memory, TILES * POINTS * COLS floats: L2.
 * TILES and `each` are multiples of ROWS, and `each` is TILES at most. Tiles past the last one
 * repeat it and are not stored.
 * Global {tiles / each, filters / COLS, images}.
 */
#define CONV
#include "cl_conv.h"
#include "cl_vector.h"
#include "cl_winograd.h"
#include "cl_winograd_finish.h"

#ifndef TILES
#define TILES ROWS
#endif

/* M at one point for tiles first ... first + ROWS - 1. M points to the first one's COLS filters. */
void multiply(int channels, __global const float *U, __global const float *V, int ldv, int first,
              int tiles, __local float *M)
{
    __global const float *v[ROWS];
    wide sum[ROWS][VECTORS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        v[i] = V + min(first + i, tiles - 1);
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            sum[i][j] = (wide)(0.0f);
        }
    }
    for (int k = 0; k < channels; ++k, U += COLS) {
        const ulong at = (ulong)k * ldv;
        wide u[VECTORS];
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            u[j] = VLOAD(U + j * VECTOR);
        }
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const float t = v[i][at];
            #pragma unroll
            for (int j = 0; j < VECTORS; ++j) {
                sum[i][j] += t * u[j];
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        #pragma unroll
        for (int j = 0; j < VECTORS; ++j) {
            VSTORE(sum[i][j], M + i * POINTS * COLS + j * VECTOR);
        }
    }
}

/* Outputs of VECTOR filters of a tile, finished. */
void compute_outputs(__local const float *M, wide scale, wide shift, float slope, int pool, wide *y)
{
    wide m[POINTS];
    #pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        m[p] = VLOAD(M + p * COLS);
    }
    finish_tile(m, scale, shift, slope, pool, y);
}

/* The part rows x columns of a filter's outputs, lane i of y. */
void store_lane(const float (*y)[VECTOR], int i, int rows, int columns, int w,
                __global float *out)
{
    if (rows == TILE && columns == TILE) {
        #pragma unroll
        for (int r = 0; r < TILE; ++r) {
            #pragma unroll
            for (int c = 0; c < TILE; ++c) {
                out[r * w + c] = y[r * TILE + c][i];
            }
        }
        return;
    }
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            out[r * w + c] = y[r * TILE + c][i];
        }
    }
}

/* n values from `from` on, the other lanes 0. */
wide load_some(__global const float *from, int n)
{
    float lanes[VECTOR];
    if (n >= VECTOR) {
        return VLOAD(from);
    }
    for (int i = 0; i < VECTOR; ++i) {
        lanes[i] = i < n ? from[i] : 0.0f;
    }
    return VLOAD(lanes);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void cl_winograd(PARAMETERS(CL_WINOGRAD_ARGUMENTS))
{
    __local float Mp[TILES * POINTS * COLS];
    const int first = get_global_id(0) * each, count = min(each, tiles - first);
    const int strip = get_global_id(1), z = get_global_id(2), side = pool ? TILE / 2 : TILE;
    const ulong v_point = (ulong)channels * ldv, u_point = (ulong)strips * channels * COLS;
    V += z * POINTS * v_point;
    U += (ulong)strip * channels * COLS;
    for (int p = 0; p < POINTS; ++p) {
        for (int t = 0; t < count; t += ROWS) {
            multiply(channels, U + p * u_point, V + p * v_point, ldv, first + t, tiles,
                     Mp + (t * POINTS + p) * COLS);
        }
    }
    for (int j = 0; j < VECTORS; ++j) {
        const int filter = strip * COLS + j * VECTOR, filters = min(VECTOR, M - filter);
        if (filters <= 0) {
            break;
        }
        const wide scale = load_some(norm + filter, filters);
        const wide shift = load_some(norm + M + filter, filters);
        __global float *plane = C + c0 + ((ulong)z * M + filter) * h * w;
        for (int t = 0; t < count; ++t) {
            const int y = (first + t) / across * side, x = (first + t) % across * side;
            const int rows = min(side, h - y), columns = min(side, w - x);
            wide out[TILE * TILE];
            float lanes[TILE * TILE][VECTOR];
            compute_outputs(Mp + t * POINTS * COLS + j * VECTOR, scale, shift, slope,
                            pool, out);
            #pragma unroll
            for (int i = 0; i < TILE * TILE; ++i) {
                VSTORE(out[i], lanes[i]);
            }
            for (int i = 0; i < filters; ++i) {
                store_lane(lanes, i, rows, columns, w, plane + (ulong)i * h * w + y * w + x);
            }
        }
    }
}
