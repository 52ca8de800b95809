/*
 * Convolutions: strips of B packed from an image, and depthwise layers. Taps as in gemm_taps.
 * Included by ukernel_body.h.
 */

/* Prefetches the next strip, one line for each tap. Neighbouring taps fetch neighbouring lines,
   which together cover its NR columns. */
static void pack_taps(const gemm_taps *t, const float *src, size_t area, int first, int kc,
                      float *strip)
{
    enum { LINES = (NR + LINE - 1) / LINE };
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

/* `group` vectors of places side by side, so that their sums do not wait for each other. The last
   one has `tail` places. */
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
        const vec x = vfma(vset1(scale), acc[v], vset1(shift));
        store_c(y + v * VL, v == group - 1 && tail < VL, tail, vif_positive(x, vset1(slope) * x));
    }
}

static void depthwise(const gemm_taps *t, const float *src, const float *weights, float scale,
                      float shift, float slope, int n, float *y)
{
    enum { GROUP = 4 };
    const uint16_t *valid = t->valid;
    int j = 0;
    for (; n - j >= GROUP * VL; j += GROUP * VL, valid += GROUP * t->count) {
        depthwise_vectors(t, valid, GROUP, src + j, weights, scale, shift, slope, VL, y + j);
    }
    for (; j < n; j += VL, valid += t->count) {
        const int tail = lesser(n - j, VL);
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

/* Vectors read 2 * VL floats for VL pairs. The last pair has no second float, so it is not read
   so. */
static void take_even(const float *src, int n, float *dst)
{
    int j = 0;
    for (; j + VL < n; j += VL) {
        vstore(dst + j, vevens(vload(src + 2 * j), vload(src + 2 * j + VL)));
    }
    for (; j < n; ++j) dst[j] = src[2 * j];
}
