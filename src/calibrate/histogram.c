/* SPDX-License-Identifier: MIT */
/* A histogram of |x|, and where to clip x for 8 bits: see histogram.h. */
#include "calibrate/histogram.h"

#include <math.h>
#include <string.h>

/* Where the range begins: GEMM_BINS / range is then a float. */
static const int LEAST_EXPONENT = -100;

/* The largest |x|; infinite where one is not finite. */
static float find_most(const float *x, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; ++i) {
        const float size = fabsf(x[i]);
        if (!isfinite(size)) return INFINITY;
        most = size > most ? size : most;
    }
    return most;
}

/* Merges the bins 2^doublings by 2^doublings. */
static void widen(gemm_histogram *h, int doublings)
{
    for (int i = 1; i < GEMM_BINS; ++i) {
        const uint64_t count = h->bins[i];
        h->bins[i] = 0;
        h->bins[doublings < 31 ? i >> doublings : 0] += count;
    }
}

/* The range becomes larger than `most`. */
static void reach(gemm_histogram *h, float most)
{
    int exponent, before;
    frexp(most, &exponent);
    if (exponent < LEAST_EXPONENT) exponent = LEAST_EXPONENT;
    const double range = ldexp(1, exponent);
    if (range <= h->range) return;
    if (h->range > 0) {
        frexp(h->range, &before);       /* of 2^e it is e + 1 */
        widen(h, exponent - (before - 1));
    }
    h->range = range;
}

bool gemm_histogram_add(gemm_histogram *h, const float *x, size_t n)
{
    const float most = find_most(x, n);
    if (!isfinite(most)) return false;
    if (n) reach(h, most);
    const float bins = (float)(GEMM_BINS / h->range);   /* a power of two: products are exact */
    for (size_t i = 0; i < n; ++i) ++h->bins[(int)(fabsf(x[i]) * bins)];
    for (size_t i = 0; i < n; ++i) h->least = x[i] < h->least ? x[i] : h->least;
    h->most = most > h->most ? most : h->most;
    h->count += n;
    return true;
}

double gemm_histogram_percentile(const gemm_histogram *h, double part)
{
    const double wanted = part * (double)h->count;
    uint64_t sum = 0;
    int i = 0;
    while (i < GEMM_BINS && (double)sum < wanted) sum += h->bins[i++];
    return fmin(i * h->range / GEMM_BINS, h->most);
}

/* The sum of squared errors, in widths of a bin, with a clip of so many bins. The values of a bin
   count as its middle. */
static double error_of(const gemm_histogram *h, double clip)
{
    const double step = clip / GEMM_INT8_MOST;
    double sum = 0;
    for (int i = 0; i < GEMM_BINS; ++i) {
        if (!h->bins[i]) continue;
        const double x = i + .5, number = nearbyint(x / step);
        const double error = x - step * fmin(number, GEMM_INT8_MOST);
        sum += (double)h->bins[i] * error * error;
    }
    return sum;
}

double gemm_histogram_least_error(const gemm_histogram *h)
{
    enum { PARTS = 32 };                /* candidates from a clip to its double */
    const double width = h->range / GEMM_BINS;
    double best = h->most, least = INFINITY;
    if (!(h->most > 0)) return 0;
    /* From the largest value downwards, so that the widest of equally good clips is taken. */
    for (int i = 0;; ++i) {
        const double clip = h->most / width * exp2(-(double)i / PARTS);
        if (i && clip < GEMM_CLIP_LEAST) break;
        const double error = error_of(h, clip);
        if (error >= least) continue;
        least = error;
        best = clip * width;
    }
    return best;
}
