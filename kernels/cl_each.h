/* SPDX-License-Identifier: MIT */
/*
 * A statement for all i and p of a tile's sums c[ROWS][PIXELS], float4 each, written out. A
 * compiler that keeps a loop over c[] rolled keeps c[] in private memory.
 */
#define FOR_P(p_, statement) if (p_ < PIXELS) { const int p = p_ % PIXELS; statement; }
#define FOR_I(i_, statement) \
    if (i_ < ROWS) { const int i = i_ % ROWS; FOR_P(0, statement) FOR_P(1, statement) }
#define EACH(statement) \
    FOR_I(0, statement) FOR_I(1, statement) FOR_I(2, statement) FOR_I(3, statement) \
    FOR_I(4, statement) FOR_I(5, statement) FOR_I(6, statement) FOR_I(7, statement)

/* Scale, shift and activation of a convolution (cl_conv.h), for the filters from `filter` on. Rows
   past `last` repeat it. */
#define FINISH_EACH(filter, filters, last) \
    EACH(c[i][p] = conv_finish4_norm(c[i][p], norm, (filter) + min(i, last), filters)) \
    EACH(c[i][p] = conv_finish4_slope(c[i][p], slope))
