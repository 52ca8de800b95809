/*
 * The rest: N % REST_UNIT tail columns. As columns of a tile they would fill a vector in part. So
 * they are multiplied with vectors along k, which are full. Two rows of A meet up to REST_COLS
 * columns at once. Their 2 * REST_COLS sums are vectors, and each is added up at the end.
 *
 * Included by ukernel_body.h.
 */

/* VL steps of k, or `tail` steps if it is not 0: then zeroes behind the columns of B are read. */
INLINE void rest_step(const int cols, const float *a, const float *next_a, const float *b,
                      size_t ld, const int tail, vec acc[2][REST_COLS])
{
    vec x = tail ? vload_part(a, tail) : vload(a);
    vec y = tail ? vload_part(next_a, tail) : vload(next_a);
    vkeep(x);
    vkeep(y);
    UNROLL
    for (int j = 0; j < cols; ++j) {
        vec column = vload(b + j * ld);
        vkeep(column);
        acc[0][j] = vfma(x, column, acc[0][j]);
        acc[1][j] = vfma(y, column, acc[1][j]);
    }
}

/* Two rows at a and next_a, times columns j0 .. j0+cols of the rest. */
INLINE void rest_rows(const gemm_tile *t, const float *a, const float *next_a, const int j0,
                      const int cols, vec acc[2][REST_COLS])
{
    const float *b = t->rest_b + j0 * t->rest_ld;
    UNROLL
    for (int j = 0; j < cols; ++j) acc[0][j] = acc[1][j] = vzero();
    int p = 0;
    for (; p + VL <= t->kc; p += VL) rest_step(cols, a + p, next_a + p, b + p, t->rest_ld, 0, acc);
    if (p < t->kc) rest_step(cols, a + p, next_a + p, b + p, t->rest_ld, t->kc - p, acc);
}

/* With an odd number of rows the last one is multiplied twice and stored once. */
INLINE void rest_columns(const gemm_tile *t, const int j0, const int cols)
{
    gemm_tile row = *t;         /* one row of C, as a tile */
    row.cols = cols;
    row.c += t->cols + j0;
    for (int i = 0; i < t->rows; i += 2) {
        const float *a = t->rest_a + i * t->rest_a_row;
        const float *next_a = i + 1 < t->rows ? a + t->rest_a_row : a;
        const float *c_next = t->c_next + i * t->c_row + t->cols + j0;
        __builtin_prefetch(c_next, 1, 3);
        __builtin_prefetch(c_next + t->c_row, 1, 3);
        vec acc[2][REST_COLS];
        rest_rows(t, a, next_a, j0, cols, acc);
        for (int r = 0; r < 2 && i + r < t->rows; ++r) {
            vec sums[MR][NV] = {{vsums(acc[r], cols)}};
            store_tile(&row, 1, 1, sums);
            row.c += t->c_row;
            if (row.shift) ++row.shift;
            if (row.scale) ++row.scale;
        }
    }
}

#define REST_NAME(n) JOIN(gemm_packed_rest_##n##__, ISA)
#define REST(n)                                                                                    \
    static NOINLINE void REST_NAME(n)(const gemm_tile *t, int j0) { rest_columns(t, j0, n); }
EACH_REST(REST)

typedef void rest_fn(const gemm_tile *, int j0);
#define REST_ENTRY(n) REST_NAME(n),
static rest_fn *const rests[REST_COLS] = {EACH_REST(REST_ENTRY)};

/* Up to REST_COLS columns at once, in groups of about equal size. */
static void rest(const gemm_tile *t)
{
    int groups = (t->rest + REST_COLS - 1) / REST_COLS;
    for (int j = 0; j < t->rest; --groups) {
        const int n = (t->rest - j) / groups;
        rests[n - 1](t, j);
        j += n;
    }
}
