/*
 * The layers that patch 0006 made faster, against Darknet's own loops, over random geometry:
 * maxpool at inference against maxpool where backward follows, to the bit; a shortcut of equal
 * sizes and the linear activation, to the bit; logistic, which rounds, within its last digits.
 */
#include "support/operands.h"
#include "support/report.h"

#include "darknet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of Darknet's own headers, which do not compile without warnings. */
layer make_maxpool_layer(int batch, int h, int w, int c, int size, int stride, int padding);
void forward_maxpool_layer(const layer l, network net);
void shortcut_cpu(int batch, int w1, int h1, int c1, float *add, int w2, int h2, int c2, float s1,
                  float s2, float *out);
void activate_array(float *x, const int n, const ACTIVATION a);

enum { CASES = 400, SEED = 5 };

/* Values that often tie. */
static float *values(int n, rng *r)
{
    float *v = malloc((size_t)n * sizeof *v);
    for (int i = 0; i < n; ++i)
        v[i] = rng_below(r, 3) ? rng_float(r) : (float)(1 + rng_below(r, 3));
    return v;
}

/* Backward needs to know where each maximum came from; -1 is from nowhere. */
static bool indexes_right(const layer *l, const float *input)
{
    for (int i = 0; i < l->outputs * l->batch; ++i) {
        const int from = l->indexes[i];
        if (from < -1 || from >= l->inputs * l->batch) return false;
        if (from >= 0 && input[from] != l->output[i]) return false;
    }
    return true;
}

static void test_maxpool(void)
{
    for (int number = 0; number < CASES; ++number) {
        rng r = rng_make(SEED, (uint64_t)number);
        const int batch = 1 + rng_below(&r, 2), h = 1 + rng_below(&r, 40),
                  w = 1 + rng_below(&r, 40);
        const int size = 1 + rng_below(&r, 13), stride = 1 + rng_below(&r, 3),
                  pad = rng_below(&r, size + 1);
        if ((w + pad - size) / stride + 1 < 1 || (h + pad - size) / stride + 1 < 1) continue;
        layer l = make_maxpool_layer(batch, h, w, 3, size, stride, pad);
        const size_t bytes = (size_t)(l.outputs * batch) * sizeof(float);
        float *input = values(l.inputs * batch, &r), *expected = malloc(bytes);
        memset(l.indexes, 0xfe, (size_t)(l.outputs * batch) * sizeof *l.indexes);
        network net = {.input = input, .train = number % 2, .delta = number % 2 ? NULL : input};
        forward_maxpool_layer(l, net);
        const bool indexed = indexes_right(&l, input);
        memcpy(expected, l.output, bytes);
        memset(l.output, 0xff, bytes);
        net.train = 0;
        net.delta = NULL;
        forward_maxpool_layer(l, net);
        const bool same = indexed && !memcmp(expected, l.output, bytes);
        free(input);
        free(expected);
        free_layer(l);
        if (!same) {
            report_fail("maxpool", "%s: %dx%d size %d stride %d pad %d batch %d",
                        indexed ? "differs" : "wrong indexes", w, h, size, stride, pad, batch);
            return;
        }
    }
    report_pass("maxpool");
}

/* Of two sides, one is a multiple of the other: every so many places of the larger take part. */
static bool test_shortcut_case(int number)
{
    const float s1 = 0.5f, s2 = 2; /* powers of two: their products do not round */
    rng r = rng_make(SEED, (uint64_t)number);
    const int w = 1 + rng_below(&r, 20), h = 1 + rng_below(&r, 20), batch = 1 + rng_below(&r, 3);
    const int from = 1 + rng_below(&r, 9), to = 1 + rng_below(&r, 9), least = from < to ? from : to;
    const int stride = number % 4 == 1 ? 2 : 1, sample = number % 4 == 3 ? 2 : 1;
    const int w1 = w * stride, h1 = h * stride, w2 = w * sample, h2 = h * sample,
              n = batch * to * w2 * h2;
    float *add = values(batch * from * w1 * h1, &r), *out = values(n, &r);
    float *expected = malloc((size_t)n * sizeof *expected);
    memcpy(expected, out, (size_t)n * sizeof *expected);
    for (int i = 0; i < batch * least * h * w; ++i) {
        const int x = i % w, y = i / w % h, k = i / w / h % least, b = i / w / h / least;
        float *e = &expected[x * sample + w2 * (y * sample + h2 * (k + to * b))];
        *e = s1 * *e + s2 * add[x * stride + w1 * (y * stride + h1 * (k + from * b))];
    }
    shortcut_cpu(batch, w1, h1, from, add, w2, h2, to, s1, s2, out);
    const bool same = !memcmp(expected, out, (size_t)n * sizeof *out);
    free(add);
    free(out);
    free(expected);
    if (!same)
        report_fail("shortcut", "differs: %dx%dx%d to %dx%dx%d, batch %d", w1, h1, from, w2, h2, to,
                    batch);
    return same;
}

static void test_shortcut(void)
{
    for (int number = 0; number < CASES; ++number)
        if (!test_shortcut_case(number)) return;
    report_pass("shortcut");
}

static void test_activations(void)
{
    enum { N = 1003 };
    float x[N], y[N];
    rng r = rng_make(SEED, 9);
    for (int i = 0; i < N; ++i) x[i] = 30 * rng_float(&r);
    memcpy(y, x, sizeof y);
    activate_array(y, N, LINEAR);
    if (memcmp(x, y, sizeof x))
        report_fail("linear", "it changed a value");
    else
        report_pass("linear");
    activate_array(y, N, RELU);
    bool right = true;
    for (int i = 0; i < N; ++i) right = right && y[i] == (x[i] > 0 ? x[i] : 0);
    if (right)
        report_pass("relu");
    else
        report_fail("relu", "it is not what it was");
    memcpy(y, x, sizeof y);
    activate_array(y, N, LOGISTIC);
    double worst = 0;
    for (int i = 0; i < N; ++i) {
        const double exact = 1 / (1 + exp(-(double)x[i])), error = fabs(y[i] / exact - 1);
        worst = error <= worst ? worst : error;
    }
    if (worst <= 2e-7)
        report_pass("logistic");
    else
        report_fail("logistic", "off by %g of its value", worst);
}

int main(void)
{
    if (!freopen("/dev/null", "w", stderr)) return 2; /* Darknet prints every layer it makes */
    test_maxpool();
    test_shortcut();
    test_activations();
    return report_status();
}
