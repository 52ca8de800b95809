/* SPDX-License-Identifier: MIT */
/*
 * The tile in registers. With MR = 8 and NV = 3:
 *
 *                     B: one row of the strip, NV vectors
 *                     [ b0 ][ b1 ][ b2 ]
 *     A: one column   ------------------
 *     a[0] broadcast  [acc ][acc ][acc ]
 *     ...                    ...            MR * NV accumulators + NV of B + 1 of A
 *     a[7] broadcast  [acc ][acc ][acc ]
 *
 * A step of k loads NV vectors of B and MR scalars of A for MR * NV FMAs. So the FMA units are the
 * limit, not the load ports. The accumulators are independent, which hides the FMA's latency.
 *
 * Included by ukernel_body.h.
 */

/* n floats of a vector and zeroes behind, for any n. */
INLINE vec load_some(const float *p, int n)
{
    return n >= VL ? vload(p) : n > 0 ? vload_part(p, n) : vzero();
}

/* The first n floats of a vector, n > 0. */
INLINE void store_some(float *p, int n, vec v)
{
    if (n >= VL) {
        vstore(p, v);
    } else {
        vstore_part(p, n, v);
    }
}

/* ---- from the registers to C ---- */

/* C = alpha * acc, plus the old C when `add`. The last vector is full. */
INLINE void store_sums(const gemm_tile *t, const int rows, const int nv, const bool add,
                       vec acc[MR][NV])
{
    const vec alpha = vset1(t->alpha);
    const size_t ld = t->c_row;
    float *c = t->c;
    UNROLL
    for (int i = 0; i < rows; ++i, c += ld) {
        UNROLL
        for (int v = 0; v < nv; ++v) {
            const vec old = add ? vload(c + v * VL) : vzero();
            vstore(c + v * VL, vfma(alpha, acc[i][v], old));
        }
    }
}

/* f(x) is x > 0 ? x : slope * x. */
typedef enum activation {
    BY_SIGN,                    /* any slope */
    LEAKY,                      /* 0 < slope <= 1: the larger of x and slope * x, also for infinity
                                   and NaN. This takes fewer instructions. */
    LINEAR,                     /* slope is 1 */
} activation;

INLINE vec activate(const activation f, vec x, vec slope)
{
    if (f == LINEAR) return x;
    return f == LEAKY ? vmax(x, slope * x) : vif_positive(x, slope * x);
}

/* f(scale * acc + shift) of low halves. */
INLINE vec finish_low(const activation f, vec scale, vec acc, vec shift, vec slope)
{
    vec x = shift, m;
    fma_low_to(x, scale, acc);
    if (f != LEAKY) return activate(f, x, slope);
    multiply_low(m, slope, x);
    max_low(x, x, m);
    return x;
}

/* function(f, ...) with a constant f. leaky: the slope is above 0. */
#define BY_SLOPE(leaky, function, ...)                                                             \
    ((leaky) ? function(LEAKY, __VA_ARGS__) : function(BY_SIGN, __VA_ARGS__))

/* The same as store_sums for the last block of K of a job with an epilogue: scale, shift and
   activation. */
INLINE void store_activated(const activation f, const gemm_tile *t, const int rows, const int nv,
                            const bool add, vec acc[MR][NV])
{
    const vec slope = vset1(t->slope);
    static const float one = 1;
    const float *shifts = t->shift, *scales = t->scale ? t->scale : &one;
    const size_t next_scale = t->scale ? 1 : 0;
    const float alpha = t->alpha;
    const size_t ld = t->c_row;
    float *c = t->c;
    UNROLL
    for (int i = 0; i < rows; ++i, c += ld, scales += next_scale) {
        const vec scale = vset1(*scales * alpha), shift = vset1(shifts[i]), old = vset1(*scales);
        UNROLL
        for (int v = 0; v < nv; ++v) {
            vec x = vfma(scale, acc[i][v], shift);
            if (add) x = vfma(old, vload(c + v * VL), x);
            vstore(c + v * VL, activate(f, x, slope));
        }
    }
}

/* Of one block of K. */
INLINE void store_finished(const gemm_tile *t, const int rows, const int nv, vec acc[MR][NV])
{
    BY_SLOPE(t->slope > 0, store_activated, t, rows, nv, false, acc);
}

/* All branches come before the stores, so that none stands between them and delays the next
   tile. */
INLINE void store_whole(const gemm_tile *t, const int rows, const int nv, vec acc[MR][NV])
{
    if (t->shift && t->add) {
        store_activated(BY_SIGN, t, rows, nv, true, acc);
    } else if (t->shift) {
        store_finished(t, rows, nv, acc);
    } else if (t->add) {
        store_sums(t, rows, nv, true, acc);
    } else {
        store_sums(t, rows, nv, false, acc);
    }
}

/* The same of any rows and columns, from sums in memory. */
static NOINLINE void store_any(const gemm_tile *t, float sums[][NR])
{
    const vec alpha = vset1(t->alpha), slope = vset1(t->slope);
    float *c = t->c;
    for (int i = 0; i < t->rows; ++i, c += t->c_row) {
        const float scale = t->scale ? t->scale[i] : 1;
        for (int j = 0; j < t->cols; j += VL) {
            const int left = t->cols - j;
            const vec sum = vload(sums[i] + j), old = t->add ? load_some(c + j, left) : vzero();
            vec x = vfma(alpha, sum, old);
            if (t->shift) {
                x = vfma(vset1(scale * t->alpha), sum, vset1(t->shift[i]));
                if (t->add) x = vfma(vset1(scale), old, x);
                x = activate(BY_SIGN, x, slope);
            }
            store_some(c + j, left, x);
        }
    }
}

/* Tiles that are not whole are rare. They share one function, because stores of their own in each
   tile function would be most of its code. */
INLINE void store_by_memory(const gemm_tile *t, const int rows, const int nv, vec acc[MR][NV])
{
    float sums[MR][NR];
    UNROLL
    for (int i = 0; i < rows; ++i) {
        UNROLL
        for (int v = 0; v < nv; ++v) vstore(sums[i] + v * VL, acc[i][v]);
    }
    store_any(t, sums);
}

INLINE void store_tile(const gemm_tile *t, const int rows, const int nv, vec acc[MR][NV])
{
    if (rows == MR && t->cols == nv * VL) {
        store_whole(t, rows, nv, acc);
    } else {
        store_by_memory(t, rows, nv, acc);
    }
}

#if TURN
/* The same for a whole tile with a shortcut. */
INLINE void store_with_shortcut(const gemm_tile *t, const int nv, vec acc[MR][NV])
{
    const vec slope = vset1(t->shortcut_slope);
    static const float one = 1;
    const float *scales = t->scale ? t->scale : &one, *z = t->shortcut;
    const size_t next_scale = t->scale ? 1 : 0, ld = t->c_row;
    float *c = t->c;
    UNROLL
    for (int i = 0; i < MR; ++i, c += ld, z += ld, scales += next_scale) {
        const vec scale = vset1(*scales * t->alpha), shift = vset1(t->shift[i]);
        UNROLL
        for (int v = 0; v < nv; ++v) {
            const vec x = vfma(scale, acc[i][v], shift) + vload(z + v * VL);
            vstore(c + v * VL, activate(BY_SIGN, x, slope));
        }
    }
}
#endif

/* The same of a tile of another kind, whose sums lie in memory, row by row. */
INLINE void store_rows(const gemm_tile *t, const int nv, float sums[][NR])
{
    if (t->cols != nv * VL) {
        store_any(t, sums);
        return;
    }
    gemm_tile row = *t;
    for (int i = 0; i < t->rows; ++i, row.c += t->c_row) {
        vec acc[MR][NV];
        UNROLL
        for (int v = 0; v < nv; ++v) acc[0][v] = vload(sums[i] + v * VL);
        store_whole(&row, 1, nv, acc);
        if (row.shift) ++row.shift;
        if (row.scale) ++row.scale;
    }
}

/* ---- the steps of k ---- */

INLINE void clear(const int rows, const int nv, vec acc[MR][NV])
{
    UNROLL
    for (int i = 0; i < rows; ++i) {
        UNROLL
        for (int v = 0; v < nv; ++v) acc[i][v] = vzero();
    }
}

/*
 * One step: acc += (column of A) * (row of B). a points to row 0 of the column, a4 to row 4: with
 * multiples of up to 3 rows, which address modes have, two pointers reach eight rows.
 */
INLINE void step(const int rows, const int nv, const float *a, const float *a4, size_t a_row,
                 const float *b, vec acc[MR][NV])
{
#ifdef step_whole
    if (rows == MR && nv == NV) {
        step_whole(a, a_row, b, acc);
        return;
    }
#endif
#ifdef outer_product
    const float *column[MR], *row[NV];
    UNROLL
    for (int i = 0; i < rows; ++i) column[i] = (i < 4 ? a : a4) + (i & 3) * a_row;
    UNROLL
    for (int v = 0; v < nv; ++v) row[v] = b + v * VL;
    outer_product(rows, nv, column, row, acc[0], NV);
#else
    vec row[NV];
    UNROLL
    for (int v = 0; v < nv; ++v) row[v] = vload(b + v * VL);
    UNROLL
    for (int i = 0; i < rows; ++i) {
        const vec ai = vset1((i < 4 ? a : a4)[(i & 3) * a_row]);
        UNROLL
        for (int v = 0; v < nv; ++v) vfma_to(acc[i][v], ai, row[v]);
    }
#endif
}

/* Row i of the next tile's C, and the start of that row in the next panel of A: from there on the
   processor's own prefetching follows. */
INLINE void prefetch_next(const gemm_tile *t, int i, const int nv)
{
    const float *c = t->c_next + i * t->c_row;
    __builtin_prefetch(t->a_next + i * t->a_row, 0, 3);
    UNROLL
    for (int j = 0; j < nv * VL; j += LINE_FLOATS) __builtin_prefetch(c + j, 1, 3);
    __builtin_prefetch(c + t->cols - 1, 1, 3);
}

#if TURN
/* Row i of the shortcut of the next tile. */
INLINE void prefetch_shortcut(const gemm_tile *t, int i, const int nv)
{
    const float *z = t->shortcut_next + i * t->c_row;
    UNROLL
    for (int j = 0; j < nv * VL; j += LINE_FLOATS) __builtin_prefetch(z + j, 0, 3);
    __builtin_prefetch(z + nv * VL - 1, 0, 3);
}
#endif

/*
 * What a tile does beside its steps, and at which step of k: moves of B, and prefetches of the next
 * tile, one row at a time. All rows in one burst would hold up the lines of B.
 *
 * The steps run in chunks of fixed length, and the work is done between chunks. So the processor
 * predicts the branch at the end of each chunk well.
 */
typedef struct side_work {
    int chunk;
    int move_at;                /* the step of the next move; kc when none is left */
    int next_at, next_every;    /* the same for a row of the next tile */
    int next_row;
} side_work;

INLINE side_work plan_side_work(const gemm_tile *t, const int rows)
{
    const gemm_moves *m = t->moves;
    side_work w = {.next_every = t->kc / rows + 1};
    w.move_at = m->left ? 0 : t->kc;
    w.chunk = m->left ? lesser(m->every, w.next_every) : w.next_every;
    return w;
}

/* The same for a tile of few steps: all that is due in this tile at once, before its first step. */
INLINE void do_all_side_work(const gemm_tile *t, const int rows, const int nv)
{
    gemm_moves *m = t->moves;
    UNROLL
    for (int i = 0; i < rows; ++i) prefetch_next(t, i, nv);
    if (m->left) move_pieces(m, t->kc);
}

/* What is due before step `end`. */
INLINE void do_side_work(side_work *w, const gemm_tile *t, int end, const int rows, const int nv)
{
    gemm_moves *m = t->moves;
    if (w->move_at < end) {
        gemm_moves now = *m;
        move_piece(&now);
        *m = now;
        w->move_at = now.left ? w->move_at + now.every : t->kc;
    }
    if (w->next_at < end) {
        prefetch_next(t, w->next_row++, nv);
        w->next_at = w->next_row < rows ? w->next_at + w->next_every : t->kc;
    }
}

/*
 * A tile of rows x nv vectors. Both are constants in each of the functions below, so the compiler
 * leaves straight loops. With few steps there is no time to spread the side work, and chunks of
 * steps cost more than they gain.
 */
INLINE void tile_body(const gemm_tile *t, const int rows, const int nv)
{
    const float *a = t->a, *a4 = t->a + 4 * t->a_row, *b = t->b;
    const size_t a_row = t->a_row, a_step = t->a_step, b_row = t->b_row;
    const int kc = t->kc;
    vec acc[MR][NV];
    if (kc < SHORT_K) {
        do_all_side_work(t, rows, nv);
        clear(rows, nv, acc);
        for (int p = 0; p < kc; ++p) {
            step(rows, nv, a, a4, a_row, b, acc);
            a += a_step, a4 += a_step, b += b_row;
        }
    } else {
        side_work work = plan_side_work(t, rows);
        clear(rows, nv, acc);
        for (int p = 0; p < kc;) {
            const int end = lesser(p + work.chunk, kc);
            do_side_work(&work, t, end, rows, nv);
            for (; p < end; ++p) {
                step(rows, nv, a, a4, a_row, b, acc);
                a += a_step, a4 += a_step, b += b_row;
            }
        }
    }
    store_tile(t, rows, nv, acc);
}

/* ---- panels ---- */

#if TURN

/* How the micro-kernel finds element (i, p) of a panel. A constant wherever a function takes it. */
typedef enum a_layout {
    A_PACKED,                   /* a[i + p * MR] */
    A_BY_ROWS,                  /* a[i * a_row + p] */
    A_APART,                    /* a[i * a_row + p * a_step] */
} a_layout;

/*
 * A panel's steps run in turns of TURN steps. In the first MR turns the next tile is fetched, a row
 * a turn. In the others `each` pieces of B are moved: `burst` of them at once, then `gap` turns
 * follow. Where pieces are only fetched, they should fill all turns, because memory is slow. So of
 * some bursts the one that fills most is taken. Copies are smoother one by one.
 */
typedef struct panel_work {
    int turns;                  /* behind the first MR */
    int each, burst, gap;
} panel_work;

INLINE panel_work plan_panels(int kc, const gemm_moves *m, int panels)
{
    panel_work w = {.turns = kc / TURN - MR, .each = (m->left + panels - 1) / panels};
    const int least = (w.each + w.turns - 1) / w.turns, choices = m->copy ? 1 : 4;
    int most = 0;
    for (int burst = least; w.each && burst < least + choices; ++burst) {
        const int bursts = (w.each + burst - 1) / burst, gap = w.turns / bursts;
        if (gap * bursts > most) most = gap * bursts, w.burst = burst, w.gap = gap;
    }
    return w;
}

/* Where the next step of a panel reads. */
typedef struct panel_place {
    const float *a, *b;
    size_t a_row, a_step, b_row;
} panel_place;

INLINE void panel_step(panel_place *at, const int nv, vec acc[MR][NV])
{
    step(MR, nv, at->a, at->a + 4 * at->a_row, at->a_row, at->b, acc);
    at->a += at->a_step;
    at->b += at->b_row;
}

INLINE void panel_turns(panel_place *at, int turns, const int nv, vec acc[MR][NV])
{
    ROLLED
    for (; turns > 0; --turns) {
        UNROLL
        for (int p = 0; p < TURN; ++p) panel_step(at, nv, acc);
    }
}

/* Moves `pieces` rows of B. Returns how many turns that took. The moves stay in registers
   meanwhile. */
INLINE int move_rows(const panel_work *w, gemm_moves *m, int pieces, panel_place *at, const int nv,
                     vec acc[MR][NV])
{
    gemm_moves now = *m;
    int turns = 0;
    now.left -= pieces;
    ROLLED
    for (; pieces > 0; pieces -= w->burst, turns += w->gap) {
        for (int i = lesser(w->burst, pieces); i > 0; --i) move_row(&now, NR);
        panel_turns(at, w->gap, nv, acc);
    }
    *m = now;
    return turns;
}

/* All steps of a panel and the work beside them. */
INLINE void panel_steps(const gemm_tile *t, const panel_work *w, gemm_moves *m,
                        const a_layout layout, const int nv, const bool shortcut,
                        vec acc[MR][NV])
{
    panel_place at = {
        .a = t->a, .b = t->b,
        .a_row = layout == A_PACKED ? 1 : t->a_row,
        .a_step = layout == A_PACKED ? MR : layout == A_BY_ROWS ? 1 : t->a_step,
        .b_row = t->b_row,
    };
    ROLLED
    for (int row = 0; row < MR; ++row) {
        prefetch_next(t, row, nv);
        if (shortcut) prefetch_shortcut(t, row, nv);
        panel_turns(&at, 1, nv, acc);
    }
    const int moved = move_rows(w, m, lesser(w->each, m->left), &at, nv, acc);
    panel_turns(&at, w->turns - moved, nv, acc);
    ROLLED
    for (int p = t->kc % TURN; p; --p) panel_step(&at, nv, acc);
}

/* See gemm_multiply_kernels. */
INLINE void panels_body(const gemm_tile *first, int count, int way, ptrdiff_t a_panel,
                        const a_layout layout, const int nv, const bool shortcut)
{
    gemm_tile t = *first;
    gemm_moves m = *first->moves;
    const panel_work work = plan_panels(t.kc, &m, count);
    const ptrdiff_t c_panel = way * MR * (ptrdiff_t)t.c_row;
    for (; count; --count) {
        vec acc[MR][NV];
        clear(MR, nv, acc);
        t.a_next = count > 1 ? t.a + a_panel : first->a_next;
        t.c_next = count > 1 ? t.c + c_panel : first->c_next;
        if (shortcut) t.shortcut_next = count > 1 ? t.shortcut + c_panel : first->shortcut_next;
        panel_steps(&t, &work, &m, layout, nv, shortcut, acc);
        if (shortcut) {
            store_with_shortcut(&t, nv, acc);
            t.shortcut += c_panel;
        } else {
            store_whole(&t, MR, nv, acc);
        }
        t.a += a_panel;
        t.c += c_panel;
        if (t.shift) t.shift += way * MR;
        if (t.scale) t.scale += way * MR;
    }
    *first->moves = m;
}

#define PANELS_NAME(name, v) JOIN(gemm_packed_panels_##name##_##v##__, ISA)
#define PANELS(name, layout, v, shortcut)                                                          \
    static NOINLINE TILE_TUNING void PANELS_NAME(name, v)(const gemm_tile *t, int count, int way,  \
                                                          ptrdiff_t a_panel)                       \
    {                                                                                              \
        panels_body(t, count, way, a_panel, layout, v, shortcut);                                  \
    }
#define PANELS_OF(unused, v)                                                                       \
    PANELS(packed, A_PACKED, v, false)                                                             \
    PANELS(by_rows, A_BY_ROWS, v, false) PANELS(apart, A_APART, v, false)
EACH_VECS(PANELS_OF, 0)

typedef void panels_fn(const gemm_tile *, int count, int way, ptrdiff_t a_panel);
#define PANELS_ENTRY(name, v) PANELS_NAME(name, v),
static panels_fn *const panels_of[][NV] = {
    [A_PACKED] = {EACH_VECS(PANELS_ENTRY, packed)},
    [A_BY_ROWS] = {EACH_VECS(PANELS_ENTRY, by_rows)},
    [A_APART] = {EACH_VECS(PANELS_ENTRY, apart)},
};

/* One layout for all, because these functions are large. */
#ifndef PAIRS
#define PANELS_WITH_SHORTCUT(unused, v) PANELS(shortcut, A_APART, v, true)
EACH_VECS(PANELS_WITH_SHORTCUT, 0)
static panels_fn *const panels_with_shortcut[NV] = {EACH_VECS(PANELS_ENTRY, shortcut)};
#endif

static void all_panels(const gemm_tile *t, int count, int way, ptrdiff_t a_panel)
{
    const a_layout layout = t->a_row == 1 && t->a_step == MR ? A_PACKED
                          : t->a_step == 1 ? A_BY_ROWS : A_APART;
    panels_fn *const *panels = panels_of[layout];
#ifndef PAIRS
    if (t->shortcut) panels = panels_with_shortcut;
#endif
    panels[t->cols / VL - 1](t, count, way, a_panel);
}

#endif

/* ---- all rows of a strip ---- */

/* All steps of k. They fetch the rows of the next strip, unless `next` is NULL. */
INLINE void plain_steps(const gemm_sweep *s, const float *a, const int rows, const int nv,
                        const float *next, vec acc[MR][NV])
{
    const float *a4 = a + 4 * s->a_row, *b = s->b;
    const size_t a_row = s->a_row, b_row = s->b_row;
    const int kc = s->kc;
    if (next) {
        for (int p = 0; p < kc; ++p, ++a, ++a4, b += b_row, next += b_row) {
            UNROLL
            for (int j = 0; j < nv * VL; j += LINE_FLOATS) __builtin_prefetch(next + j, 0, 3);
            step(rows, nv, a, a4, a_row, b, acc);
        }
    } else {
        for (int p = 0; p < kc; ++p, ++a, ++a4, b += b_row) step(rows, nv, a, a4, a_row, b, acc);
    }
}

/* The lines of a tile of C. */
INLINE void fetch_tile(const float *c, size_t c_row, const int rows, const int nv)
{
    UNROLL
    for (int i = 0; i < rows; ++i, c += c_row) {
        UNROLL
        for (int j = 0; j < nv * VL; j += LINE_FLOATS) __builtin_prefetch(c + j, 1, 3);
        __builtin_prefetch(c + nv * VL - 1, 1, 3);
    }
}

/* The tiles of some panels of `rows` rows, from row i on. The last tile of the strip fetches the
   next strip. */
INLINE void sweep_panels(const gemm_sweep *s, int i, int panels, const int rows, const int nv)
{
    gemm_tile t = {.rows = rows, .cols = s->cols, .c = s->c + i * s->c_row, .c_row = s->c_row,
                   .alpha = 1, .shift = s->shift + i, .scale = s->scale ? s->scale + i : NULL,
                   .slope = s->slope};
    const float *a = s->a + i * s->a_row;
    for (; panels; --panels) {
        vec acc[MR][NV];
        clear(rows, nv, acc);
        i += rows;
        const bool last = i == s->rows;
        fetch_tile(last ? s->c_next : t.c + rows * t.c_row, t.c_row, rows, nv);
        plain_steps(s, a, rows, nv, last ? s->b_next : NULL, acc);
        if (t.cols == nv * VL) {
            store_finished(&t, rows, nv, acc);
        } else {
            store_by_memory(&t, rows, nv, acc);
        }
        a += rows * s->a_row;
        t.c += rows * t.c_row;
        t.shift += rows;
        if (t.scale) t.scale += rows;
    }
}

/* ---- one function for each size of the tile ---- */

#ifndef OWN_TILE

/* Each has its own register allocation and its own line in a profile: gemm_packed_8x3__avx512. */
#define TILE_NAME(r, v) JOIN(gemm_packed_##r##x##v##__, ISA)
#define SWEEP_NAME(r, v) JOIN(gemm_packed_sweep_##r##x##v##__, ISA)
#define TILE(r, v)                                                                                 \
    static NOINLINE TILE_TUNING void TILE_NAME(r, v)(const gemm_tile *t)                           \
    {                                                                                              \
        tile_body(t, r, v);                                                                        \
    }                                                                                              \
    static NOINLINE TILE_TUNING void SWEEP_NAME(r, v)(const gemm_sweep *s, int i, int panels)      \
    {                                                                                              \
        sweep_panels(s, i, panels, r, v);                                                          \
    }
#define TILES_OF_ROW(r) EACH_VECS(TILE, r)
EACH_ROWS(TILES_OF_ROW)

typedef void tile_fn(const gemm_tile *);
#define TILE_ENTRY(r, v) TILE_NAME(r, v),
#define TILE_ROW(r) {EACH_VECS(TILE_ENTRY, r)},
static tile_fn *const tiles[MR][NV] = {EACH_ROWS(TILE_ROW)};

typedef void sweep_fn(const gemm_sweep *, int i, int panels);
#define SWEEP_ENTRY(r, v) SWEEP_NAME(r, v),
#define SWEEP_ROW(r) {EACH_VECS(SWEEP_ENTRY, r)},
static sweep_fn *const sweeps[MR][NV] = {EACH_ROWS(SWEEP_ROW)};

/* A tile of a wide strip: tiles of NR columns side by side. */
static void wide_tile(const gemm_tile *t)
{
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

static void tile(const gemm_tile *t)
{
    if (t->cols <= NR) {
        tiles[t->rows - 1][(t->cols - 1) / VL](t);
    } else {
        wide_tile(t);
    }
}

/* Whole panels, then the last rows. Where those fill less than half of a panel, they share the rows
   of the panel before evenly. */
static void sweep(const gemm_sweep *s)
{
    sweep_fn *const *const by_rows = &sweeps[0][(s->cols - 1) / VL];
    const int tail = s->rows % MR;
    const int panels = s->rows / MR - (tail && tail < MR / 2 && s->rows > MR);
    const int i = panels * MR, left = s->rows - i, first = left > MR ? (left + 1) / 2 : left;
    if (panels) by_rows[(MR - 1) * NV](s, 0, panels);
    if (first) by_rows[(first - 1) * NV](s, i, 1);
    if (left > first) by_rows[(left - first - 1) * NV](s, i + first, 1);
}

#endif
