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

INLINE void move_piece(gemm_moves *m)
{
    if (m->width > NR) {
        move_row(m, TILES_WIDE * NR);
    } else {
        move_row(m, NR);
    }
    --m->left;
}

/* The pieces that are due in so many steps, at once. The moves stay in registers meanwhile. */
static NOINLINE void move_pieces(gemm_moves *m, int steps)
{
    gemm_moves now = *m;
    for (; steps > 0 && now.left; steps -= now.every) move_piece(&now);
    *m = now;
}
