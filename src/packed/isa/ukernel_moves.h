/* SPDX-License-Identifier: MIT */
/*
 * The pieces of gemm_moves. Between its steps of k, a tile copies the next strip of B and
 * prefetches a later one, a piece at a time. Included by ukernel_body.h.
 */

/* The builtin wants a constant. */
INLINE void prefetch_line(const float *line, const bool once)
{
    if (once) {
        __builtin_prefetch(line, 0, 0);
    } else {
        __builtin_prefetch(line, 0, 2);
    }
}

/*
 * Prefetches a row of `width` floats: the last float of each line's length, and of the part of a
 * line behind them. Darknet's large buffers start 16 bytes behind a line, so a row touches one line
 * more than it fills. That is the first one, which the strip before has fetched as its last.
 */
INLINE void prefetch_row(const float *row, const int width, const bool once)
{
    UNROLL
    for (int j = LINE_FLOATS - 1; j < width; j += LINE_FLOATS) prefetch_line(row + j, once);
    if (width % LINE_FLOATS) prefetch_line(row + width - 1, once);
}

INLINE void fetch_row(gemm_moves *m, const int width)
{
    if (m->once) {
        prefetch_row(m->fetch, width, true);
    } else {
        prefetch_row(m->fetch, width, false);
    }
    m->fetch += width;
    if (--m->ahead) return;
    m->ahead = m->run;
    m->fetch += m->ld - (size_t)m->run * (size_t)width;
}

/* B by rows. */
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
    if (m->fetch) fetch_row(m, width);
}

/*
 * B by columns: m->p .. m->p + BLOCK of a block of BLOCK columns. Where kc is no multiple of BLOCK,
 * the last block starts earlier and overlaps the one before it.
 */
INLINE void copy_block(const gemm_moves *m)
{
    const int p = lesser(m->p, m->kc - BLOCK);
    transpose_block(m->copy + p, m->ld, m->to + p * NR, NR);
}

/*
 * Columns without a gap are one stretch of memory, fetched to L1: a strip of short columns stays
 * there until it is read. Columns apart are fetched to L2, a line of each.
 */
INLINE void fetch_block(gemm_moves *m)
{
    if (m->ld == (size_t)m->kc) {
        UNROLL
        for (int j = 0; j < BLOCK * BLOCK; j += LINE_FLOATS) __builtin_prefetch(m->fetch + j, 0, 3);
        m->fetch += BLOCK * BLOCK;
    } else if (m->p % LINE_FLOATS == 0) {
        const float *line = m->fetch + m->p + LINE_FLOATS - 1;
        UNROLL
        for (int i = 0; i < BLOCK; ++i, line += m->ld) __builtin_prefetch(line, 0, 2);
    }
}

INLINE void move_block(gemm_moves *m)
{
    if (m->copy) copy_block(m);
    if (m->fetch) fetch_block(m);
    m->p += BLOCK;
    if (m->p < m->kc) return;
    m->p = 0;                   /* on to the next BLOCK columns */
    if (m->copy) m->copy += BLOCK * m->ld, m->to += BLOCK;
    if (m->fetch && m->ld != (size_t)m->kc) m->fetch += BLOCK * m->ld;
}

/* by_columns: how B lies in memory. A constant in the tile functions. */
INLINE void move_piece(gemm_moves *m, const bool by_columns)
{
    if (by_columns) {
        move_block(m);
    } else if (m->width > NR) {
        move_row(m, TILES_WIDE * NR);
    } else {
        move_row(m, NR);
    }
    --m->left;
}

/* The pieces that are due in so many steps, at once. The moves stay in registers meanwhile. */
INLINE void move_pieces_of(gemm_moves *m, int steps, const bool by_columns)
{
    gemm_moves now = *m;
    for (; steps > 0 && now.left; steps -= now.every) move_piece(&now, by_columns);
    *m = now;
}

static NOINLINE void move_pieces(gemm_moves *m, int steps)
{
    if (m->by_columns) {
        move_pieces_of(m, steps, true);
    } else {
        move_pieces_of(m, steps, false);
    }
}
