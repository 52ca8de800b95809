/*
 * The micro-kernel, written once. The file that includes this defines first
 *
 *   ISA                 the name, as a token
 *   VL, NV, MR          floats in a vector, vectors in a row of the tile, rows of the tile
 *   MC, KC, MC_IN_PLACE cache blocks
 *   TILES_WIDE          tiles in a wide strip
 *   vec                 the vector type, and on it: vzero() vset1(x) vload(p) vstore(p, v)
 *                       vload_part(p, n) vstore_part(p, n, v) (the first n floats, 0 < n < VL;
 *                       nothing else is touched), vfma(a, b, c) = a * b + c, vif_positive(x, y) = x > 0 ? x : y,
 *                       and the operators * and +
 *   vsum(v)             the sum of a vector's floats
 *   vload_valid(p, bits)    the floats whose bit is set, else 0; those alone are touched
 *   vevens(a, b) vodds(a, b)    the even, or odd, floats of a and behind them those of b
 *   vsums(v, n)         the sums of v[0] ... v[n - 1] as a vector, zeroes behind them; n is a constant
 *   vkeep(v)            makes the compiler hold v in a register, not load it again at each use
 *   REST_UNIT, REST_MOST    as in gemm_ukernel; REST_COLS columns at once, at most VL; EACH_REST(X) is
 *                       X(1) ... X(REST_COLS)
 *   BLOCK, transpose_block(src, ld, dst, width)    element (i, p), i and p below BLOCK, goes from
 *                       src[i * ld + p] to dst[p * width + i]; BLOCK is at most MR, and divides NR
 *   TALL, transpose_tall    the same for i below TALL, a multiple of BLOCK, with any number of registers
 *   TILE_TUNING         attributes of the tile functions, or nothing
 *   EACH_ROWS(X)        X(1) ... X(MR)
 *   EACH_VECS(X, r)     X(r, 1) ... X(r, NV)
 *   isa_supported()
 *
 * The tile in registers, MR = 8 and NV = 3:
 *
 *                     B: one row of the strip, NV vectors
 *                     [ b0 ][ b1 ][ b2 ]
 *     A: one column   ------------------
 *     a[0] broadcast  [acc ][acc ][acc ]
 *     ...                    ...            MR * NV accumulators + NV of B + 1 of A
 *     a[7] broadcast  [acc ][acc ][acc ]
 *
 * A step loads NV vectors and MR scalars for MR * NV FMAs, so that the FMA units and not the load
 * ports are the limit; the accumulators are independent, so that the FMA's latency is hidden.
 */
#include "packed/ukernel.h"

#define NOINLINE __attribute__((noinline))
#define STRING_(a) #a
#define STRING(a) STRING_(a)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { NR = NV * VL, LINE = 64 / sizeof(float) };

/* Darknet's large buffers start at 16 mod 64 bytes, and NR floats then touch one line more than they
   fill: the first one, which the strip before has fetched as its last. */
INLINE void prefetch_row(const float *row, const int width, bool once)
{
    if (once) {
        UNROLL
        for (int j = LINE - 1; j < width; j += LINE) __builtin_prefetch(row + j, 0, 0);
    } else {
        UNROLL
        for (int j = LINE - 1; j < width; j += LINE) __builtin_prefetch(row + j, 0, 2);
    }
}

/* C as it leaves the registers when nothing will be added to it any more. */
INLINE void finish_to_c(const gemm_tile *t, const int rows, const int nv, const bool whole,
                        const bool add, vec acc[MR][NV])
{
    const vec slope = vset1(t->slope);
    const float *shifts = t->shift, *scales = t->scale;
    const float alpha = t->alpha;
    const int tail = t->cols - (nv - 1) * VL;
    const size_t ld = t->c_row;
    float *c = t->c;
    UNROLL
    for (int i = 0; i < rows; ++i, c += ld) {
        const float factor = scales ? scales[i] : 1;
        const vec scale = vset1(factor * alpha), shift = vset1(shifts[i]), old = vset1(factor);
        UNROLL
        for (int v = 0; v < nv; ++v) {
            float *at = c + v * VL;
            const bool part = !whole && v == nv - 1;
            vec x = vfma(scale, acc[i][v], shift);
            if (add) x = vfma(old, part ? vload_part(at, tail) : vload(at), x);
            x = vif_positive(x, slope * x);
            if (part) {
                vstore_part(at, tail, x);
            } else {
                vstore(at, x);
            }
        }
    }
}

INLINE void add_to_c(const gemm_tile *t, const int rows, const int nv, const bool whole,
                     const bool add, vec acc[MR][NV])
{
    const vec alpha = vset1(t->alpha);
    const int tail = t->cols - (nv - 1) * VL;
    const size_t ld = t->c_row;
    float *c = t->c;
    UNROLL
    for (int i = 0; i < rows; ++i, c += ld) {
        UNROLL
        for (int v = 0; v < nv; ++v) {
            float *at = c + v * VL;
            if (whole || v < nv - 1) {
                vstore(at, vfma(alpha, acc[i][v], add ? vload(at) : vzero()));
            } else {
                const vec old = add ? vload_part(at, tail) : vzero();
                vstore_part(at, tail, vfma(alpha, acc[i][v], old));
            }
        }
    }
}

/* The tile goes to C. What is asked here is not asked between the stores, where the next tile waits. */
INLINE void to_c(const gemm_tile *t, const int rows, const int nv, vec acc[MR][NV])
{
    const bool whole = t->cols == nv * VL;
    if (t->shift) {
        if (whole && t->add) {
            finish_to_c(t, rows, nv, true, true, acc);
        } else if (whole) {
            finish_to_c(t, rows, nv, true, false, acc);
        } else if (t->add) {
            finish_to_c(t, rows, nv, false, true, acc);
        } else {
            finish_to_c(t, rows, nv, false, false, acc);
        }
    } else if (whole && t->add) {
        add_to_c(t, rows, nv, true, true, acc);
    } else if (whole) {
        add_to_c(t, rows, nv, true, false, acc);
    } else if (t->add) {
        add_to_c(t, rows, nv, false, true, acc);
    } else {
        add_to_c(t, rows, nv, false, false, acc);
    }
}

/* One step of k: acc += (column of A) * (row of B). */
INLINE void step(const int rows, const int nv, const float *a, const float *a4, size_t a_row,
                 const float *b, vec acc[MR][NV])
{
    vec row[NV];
    UNROLL
    for (int v = 0; v < nv; ++v) row[v] = vload(b + v * VL);
    UNROLL
    for (int i = 0; i < rows; ++i) {
        const vec ai = vset1((i < 4 ? a : a4)[(i & 3) * a_row]);
        UNROLL
        for (int v = 0; v < nv; ++v) acc[i][v] = vfma(ai, row[v], acc[i][v]);
    }
}

INLINE void move_row(gemm_moves *m, const int width)
{
    if (m->copy && m->cols == width) {
        UNROLL
        for (int j = 0; j < width; j += VL) vstore(m->to + j, vload(m->copy + j));
    } else if (m->copy) {
        int j = 0;
        for (; j + VL <= m->cols; j += VL) vstore(m->to + j, vload(m->copy + j));
        if (j < m->cols) vstore(m->to + j, vload_part(m->copy + j, m->cols - j));
    }
    if (m->copy) m->copy += m->ld, m->to += width;
    if (m->fetch) {
        prefetch_row(m->fetch, width, m->once);
        m->fetch += m->ld;
    }
}

/* How B lies, a constant wherever it is asked: by rows, by columns without a gap, by columns apart. */
typedef enum layout { ROWS, COLUMNS, COLUMNS_APART } layout;

/* The last block of BLOCK columns overlaps the one before it. Columns without a gap are fetched to L1, where
   a strip of short ones stays until it is read, and from there to L2. */
INLINE void move_block(gemm_moves *m, const layout lies)
{
    if (m->copy) {
        const int p = m->p < m->kc - BLOCK ? m->p : m->kc - BLOCK;
        transpose_block(m->copy + p, m->ld, m->to + p * NR, NR);
    }
    if (m->fetch && lies == COLUMNS) {
        UNROLL
        for (int j = 0; j < BLOCK * BLOCK; j += LINE) __builtin_prefetch(m->fetch + j, 0, 3);
        m->fetch += BLOCK * BLOCK;
    } else if (m->fetch && m->p % LINE == 0) {
        const float *line = m->fetch + m->p + LINE - 1;
        UNROLL
        for (int i = 0; i < BLOCK; ++i, line += m->ld) __builtin_prefetch(line, 0, 2);
    }
    m->p += BLOCK;
    if (m->p < m->kc) return;
    m->p = 0;
    if (m->copy) m->copy += BLOCK * m->ld, m->to += BLOCK;
    if (m->fetch && lies == COLUMNS_APART) m->fetch += BLOCK * m->ld;
}

INLINE void move_piece(gemm_moves *m, const layout lies)
{
    if (lies != ROWS) {
        move_block(m, lies);
    } else if (TILES_WIDE > 1 && m->width > NR) {
        move_row(m, TILES_WIDE * NR);
    } else {
        move_row(m, NR);
    }
    --m->left;
}

/* Row i of the next tile's C, and where that row of the next panel of A begins. */
INLINE void prefetch_next(const gemm_tile *t, int i, const int nv)
{
    const float *c = t->c_next + i * t->c_row;
    __builtin_prefetch(t->a_next + i * t->a_row, 0, 3);
    UNROLL
    for (int j = 0; j < nv * VL; j += LINE) __builtin_prefetch(c + j, 1, 3);
    __builtin_prefetch(c + t->cols - 1, 1, 3);
}

INLINE int earlier(int p, int q) { return p < q ? p : q; }

/*
 * rows and nv are constants wherever this is called: one straight loop is left of each. Two
 * pointers, to rows 0 and 4 of A, reach eight rows by the processor's address modes.
 *
 * What is brought nearer: a piece of B every few steps; the next tile of C, a row at a time, because
 * in one burst its lines would hold up those of B; where the next panel's rows of A begin, since
 * the processor's own prefetching takes over from there. With so few steps that spreading would
 * leave no time for memory, C comes at once. All of it is done between turns of equally many steps,
 * whose ends the processor foresees.
 */
INLINE void tile_body(const gemm_tile *t, const int rows, const int nv, const layout lies)
{
    enum { SHORT = 64 };
    vec acc[MR][NV];
    UNROLL
    for (int i = 0; i < rows; ++i) {
        UNROLL
        for (int v = 0; v < nv; ++v) acc[i][v] = vzero();
    }

    const float *a = t->a, *a4 = t->a + 4 * t->a_row, *b = t->b;
    const size_t a_row = t->a_row, a_step = t->a_step, b_row = t->b_row;
    gemm_moves *const m = t->moves;
    const int kc = t->kc, c_every = kc / rows + 1;
    const int turn = m->left ? earlier(m->every, c_every) : c_every;
    int move_at = m->left ? 0 : kc, c_at = 0, fetched = 0;
    if (kc < SHORT) {
        UNROLL
        for (int i = 0; i < rows; ++i) prefetch_next(t, i, nv);
        c_at = kc;
    }

    for (int p = 0; p < kc;) {
        const int stop = earlier(p + turn, kc);
        if (move_at < stop) {
            move_piece(m, lies);
            move_at = m->left ? move_at + m->every : kc;
        }
        if (c_at < stop) {
            prefetch_next(t, fetched++, nv);
            c_at = fetched < rows ? c_at + c_every : kc;
        }
        for (; p < stop; ++p) {
            step(rows, nv, a, a4, a_row, b, acc);
            a += a_step, a4 += a_step, b += b_row;
        }
    }
    to_c(t, rows, nv, acc);
}

/* One function for each count of rows and vectors, so that each has its own register allocation
   and its own line in a profile: gemm_packed_8x3__avx512 and so on. */
#define TILE_NAME(r, v) JOIN(gemm_packed_##r##x##v##__, ISA)
#define TILE(r, v)                                                                                 \
    static NOINLINE TILE_TUNING void TILE_NAME(r, v)(const gemm_tile *t) { tile_body(t, r, v, ROWS); }
#define TILES_OF_ROW(r) EACH_VECS(TILE, r)
EACH_ROWS(TILES_OF_ROW)

typedef void tile_fn(const gemm_tile *);
#define TILE_ENTRY(r, v) TILE_NAME(r, v),
#define TILE_ROW(r) {EACH_VECS(TILE_ENTRY, r)},
static tile_fn *const tiles[MR][NV] = {EACH_ROWS(TILE_ROW)};

static NOINLINE TILE_TUNING void JOIN(gemm_packed_by_columns__, ISA)(const gemm_tile *t)
{
    tile_body(t, MR, NV, COLUMNS);
}

static NOINLINE TILE_TUNING void JOIN(gemm_packed_by_columns_apart__, ISA)(const gemm_tile *t)
{
    tile_body(t, MR, NV, COLUMNS_APART);
}

static void tile(const gemm_tile *t)
{
    const gemm_moves *m = t->moves;
    if (m->by_columns && t->rows == MR && t->cols == NR) {
        if (m->ld == (size_t)m->kc) {
            JOIN(gemm_packed_by_columns__, ISA)(t);
        } else {
            JOIN(gemm_packed_by_columns_apart__, ISA)(t);
        }
        return;
    }
    if (t->cols <= NR) {
        tiles[t->rows - 1][(t->cols - 1) / VL](t);
        return;
    }
    gemm_tile part = *t;
    for (int j = 0; j < t->cols; j += NR) {
        const bool last = j + NR >= t->cols;
        part.cols = last ? t->cols - j : NR;
        part.b = t->b + j;
        part.c = t->c + j;
        part.c_next = last ? t->c_next : part.c + NR;
        tiles[t->rows - 1][(part.cols - 1) / VL](&part);
    }
}

/* ---- the rest: two rows of A times a few columns, vectors along k ---- */

INLINE void rest_step(const int cols, const float *a, const float *next_a, const float *b, size_t ld,
                      const int tail, vec acc[2][REST_COLS])
{
    vec x = tail ? vload_part(a, tail) : vload(a), y = tail ? vload_part(next_a, tail) : vload(next_a);
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

/* Columns j0 .. j0+cols of the rest. Of an odd number of rows the last is multiplied twice. */
INLINE void rest_columns(const gemm_tile *t, const int j0, const int cols)
{
    gemm_tile row = *t;
    row.cols = cols;
    row.c += t->cols + j0;
    const float *b = t->rest_b + j0 * t->rest_ld;
    for (int i = 0; i < t->rows; i += 2) {
        const float *a = t->a + i * t->a_row, *next_a = i + 1 < t->rows ? a + t->a_row : a;
        const float *c_next = t->c_next + i * t->c_row + t->cols + j0;
        __builtin_prefetch(c_next, 1, 3);
        __builtin_prefetch(c_next + t->c_row, 1, 3);
        vec acc[2][REST_COLS];
        UNROLL
        for (int j = 0; j < cols; ++j) acc[0][j] = acc[1][j] = vzero();
        int p = 0;
        for (; p + VL <= t->kc; p += VL) rest_step(cols, a + p, next_a + p, b + p, t->rest_ld, 0, acc);
        if (p < t->kc) rest_step(cols, a + p, next_a + p, b + p, t->rest_ld, t->kc - p, acc);
        for (int r = 0; r < 2 && i + r < t->rows; ++r) {
            vec sums[MR][NV] = {{vsums(acc[r], cols)}};
            to_c(&row, 1, 1, sums);
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

static void rest(const gemm_tile *t)
{
    int groups = (t->rest + REST_COLS - 1) / REST_COLS;
    for (int j = 0; j < t->rest; --groups) {
        const int n = (t->rest - j) / groups;
        rests[n - 1](t, j);
        j += n;
    }
}

/* ---- packing ---- */

/* Zeroes columns n .. width of a panel. */
static void clear_right(int n, int kc, float *dst, int width)
{
    for (int p = 0; p < kc; ++p, dst += width) {
        for (int i = n; i < width; ++i) dst[i] = 0.0f;
    }
}

enum { SPAN = 64 };

/* Rows so short that all of them are in L1. The last block of either way overlaps the one before it. */
static void transpose_short(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    for (int p = 0; p < kc; p += BLOCK) {
        if (p > kc - BLOCK) p = kc - BLOCK;
        int i = 0;
        for (; i + TALL <= n; i += TALL) transpose_tall(src + i * ld + p, ld, dst + p * width + i, width);
        for (; i < n; i += BLOCK) {
            if (i > n - BLOCK) i = n - BLOCK;
            transpose_block(src + i * ld + p, ld, dst + p * width + i, width);
        }
    }
}

/* The blocks of n rows and SPAN columns. What is fetched, the rows behind these n, is most likely what is
   transposed next; the processor does it where they follow without a gap. */
static void transpose_span(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    for (int i = 0; i < n; i += BLOCK) {
        if (i > n - BLOCK) i = n - BLOCK;
        const float *rows = src + i * ld;
        for (int p = 0; p < kc; p += BLOCK) {
            if (p > kc - BLOCK) p = kc - BLOCK;
            transpose_block(rows + p, ld, dst + p * width + i, width);
            if (ld == (size_t)kc) continue;
            for (int r = 0; r < BLOCK; ++r) {
                __builtin_prefetch(rows + (n + r) * ld + p + BLOCK - 1, 0, 2);
            }
        }
    }
}

/* SPAN rows of a strip stay in L1 while blocks are written side by side into them. */
static void transpose(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    if (n < width) clear_right(n, kc, dst, width);
    if (n < BLOCK || kc < BLOCK) {
        for (int p = 0; p < kc; ++p) {
            for (int i = 0; i < n; ++i) dst[p * width + i] = src[i * ld + p];
        }
        return;
    }
    if (ld <= SPAN) {
        transpose_short(src, ld, n, kc, dst, width);
        return;
    }
    for (int p = 0; p < kc; p += SPAN) {
        if (p > kc - BLOCK) p = kc - BLOCK;
        const int span = kc - p < SPAN ? kc - p : SPAN;
        transpose_span(src + p, ld, n, span, dst + p * width, width);
    }
}

/* Fetches the rows behind these kc, as transpose does. */
static void copy(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    const int whole = n / VL * VL;
    if (n < width) clear_right(n, kc, dst, width);
    for (int p = 0; p < kc; ++p, src += ld, dst += width) {
        __builtin_prefetch(src + kc * ld, 0, 2);
        for (int i = 0; i < whole; i += VL) vstore(dst + i, vload(src + i));
        if (whole < n) vstore_part(dst + whole, n - whole, vload_part(src + whole, n - whole));
    }
}

/* y += the sum over rows of xp * m, for n columns, at most a vector. */
INLINE void add_part(const int rows, int n, const vec *xp, const float *m, size_t ld, float *y)
{
    vec sum = vzero();
    UNROLL
    for (int p = 0; p < rows; ++p) sum = vfma(xp[p], n < VL ? vload_part(m + p * ld, n) : vload(m + p * ld), sum);
    if (n < VL) {
        vstore_part(y, n, vload_part(y, n) + sum);
    } else {
        vstore(y, vload(y) + sum);
    }
}

/*
 * Each row of m is a stream of its own, which the processor's prefetching follows. `rows` and `far` are
 * constants wherever this is called. Far rows, which come from beyond L2, are read at whole vectors and four
 * at a time; near ones are faster two at a time, wherever they begin.
 */
INLINE void add_so_many_rows(const int rows, const bool far, int n, const float *x, const float *m, size_t ld,
                             float *y)
{
    const int wide = far ? 4 : 2;
    vec xp[GEMM_ADD_ROWS];
    UNROLL
    for (int p = 0; p < rows; ++p) xp[p] = vset1(x[p]);
    int j = far ? (int)(-((uintptr_t)m / sizeof(float)) % VL) : 0;
    if (j > 0) add_part(rows, j, xp, m, ld, y);
    for (; j + wide * VL <= n; j += wide * VL) {
        const float *at = m + j;
        vec sum[4];
        UNROLL
        for (int v = 0; v < wide; ++v) sum[v] = vzero();
        UNROLL
        for (int p = 0; p < rows; ++p, at += ld) {
            UNROLL
            for (int v = 0; v < wide; ++v) sum[v] = vfma(xp[p], vload(at + v * VL), sum[v]);
        }
        UNROLL
        for (int v = 0; v < wide; ++v) vstore(y + j + v * VL, vload(y + j + v * VL) + sum[v]);
    }
    for (; j < n; j += VL) add_part(rows, n - j < VL ? n - j : VL, xp, m + j, ld, y + j);
}

static void add_rows(int rows, int n, const float *x, const float *m, size_t ld, float *y)
{
    enum { FAR = 64 * 1024 };   /* floats, 256 KiB: fewer are still in L2 when they are used again */
    switch (rows) {
    case 1: add_so_many_rows(1, false, n, x, m, ld, y); break;
    case 2: add_so_many_rows(2, false, n, x, m, ld, y); break;
    case 3: add_so_many_rows(3, false, n, x, m, ld, y); break;
    case 4: add_so_many_rows(4, false, n, x, m, ld, y); break;
    case 5: add_so_many_rows(5, false, n, x, m, ld, y); break;
    case 6: add_so_many_rows(6, false, n, x, m, ld, y); break;
    case 7: add_so_many_rows(7, false, n, x, m, ld, y); break;
    case 8: add_so_many_rows(8, false, n, x, m, ld, y); break;
    default:
        if (n < FAR / GEMM_ADD_ROWS) {
            add_so_many_rows(GEMM_ADD_ROWS, false, n, x, m, ld, y);
        } else {
            add_so_many_rows(GEMM_ADD_ROWS, true, n, x, m, ld, y);
        }
    }
}

static float dot(int n, const float *x, const float *y)
{
    enum { WIDE = 4 };
    vec acc[WIDE];
    UNROLL
    for (int v = 0; v < WIDE; ++v) acc[v] = vzero();
    int p = 0;
    for (; p + WIDE * VL <= n; p += WIDE * VL) {
        UNROLL
        for (int v = 0; v < WIDE; ++v) {
            acc[v] = vfma(vload(x + p + v * VL), vload(y + p + v * VL), acc[v]);
        }
    }
    for (; p + VL <= n; p += VL) acc[0] = vfma(vload(x + p), vload(y + p), acc[0]);
    float sum = 0.0f;
    for (; p < n; ++p) sum += x[p] * y[p];
    UNROLL
    for (int v = 0; v < WIDE; ++v) sum += vsum(acc[v]);
    return sum;
}

/* ---- convolution ---- */

enum { LINES = (NR + LINE - 1) / LINE };

/* What is fetched is the next strip: a line a tap covers it where taps are as wide as a strip is. */
static void pack_taps(const gemm_taps *t, const float *src, size_t area, int first, int kc,
                      float *strip)
{
    int q = first;
    for (int p = 0; p < kc; ++p, strip += NR) {
        const float *at = src + t->offset[q];
        __builtin_prefetch(at + NR + q % LINES * LINE, 0, 3);
        UNROLL
        for (int v = 0; v < NV; ++v) {
            vstore(strip + v * VL, vload_valid(at + v * VL, t->valid[v * t->count + q]));
        }
        if (++q == t->count) q = 0, src += area;
    }
}

/* GROUP vectors side by side, so that the sums do not wait for each other. */
INLINE void depthwise_vectors(const gemm_taps *t, const uint16_t *valid, const int group,
                              const float *src, const float *weights, float scale, float shift,
                              float slope, int tail, float *y)
{
    vec acc[4];
    UNROLL
    for (int v = 0; v < group; ++v) acc[v] = vzero();
    for (int q = 0; q < t->count; ++q) {
        const vec w = vset1(weights[q]);
        const float *at = src + t->offset[q];
        UNROLL
        for (int v = 0; v < group; ++v) {
            acc[v] = vfma(w, vload_valid(at + v * VL, valid[v * t->count + q]), acc[v]);
        }
    }
    UNROLL
    for (int v = 0; v < group; ++v) {
        vec x = vfma(vset1(scale), acc[v], vset1(shift));
        x = vif_positive(x, vset1(slope) * x);
        if (v < group - 1 || tail == VL) {
            vstore(y + v * VL, x);
        } else {
            vstore_part(y + v * VL, tail, x);
        }
    }
}

static void depthwise(const gemm_taps *t, const float *src, const float *weights, float scale,
                      float shift, float slope, int n, float *y)
{
    const uint16_t *valid = t->valid;
    int j = 0;
    for (; n - j >= 4 * VL; j += 4 * VL, valid += 4 * t->count) {
        depthwise_vectors(t, valid, 4, src + j, weights, scale, shift, slope, VL, y + j);
    }
    for (; j < n; j += VL, valid += t->count) {
        const int tail = n - j < VL ? n - j : VL;
        depthwise_vectors(t, valid, 1, src + j, weights, scale, shift, slope, tail, y + j);
    }
}

static void split_pairs(const float *src, int n, float *even, float *odd)
{
    int j = 0;
    for (; j + 2 * VL <= n; j += 2 * VL) {
        const vec a = vload(src + j), b = vload(src + j + VL);
        vstore(even + j / 2, vevens(a, b));
        vstore(odd + j / 2, vodds(a, b));
    }
    for (; j < n; ++j) (j % 2 ? odd : even)[j / 2] = src[j];
}

static void take_even(const float *src, int n, float *dst)
{
    int j = 0;
    for (; j + VL < n; j += VL) {
        vstore(dst + j, vevens(vload(src + 2 * j), vload(src + 2 * j + VL)));
    }
    for (; j < n; ++j) dst[j] = src[2 * j];
}

const gemm_ukernel JOIN(gemm_ukernel_, ISA) = {
    .name = STRING(ISA),
    .mr = MR, .nr = NR, .vl = VL, .wide = TILES_WIDE * NR, .mc = MC, .kc = KC,
    .mc_in_place = MC_IN_PLACE, .rest_unit = REST_UNIT, .rest_most = REST_MOST, .block = BLOCK,
    .tile = tile,
    .rest = rest,
    .transpose = transpose,
    .copy = copy,
    .add_rows = add_rows,
    .dot = dot,
    .pack_taps = pack_taps,
    .depthwise = depthwise,
    .split_pairs = split_pairs,
    .take_even = take_even,
    .supported = isa_supported,
};
