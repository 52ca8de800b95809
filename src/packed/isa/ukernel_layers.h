/* SPDX-License-Identifier: MIT */
/*
 * Layers without weights: maxima, repeated pixels, sums, shortcuts and activations. Included by
 * ukernel_body.h.
 */

/* ---- maxima ---- */

/* -FLT_MAX comes first, because it replaces NaN and -infinity. */
static void max_rows(int n, const float *a, const float *b, float *max)
{
    const vec least = vset1(-FLT_MAX);
    int j = 0;
    for (; j + VL <= n; j += VL) vstore(max + j, vmax(vload(b + j), vmax(vload(a + j), least)));
    if (j == n) return;
    if (n > VL && max != a) {   /* some floats twice: faster than to store a part of a vector */
        j = n - VL;
        vstore(max + j, vmax(vload(b + j), vmax(vload(a + j), least)));
        return;
    }
    const vec x = vload_part(a + j, n - j), y = vload_part(b + j, n - j);
    vstore_part(max + j, n - j, vmax(y, vmax(x, least)));
}

static void fill(int n, float x, float *y)
{
    int j = 0;
    for (; j + VL <= n; j += VL) vstore(y + j, vset1(x));
    for (; j < n; ++j) y[j] = x;
}

/* The maxima of 2x2 blocks, of which `floats` lie in each row. */
INLINE vec max_blocks(const float *top, const float *bottom, int floats)
{
    const vec a = load_some(top, floats), b = load_some(top + VL, floats - VL);
    const vec c = load_some(bottom, floats), d = load_some(bottom + VL, floats - VL);
    vec m = vmax(vevens(a, b), vset1(-FLT_MAX));
    m = vmax(vodds(a, b), m);
    m = vmax(vevens(c, d), m);
    return vmax(vodds(c, d), m);
}

static void max_pairs(int n, const float *top, const float *bottom, float *max)
{
    int j = 0;
    for (; j + VL <= n; j += VL) {
        vstore(max + j, max_blocks(top + 2 * j, bottom + 2 * j, 2 * VL));
    }
    if (j == n) return;
    if (n > VL) {
        j = n - VL;
        vstore(max + j, max_blocks(top + 2 * j, bottom + 2 * j, 2 * VL));
        return;
    }
    vstore_part(max, n, max_blocks(top, bottom, 2 * n));
}

/* ---- pixels, sums, shortcuts ---- */

static void repeat(int n, const float *x, float alpha, int times, float *y)
{
    for (int i = 0; i < n; ++i, y += times) {
        for (int k = 0; k < times; ++k) y[k] = alpha * x[i];
    }
}

/* Four sums, so that an addition does not wait for the one before it. */
static float sum(int n, const float *x)
{
    enum { WIDE = 4 };
    vec acc[WIDE];
    UNROLL
    for (int v = 0; v < WIDE; ++v) acc[v] = vzero();
    int p = 0;
    for (; p + WIDE * VL <= n; p += WIDE * VL) {
        UNROLL
        for (int v = 0; v < WIDE; ++v) acc[v] = acc[v] + vload(x + p + v * VL);
    }
    for (; p < n; p += VL) acc[0] = acc[0] + load_some(x + p, n - p);
    return vsum((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

static float sum_by_parts(int n, const float *x)
{
    vec parts[PART_VECS];
    UNROLL
    for (int v = 0; v < PART_VECS; ++v) parts[v] = vzero();
    for (int p = 0; p < n; p += GEMM_PARTS) {
        UNROLL
        for (int v = 0; v < PART_VECS; ++v)
            parts[v] = parts[v] + load_some(x + p + v * VL, n - p - v * VL);
    }
    return total_of_parts(parts);
}

/* Two products, each rounded, and a sum, as Darknet's loop. An FMA would round only once. So each
   product is a statement of its own, because a compiler may fuse operations within one. */
INLINE vec add_scaled_vector(vec alpha, vec x, vec beta, vec z, vec slope)
{
    const vec a = alpha * x;
    const vec b = beta * z;
    const vec y = a + b;
    return vif_positive(y, slope * y);
}

static void add_scaled(int n, float alpha, const float *x, float beta, const float *z, float slope,
                       float *y)
{
    const vec a = vset1(alpha), b = vset1(beta), s = vset1(slope);
    int j = 0;
    for (; j + VL <= n; j += VL) {
        vstore(y + j, add_scaled_vector(a, vload(x + j), b, vload(z + j), s));
    }
    if (j == n) return;
    const vec part = vload_part(x + j, n - j), other = vload_part(z + j, n - j);
    vstore_part(y + j, n - j, add_scaled_vector(a, part, b, other, s));
}

/* ---- activations ---- */

/* The bits of a vector of floats; a cast does not change them. */
typedef uint32_t vec_bits __attribute__((vector_size(VL * sizeof(float))));
typedef int32_t vec_ints __attribute__((vector_size(VL * sizeof(float))));

/* 2^n for whole numbers n from -126 to 127. */
INLINE vec power_of_2(vec_bits n)
{
    return (vec)((n + 127) << 23);
}

/*
 * exp(x) for -104 <= x <= 20. NaN stays NaN.
 *
 * The method is that of Cody and Waite (Software Manual for the Elementary Functions, 1980):
 * x = n ln 2 + r with a whole number n and |r| <= ln 2 / 2, so exp(x) = 2^n exp(r).
 *
 *   n        x / ln 2 + 1.5 * 2^23 is rounded to a whole number, because floats of this size have
 *            no bits for a fraction. Its last bits are n.
 *   r        (x - n HIGH) - n LOW. HIGH has 15 bits and n has 8, so n HIGH is exact, and x - n HIGH
 *            is exact too. HIGH + LOW is ln 2 to 2^-44. The last difference is rounded once.
 *   exp(r)   Taylor's polynomial of degree 7. The terms left out are below 0.35^8 / 8! * exp(0.35).
 *   2^n      as two factors, because 2^n is no normal float for n < -126. The first product is
 *            exact. The second one rounds only where the result is a denormal.
 *
 * The relative error, in units of FLT_EPSILON / 2: 0.3 of r, 0.2 of the polynomial, and 2 of its
 * roundings: together 2.5. A denormal is off by half of FLT_TRUE_MIN more.
 */
INLINE vec exp_in_range(vec x)
{
    static const float LOG2E = 0x1.715476p+0f, HIGH = 0x1.62e4p-1f, LOW = 0x1.7f7d1cp-20f;
    static const float WHOLE = 0x1.8p+23f;
    const vec shifted = vfma(x, vset1(LOG2E), vset1(WHOLE));
    const vec n = shifted - vset1(WHOLE);
    const vec r = vfma(n, vset1(-LOW), vfma(n, vset1(-HIGH), x));
    vec p = vset1(1.0f / 5040);
    p = vfma(p, r, vset1(1.0f / 720));
    p = vfma(p, r, vset1(1.0f / 120));
    p = vfma(p, r, vset1(1.0f / 24));
    p = vfma(p, r, vset1(1.0f / 6));
    p = vfma(p, r, vset1(1.0f / 2));
    p = vfma(p, r, vset1(1));
    p = vfma(p, r, vset1(1));
    const vec_bits bits = (vec_bits)shifted - (vec_bits)vset1(WHOLE);
    const vec_bits half = (vec_bits)((vec_ints)bits >> 1);
    return p * power_of_2(half) * power_of_2(bits - half);
}

/*
 * 1 / (1 + exp(-x)), with the exponential of a negative number only, so that nothing overflows:
 * exp(-|x|) is at most 1. For x < 0 the fraction is multiplied by exp(x) above and below.
 *
 * With the roundings of the sum and of the quotient, the relative error is at most 4.5 units of
 * FLT_EPSILON / 2. Below -104 the result is 0.
 */
INLINE vec logistic_vector(vec x)
{
    const vec one = vset1(1);
    const vec negated = (vec)((vec_bits)x | 0x80000000u);
    const vec power = exp_in_range(vmax(vset1(-104), negated));
    const vec_bits negative = (vec_bits)((vec_ints)x >> 31);
    const vec above = (vec)((negative & (vec_bits)power) | (~negative & (vec_bits)one));
    return above / (one + power);
}

/* yes where x > 0, else no. */
INLINE vec vchoose(vec x, vec yes, vec no)
{
    const vec_bits above = (vec_bits)(x > vzero());
    return (vec)((above & (vec_bits)yes) | (~above & (vec_bits)no));
}

#define ACT_EXP(x) exp_in_range(vmax(vset1(-104), x))
#define ACT_SIGMOID(x) logistic_vector(x)
#define ACT_LEAST(x, most) vchoose((x) - vset1(most), vset1(most), x)
#define ACT_IF(x, a, b) vchoose(x, a, b)
#define ACT_IF_ELSE_0(x, a) vchoose(x, a, vzero())

#define AT_ONCE(NAME, slope)
#define BEHIND(NAME, f) \
    case CONV_##NAME: \
        for (; j + VL <= n; j += VL) { \
            const vec x = vload(from + j); \
            vstore(to + j, f); \
        } \
        if (j < n) { \
            const vec x = vload_part(from + j, n - j); \
            vstore_part(to + j, n - j, f); \
        } \
        break;

static void activate_all(conv_activation a, int n, const float *from, float *to)
{
    int j = 0;
    switch (a) {
        CL_ACTIVATIONS(AT_ONCE, BEHIND)
    default: break;
    }
}
