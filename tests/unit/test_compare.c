/* SPDX-License-Identifier: MIT */
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

static void expect(const char *kind, int number, sameness got, sameness want, const char *why)
{
    char name[64];
    snprintf(name, sizeof name, "compare-%s-%d", kind, number);
    report_that(name, got == want, "got %d, want %d (%s)", got, want, why);
}

static void labels(int line, const char *a, const char *b, sameness want)
{
    char why[256] = "";
    expect("labels", line, compare_labels(a, b, &compare_default, why, sizeof why), want, why);
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

/* A box of lines `wide` pixels wide. 0: none. */
typedef struct frame {
    int wide, left, top, right, bottom;
    unsigned char colour[3];
} frame;

static void box(picture *p, const frame *f)
{
    for (int y = f->top; y <= f->bottom; y++)
        for (int x = f->left; x <= f->right; x++)
            if (x < f->left + f->wide || x > f->right - f->wide || y < f->top + f->wide ||
                y > f->bottom - f->wide)
                memcpy(&p->pixels[3 * (y * W + x)], f->colour, 3);
}

static void encode(picture *p)
{
    p->length = 0;
    if (!stbi_write_jpg_to_func(append, p, W, H, 3, p->pixels, 80)) abort();
}

/* The background, and a box or two. */
static void draw(picture *p, const frame *first, const frame *second)
{
    background(p);
    box(p, first);
    if (second->wide) box(p, second);
    encode(p);
}

static void drawings(int number, const picture *a, const picture *b, sameness want)
{
    char why[256] = "";
    const sameness got = compare_drawings(a->file, a->length, b->file, b->length,
                                          &compare_default, why, sizeof why);
    expect("drawings", number, got, want, why);
}

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
    expect("count", __LINE__, (sameness)compare_count("x: 1%\nsomething else\n y: 2\nz a: 100%\n"),
           (sameness)2, "lines that are labels");
}

#define RED {255, 0, 0}
#define GREEN {0, 255, 0}
#define REFERENCE {5, 100, 100, 300, 250, RED}

/* Each drawing is compared with the reference, in both orders. */
static void test_drawings(void)
{
    static const struct {
        frame first, second;
        sameness want;
    } cases[] = {
        {REFERENCE, {0}, SAME},
        {{5, 101, 99, 301, 249, RED}, {0}, WITHIN},
        {{5, 106, 100, 306, 250, RED}, {0}, DIFFERENT},
        {{5, 100, 100, 300, 250, GREEN}, {0}, DIFFERENT},
        {REFERENCE, {5, 500, 50, 520, 80, GREEN}, DIFFERENT},   /* a small one more */
        /* Every pixel under a line of two pixels finds its like beside the line; the line does
           not. */
        {REFERENCE, {2, 500, 50, 540, 80, GREEN}, DIFFERENT},
    };
    static picture a, b;
    draw(&a, &cases[0].first, &cases[0].second);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        draw(&b, &cases[i].first, &cases[i].second);
        drawings(2 * (int)i, &a, &b, cases[i].want);
        drawings(2 * (int)i + 1, &b, &a, cases[i].want);
    }
    b.length = 100;                         /* cut off: full disk */
    memset(b.file, 0, 100);
    drawings(__LINE__, &a, &b, INCOMPARABLE);
    free(a.file);
    free(b.file);
}

int main(void)
{
    test_labels();
    test_drawings();
    return report_status();
}
