/* SPDX-License-Identifier: MIT */
/*
 * Tail columns along K: N % TAIL_UNIT of them. As columns of a tile they would fill a vector in
 * part. So they are multiplied with vectors along k, which are full. Two rows of A meet up to
 * ALONG_K_COLS columns at once. Their 2 * ALONG_K_COLS sums are vectors, and each is added up at
 * the end.
 *
 * Included by ukernel_body.h.
 */

/* VL steps of k, or `tail` steps if it is not 0: then zeroes behind the columns of B are read. */
INLINE void along_k_step(const int cols, const float *a, const float *next_a, const float *b,
                      size_t ld, const int tail, vec acc[2][ALONG_K_COLS])
{
    vec x = tail ? vload_part(a, tail) : vload(a);
    vec y = tail ? vload_part(next_a, tail) : vload(next_a);
    vkeep(x);
    vkeep(y);
    UNROLL
    for (int j = 0; j < cols; ++j) {
        vec column = vload(b + j * ld);
        vkeep(column);
        vfma_to(acc[0][j], x, column);
        vfma_to(acc[1][j], y, column);
    }
}

/* Two rows at a and next_a, times tail columns j0 .. j0+cols. */
INLINE void along_k_rows(const gemm_tile *t, const float *a, const float *next_a, const int j0,
                      const int cols, vec acc[2][ALONG_K_COLS])
{
    const float *b = t->tail_b + j0 * t->tail_ld;
    UNROLL
    for (int j = 0; j < cols; ++j) acc[0][j] = acc[1][j] = vzero();
    int p = 0;
    for (; p + VL <= t->kc; p += VL)
        along_k_step(cols, a + p, next_a + p, b + p, t->tail_ld, 0, acc);
    if (p < t->kc) along_k_step(cols, a + p, next_a + p, b + p, t->tail_ld, t->kc - p, acc);
}

/* With an odd number of rows the last one is multiplied twice and stored once. */
INLINE void along_k_columns(const gemm_tile *t, const int j0, const int cols)
{
    gemm_tile pair = *t;        /* these columns of one or two rows of C, as a tile */
    pair.cols = cols;
    pair.c += t->cols + j0;
    for (int i = 0; i < t->rows; i += 2) {
        const float *a = t->tail_a + i * t->tail_a_row;
        const float *next_a = i + 1 < t->rows ? a + t->tail_a_row : a;
        const float *c_next = t->c_next + i * t->c_row + t->cols + j0;
        __builtin_prefetch(c_next, 1, 3);
        __builtin_prefetch(c_next + t->c_row, 1, 3);
        vec acc[2][ALONG_K_COLS];
        along_k_rows(t, a, next_a, j0, cols, acc);
        float sums[2][NR];
        vstore(sums[0], vsums(acc[0], cols));
        vstore(sums[1], vsums(acc[1], cols));
        pair.rows = lesser(2, t->rows - i);
        store_any(&pair, sums);
        pair.c += 2 * t->c_row;
        if (pair.shift) pair.shift += 2;
        if (pair.scale) pair.scale += 2;
    }
}

#define ALONG_K_NAME(n) JOIN(gemm_packed_along_k_##n##__, ISA)
#define ALONG_K(n)                                                                                 \
    static NOINLINE void ALONG_K_NAME(n)(const gemm_tile *t, int j0) { along_k_columns(t, j0, n); }
EACH_ALONG_K(ALONG_K)

typedef void along_k_fn(const gemm_tile *, int j0);
#define ALONG_K_ENTRY(n) ALONG_K_NAME(n),
static along_k_fn *const along_k_of[ALONG_K_COLS] = {EACH_ALONG_K(ALONG_K_ENTRY)};

/* Up to ALONG_K_COLS columns at once, in groups of about equal size. */
static void along_k(const gemm_tile *t)
{
    int groups = (t->tail + ALONG_K_COLS - 1) / ALONG_K_COLS;
    for (int j = 0; j < t->tail; --groups) {
        const int n = (t->tail - j) / groups;
        along_k_of[n - 1](t, j);
        j += n;
    }
}
