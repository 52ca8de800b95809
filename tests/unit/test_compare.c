/*
 * bench/common/compare.c: what counts as the same detection. The drawings are made here: noise,
 * which JPEG does not keep exactly, and boxes as Darknet draws them: lines of 5 pixels in kite.jpg,
 * of 2 in a small image.
 */
#include "common/compare.h"

#include "common/random.h"
#include "support/report.h"

#include <stdlib.h>
#include <string.h>

#include "stb_image_write.h"

enum { W = 640, H = 400 };

static void expect(int line, sameness got, sameness want, const char *why)
{
    char name[64];
    snprintf(name, sizeof name, "compare-%d", line);
    if (got == want) report_pass(name);
    else report_fail(name, "got %d, want %d (%s)", got, want, why);
}

static void labels(int line, const char *a, const char *b, sameness want)
{
    char why[256] = "";
    expect(line, compare_labels(a, b, &compare_default, why, sizeof why), want, why);
}
#define LABELS(a, b, want) labels(__LINE__, (a), (b), (want))

typedef struct picture {
    unsigned char pixels[3 * W * H];
    unsigned char *file;
    size_t length, room;
} picture;

static void append(void *to, void *data, int n)
{
    picture *p = to;
    if (p->length + (size_t)n > p->room) {
        p->room = 2 * p->room + (size_t)n + 65536;
        p->file = realloc(p->file, p->room);
        if (!p->file) abort();
    }
    memcpy(p->file + p->length, data, (size_t)n);
    p->length += (size_t)n;
}

static void background(picture *p)
{
    rng random = rng_make(1, 0);
    for (size_t i = 0; i < sizeof p->pixels; ++i)
        p->pixels[i] = (unsigned char)(96 + (i / 3 % W) / 8 + (size_t)rng_below(&random, 16));
}

static void box(picture *p, int wide, int left, int top, int right, int bottom,
                const unsigned char colour[3])
{
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++)
            if (x < left + wide || x > right - wide || y < top + wide || y > bottom - wide)
                memcpy(&p->pixels[3 * (y * W + x)], colour, 3);
}

static void encode(picture *p)
{
    p->length = 0;
    if (!stbi_write_jpg_to_func(append, p, W, H, 3, p->pixels, 80)) abort();
}

static void drawings(int line, const picture *a, const picture *b, sameness want)
{
    char why[256] = "";
    expect(line, compare_drawings(a->file, a->length, b->file, b->length, &compare_default, why,
                                  sizeof why), want, why);
}
#define DRAWINGS(a, b, want) drawings(__LINE__, (a), (b), (want))

static void test_labels(void)
{
    LABELS("\nkite: 94%\nperson: 89%\n", "\nperson: 89%\nkite: 94%\n", SAME);
    LABELS("kite: 94%\n", "kite: 95%\n", WITHIN);
    LABELS("kite: 94%\n", "kite: 96%\n", DIFFERENT);
    LABELS("kite: 94%\n", "bird: 94%\n", DIFFERENT);
    LABELS("kite: 94%\nkite: 80%\n", "kite: 94%\n", DIFFERENT);
    LABELS("kite: 94%\nkite: 51%\n", "kite: 94%\n", BORDERLINE);
    LABELS("kite: 94%\n", "kite: 94%\nkite: 50%\n", BORDERLINE);
    LABELS("kite: 94%\n", "kite: nan%\n", DIFFERENT);
    LABELS("kite: 94%\n", "kite: -nan%\n", DIFFERENT);
    LABELS("traffic light: 60%\n", "traffic light: 60%\n", SAME);
    LABELS("", "", SAME);
    LABELS("", "kite: 94%\n", DIFFERENT);
    expect(__LINE__, (sameness)compare_count("x: 1%\nsomething else\n y: 2\nz a: 100%\n"),
           (sameness)2, "lines that are labels");
}

static void test_drawings(void)
{
    static const unsigned char red[] = {255, 0, 0}, green[] = {0, 255, 0};
    static picture a, b;
    background(&a);
    box(&a, 5, 100, 100, 300, 250, red);
    encode(&a);

    background(&b);
    box(&b, 5, 100, 100, 300, 250, red);
    encode(&b);
    DRAWINGS(&a, &b, SAME);

    background(&b);
    box(&b, 5, 101, 99, 301, 249, red);
    encode(&b);
    DRAWINGS(&a, &b, WITHIN);

    background(&b);
    box(&b, 5, 106, 100, 306, 250, red);
    encode(&b);
    DRAWINGS(&a, &b, DIFFERENT);

    background(&b);
    box(&b, 5, 100, 100, 300, 250, green);
    encode(&b);
    DRAWINGS(&a, &b, DIFFERENT);

    background(&b);
    box(&b, 5, 100, 100, 300, 250, red);
    box(&b, 5, 500, 50, 520, 80, green);       /* a small one, on one side only */
    encode(&b);
    DRAWINGS(&a, &b, DIFFERENT);
    DRAWINGS(&b, &a, DIFFERENT);

    /* Every pixel under a line of two pixels finds its like beside the line; the line does not. */
    background(&b);
    box(&b, 5, 100, 100, 300, 250, red);
    box(&b, 2, 500, 50, 540, 80, green);
    encode(&b);
    DRAWINGS(&a, &b, DIFFERENT);
    DRAWINGS(&b, &a, DIFFERENT);

    b.length = 100;                         /* cut off: full disk */
    memset(b.file, 0, 100);
    DRAWINGS(&a, &b, INCOMPARABLE);
    free(a.file);
    free(b.file);
}

int main(void)
{
    test_labels();
    test_drawings();
    return report_status();
}
