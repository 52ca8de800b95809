/*
 * The layers that patch 0006 made faster, against Darknet's own loops, over random geometry: maxpool
 * at inference against maxpool where backward follows, to the bit; a shortcut of equal sizes and the
 * linear activation, to the bit; logistic, which rounds, within its last digits.
 */
#include "operands.h"
#include "report.h"

#include "darknet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of Darknet's own headers, which do not compile without warnings. */
layer make_maxpool_layer(int batch, int h, int w, int c, int size, int stride, int padding);
void forward_maxpool_layer(const layer l, network net);
void shortcut_cpu(int batch, int w1, int h1, int c1, float *add, int w2, int h2, int c2, float s1, float s2,
                  float *out);
void activate_array(float *x, const int n, const ACTIVATION a);

enum { CASES = 400, SEED = 5 };

/* Values that often tie. */
static float *values(int n, rng *r)
{
    float *v = malloc((size_t)n * sizeof *v);
    for (int i = 0; i < n; ++i) v[i] = rng_below(r, 3) ? rng_float(r) : (float)(1 + rng_below(r, 3));
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
        const int batch = 1 + rng_below(&r, 2), h = 1 + rng_below(&r, 40), w = 1 + rng_below(&r, 40);
        const int size = 1 + rng_below(&r, 13), stride = 1 + rng_below(&r, 3), pad = rng_below(&r, size + 1);
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

static void test_shortcut(void)
{
    const float s1 = 0.5f, s2 = 2;      /* powers of two: their products do not round */
    for (int number = 0; number < CASES; ++number) {
        rng r = rng_make(SEED, (uint64_t)number);
        const int w = 1 + rng_below(&r, 20), h = 1 + rng_below(&r, 20), batch = 1 + rng_below(&r, 3);
        const int from = 1 + rng_below(&r, 9), to = 1 + rng_below(&r, 9), area = w * h;
        float *add = values(batch * from * area, &r), *out = values(batch * to * area, &r);
        float *before = malloc((size_t)(batch * to * area) * sizeof *before);
        memcpy(before, out, (size_t)(batch * to * area) * sizeof *before);
        shortcut_cpu(batch, w, h, from, add, w, h, to, s1, s2, out);
        bool same = true;
        for (int i = 0; i < batch * to * area; ++i) {
            const int image = i / (to * area), place = i % (to * area);
            const float added = place < from * area ? s1 * before[i] + s2 * add[image * from * area + place]
                                                    : before[i];
            if (memcmp(&added, &out[i], sizeof added)) same = false;
        }
        free(add);
        free(out);
        free(before);
        if (!same) {
            report_fail("shortcut", "differs: %dx%d, %d channels to %d, batch %d", w, h, from, to, batch);
            return;
        }
    }
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
    if (memcmp(x, y, sizeof x)) report_fail("linear", "it changed a value");
    else report_pass("linear");
    activate_array(y, N, LOGISTIC);
    double worst = 0;
    for (int i = 0; i < N; ++i) {
        const double exact = 1 / (1 + exp(-(double)x[i])), error = fabs(y[i] / exact - 1);
        worst = error <= worst ? worst : error;
    }
    if (worst <= 2e-7) report_pass("logistic");
    else report_fail("logistic", "off by %g of its value", worst);
}

int main(void)
{
    if (!freopen("/dev/null", "w", stderr)) return 2;   /* Darknet prints every layer it makes */
    test_maxpool();
    test_shortcut();
    test_activations();
    return report_status();
}
