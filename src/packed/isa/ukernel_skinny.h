/* SPDX-License-Identifier: MIT */
/*
 * A vector times a matrix: each element of the matrix is used once, so memory is the limit.
 * Included by ukernel_body.h.
 */

/* y += the sum of the rows of m, times xp[p] each: n columns, at most a vector. */
INLINE void add_part(const int rows, int n, const vec *xp, const float *m, size_t ld, float *y)
{
    vec sum = vzero();
    UNROLL
    for (int p = 0; p < rows; ++p, m += ld) {
        sum = vfma(xp[p], n < VL ? vload_part(m, n) : vload(m), sum);
    }
    if (n < VL) {
        vstore_part(y, n, vload_part(y, n) + sum);
    } else {
        vstore(y, vload(y) + sum);
    }
}

/* add_rows() for a constant number of rows. Each row of m is a stream of its own, which the
   processor's prefetching follows. */
INLINE void add_so_many_rows(const int rows, int n, const float *x, const float *m, size_t ld,
                             float *y)
{
    enum { WIDE = 2 };
    int j = 0;
    vec xp[GEMM_ADD_ROWS];
    UNROLL
    for (int p = 0; p < rows; ++p) xp[p] = vset1(x[p]);
    for (; j + WIDE * VL <= n; j += WIDE * VL) {
        const float *at = m + j;
        vec sum[WIDE];
        UNROLL
        for (int v = 0; v < WIDE; ++v) sum[v] = vzero();
        UNROLL
        for (int p = 0; p < rows; ++p, at += ld) {
            UNROLL
            for (int v = 0; v < WIDE; ++v) sum[v] = vfma(xp[p], vload(at + v * VL), sum[v]);
        }
        UNROLL
        for (int v = 0; v < WIDE; ++v) vstore(y + j + v * VL, vload(y + j + v * VL) + sum[v]);
    }
    for (; j < n; j += VL) add_part(rows, lesser(n - j, VL), xp, m + j, ld, y + j);
}

#define ADD_ROWS(r) case r: add_so_many_rows(r, n, x, m, ld, y); break;
static void add_rows(int rows, int n, const float *x, const float *m, size_t ld, float *y)
{
    switch (rows) {
    LIST_8(ADD_ROWS)
    default: add_so_many_rows(GEMM_ADD_ROWS, n, x, m, ld, y);
    }
}

/*
 * dots() for a constant number of rows. Each row is a stream of its own. Memory delivers several
 * streams to one core faster than one (docs/log/packed.md), and each vector of x is loaded once for
 * all rows. A row has the same two sums whatever the number of rows is, so its bits are the same.
 */
INLINE void dot_rows(const int rows, int n, const float *x, const float *m, size_t ld, float *y)
{
    enum { WIDE = 2 };
    vec acc[GEMM_DOT_ROWS][WIDE];
    UNROLL
    for (int r = 0; r < rows; ++r) acc[r][0] = acc[r][1] = vzero();
    int p = 0;
    for (; p + WIDE * VL <= n; p += WIDE * VL) {
        UNROLL
        for (int v = 0; v < WIDE; ++v) {
            const vec xp = vload(x + p + v * VL);
            UNROLL
            for (int r = 0; r < rows; ++r) {
                acc[r][v] = vfma(xp, vload(m + r * ld + p + v * VL), acc[r][v]);
            }
        }
    }
    for (; p < n; p += VL) {
        const vec xp = load_some(x + p, n - p);
        UNROLL
        for (int r = 0; r < rows; ++r) {
            acc[r][0] = vfma(xp, load_some(m + r * ld + p, n - p), acc[r][0]);
        }
    }
    UNROLL
    for (int r = 0; r < rows; ++r) y[r] = vsum(acc[r][0] + acc[r][1]);
}

#define DOT_ROWS(r) case r: dot_rows(r, n, x, m, ld, y); break;
static void dots(int rows, int n, const float *x, const float *m, size_t ld, float *y)
{
    switch (rows) {
    LIST_3(DOT_ROWS)
    default: dot_rows(GEMM_DOT_ROWS, n, x, m, ld, y);
    }
}

INLINE void dot_rows_by_parts(const int rows, int n, const float *x, const float *m, size_t ld,
                              float *y)
{
    vec acc[GEMM_DOT_ROWS][PART_VECS];
    UNROLL
    for (int r = 0; r < rows; ++r) {
        UNROLL
        for (int v = 0; v < PART_VECS; ++v) acc[r][v] = vzero();
    }
    for (int p = 0; p < n; p += GEMM_PARTS) {
        UNROLL
        for (int v = 0; v < PART_VECS; ++v) {
            const int at = p + v * VL;
            const vec xp = load_some(x + at, n - at);
            UNROLL
            for (int r = 0; r < rows; ++r)
                acc[r][v] = vfma(xp, load_some(m + r * ld + at, n - at), acc[r][v]);
        }
    }
    UNROLL
    for (int r = 0; r < rows; ++r) y[r] = total_of_parts(acc[r]);
}

static void dots_by_parts(int rows, int n, const float *x, const float *m, size_t ld, float *y)
{
    if (rows == GEMM_DOT_ROWS) {
        dot_rows_by_parts(GEMM_DOT_ROWS, n, x, m, ld, y);
        return;
    }
    for (int r = 0; r < rows; ++r) dot_rows_by_parts(1, n, x, m + r * ld, ld, y + r);
}
