/*
 * The contract between packed.c and the micro-kernels: one struct an instruction set.
 *
 * A micro-kernel multiplies a panel of A (mr rows) by a strip of B (nr columns) over kc steps and
 * adds the mr x nr tile to C. Everything else - cache blocks, threads, transposes - is written
 * once, in packed.c. A new instruction set is one file gemm_ukernel_<isa>.c that defines a
 * few vector operations and includes gemm_ukernel_body.h, and one line in gemm_ukernels[].
 */
#ifndef GEMM_UKERNEL_H
#define GEMM_UKERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For what a tile function is made of. */
#define INLINE static inline __attribute__((always_inline))

/*
 * Pieces of later strips of B to bring nearer while tiles are computed: rows, or of a B by columns
 * block x block floats. A tile goes on where the one before it ended: it moves a piece at its first
 * step and one for every `every` steps, never later than that.
 */
typedef struct gemm_moves {
    int left, every;            /* so many pieces are left */
    size_t ld;                  /* from one row of B to the next; or from one column */
    int width;                  /* floats of a row of the strip, nr or wide */
    int cols;                   /* those to be copied; zeroes fill their last vector */
    const float *copy;          /* not NULL: this strip is copied to `to`, rows `width` apart */
    float *to;
    const float *fetch;         /* not NULL: this strip is fetched, to L2 at least */
    bool once;                  /* what is fetched is kept out of L3, where the processor has a way */
    bool by_columns;
    int kc, p;                  /* then the steps of the strips, and the next of the columns at hand */
} gemm_moves;

/*
 * One tile: C (rows x cols) = alpha * A (rows x kc) * B (kc x cols), plus C when `add`. Behind the last
 * strip's columns may be a rest, too few to fill a vector, which is multiplied along k.
 */
typedef struct gemm_tile {
    int rows, cols, kc;         /* 1..mr, 1..wide, 1.. */
    const float *a;             /* element (i, p) is a[i * a_row + p * a_step] */
    size_t a_row, a_step;
    const float *a_next;        /* the panel of the tile after this one */
    const float *b;             /* row p starts at b + p * b_row; whole vectors are read */
    size_t b_row;
    gemm_moves *moves;
    float *c;
    const float *c_next;        /* where the tile after this one is: its lines are fetched */
    size_t c_row;
    float alpha;
    bool add;
    const float *shift, *scale; /* shift not NULL: row i of C becomes f(scale[i] * C + shift[i]), */
    float slope;                /* f(x) the larger of x and slope * x; scale NULL is 1 */
    int rest;                   /* so many columns; 0 unless a_step is 1 */
    const float *rest_b;        /* column j of them starts at rest_b + j * rest_ld; zeroes fill its */
    size_t rest_ld;             /* last vector */
} gemm_tile;

/*
 * The taps of a filter over an image, as shifts. Element j of tap q is src[offset[q] + j] when bit
 * j % vl of valid[j / vl * count + q] is set, else 0, and then it is not touched.
 */
typedef struct gemm_taps {
    int count;
    const ptrdiff_t *offset;
    const uint16_t *valid;      /* count of them a vector */
} gemm_taps;

enum { GEMM_ADD_ROWS = 9 };

typedef struct gemm_ukernel {
    const char *name;           /* the value of GEMM_ISA */
    int mr, nr, vl;             /* the tile, and the floats in a vector; nr is a multiple of vl */
    int wide;                   /* columns of a strip where A has few rows: memory sends longer
                                   pieces faster. A multiple of nr; such a strip is tiles side by side */
    int mc, kc;                 /* cache blocks, see packed.c; mc is a multiple of mr */
    int mc_in_place;            /* mc for an A that is not packed */
    int rest_unit, rest_most;   /* N % rest_unit columns are a rest, if no more than rest_most */
    int block;                  /* rows and columns that are transposed at once; nr is a multiple */
    void (*tile)(const gemm_tile *);    /* but for the rest */
    void (*rest)(const gemm_tile *);
    /*
     * Pack a panel: kc rows, width apart, of n elements each and zeroes behind them. Element
     * (p, i) comes from src[p * ld + i] for copy, from src[i * ld + p] for transpose.
     */
    void (*copy)(const float *src, size_t ld, int n, int kc, float *dst, int width);
    void (*transpose)(const float *src, size_t ld, int n, int kc, float *dst, int width);
    /* y[j] += sum over p < rows of x[p] * m[p * ld + j], j < n; rows is 1 .. GEMM_ADD_ROWS. */
    void (*add_rows)(int rows, int n, const float *x, const float *m, size_t ld, float *y);
    /* alpha * sum over p < n of x[p] * y[p] */
    float (*dot)(int n, const float *x, const float *y);
    /*
     * Packs `kc` taps of a strip, nr columns: tap `first` of the image at src, then the next, and
     * after the last tap the first of the image `area` floats further.
     */
    void (*pack_taps)(const gemm_taps *, const float *src, size_t area, int first, int kc,
                      float *strip);
    /* y[j] = f(scale * (sum over q of weights[q] * tap q at j) + shift), j < n; f as in gemm_tile. */
    void (*depthwise)(const gemm_taps *, const float *src, const float *weights, float scale,
                      float shift, float slope, int n, float *y);
    /* Splits n floats: even ones to `even`, (n + 1) / 2, the others to `odd`, n / 2. */
    void (*split_pairs)(const float *src, int n, float *even, float *odd);
    /* dst[i] = src[2 * i], i < n */
    void (*take_even)(const float *src, int n, float *dst);
    bool (*supported)(void);    /* by the processor and the system it runs on */
} gemm_ukernel;

/* Fastest first, NULL at the end. Holds only what this binary was compiled for. */
extern const gemm_ukernel *const gemm_ukernels[];

/* The micro-kernel called `name`, with NULL the fastest, of those that this processor runs; or
   NULL when there is none of that name. */
const gemm_ukernel *gemm_ukernel_find(const char *name);

extern const gemm_ukernel gemm_ukernel_avx512, gemm_ukernel_avx2, gemm_ukernel_neon,
    gemm_ukernel_generic;

#endif
