/* SPDX-License-Identifier: MIT */
/*
 * Drawings that are not the same byte for byte are decoded with the image reader inside Darknet
 * (stb_image.h). Every pixel must find a similar one within a few pixels in the other drawing. So a
 * box that moved by one pixel passes. A box that moved further, is missing or has another class is
 * a difference.
 */
#include "common/compare.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stb_image.h"

const compare_tolerance compare_default = {
    .points = 1, .threshold = 50, .reach = 2, .level = 64, .pixels = 64};

typedef struct label {
    const char *name;
    size_t length;
    double percent;
} label;

/* "name: NN%" in a line; false where the line is something else. */
static bool parse_label(const char *line, size_t length, label *out)
{
    size_t colon = length;
    while (colon > 0 && line[colon - 1] != ':') colon--;
    if (colon == 0 || length == 0 || line[length - 1] != '%') return false;
    char *end;
    const double percent = strtod(line + colon, &end);
    if (end != line + length - 1) return false;
    *out = (label){line, colon - 1, percent};
    return true;
}

static size_t parse_labels(const char *text, label *out)
{
    size_t n = 0;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        label l;
        if (parse_label(text, length, &l)) {
            if (out) out[n] = l;
            n++;
        }
        text += length + (text[length] == '\n');
    }
    return n;
}

size_t compare_count(const char *text) { return parse_labels(text, NULL); }

static int by_name(const label *a, const label *b)
{
    const size_t shorter = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->name, b->name, shorter);
    if (order) return order;
    return (a->length > b->length) - (a->length < b->length);
}

/* By name, the highest percentage first: a label without a partner is then near the threshold. */
static int by_label(const void *x, const void *y)
{
    const label *a = x, *b = y;
    const int order = by_name(a, b);
    return order ? order : (a->percent < b->percent) - (a->percent > b->percent);
}

static sameness worse(sameness x, sameness y) { return x > y ? x : y; }

/* A label that only `side` has. */
static sameness lone_label(const label *l, char side, const compare_tolerance *t, char *why,
                           size_t size)
{
    if (l->percent <= t->threshold + t->points) return BORDERLINE;
    snprintf(why, size, "only %c has %.*s: %.0f%%", side, (int)l->length, l->name, l->percent);
    return DIFFERENT;
}

static sameness compare_sorted(const label *a, size_t na, const label *b, size_t nb,
                               const compare_tolerance *t, char *why, size_t size)
{
    sameness all = SAME;
    size_t i = 0, j = 0;
    while ((i < na || j < nb) && all != DIFFERENT) {
        const int order = i == na ? 1 : j == nb ? -1 : by_name(&a[i], &b[j]);
        if (order < 0) {
            all = worse(all, lone_label(&a[i++], 'A', t, why, size));
        } else if (order > 0) {
            all = worse(all, lone_label(&b[j++], 'B', t, why, size));
        } else if (a[i].percent == b[j].percent) {
            i++, j++;
        } else if (fabs(a[i].percent - b[j].percent) <= t->points) {
            all = worse(all, WITHIN);
            i++, j++;
        } else {
            snprintf(why, size, "%.*s is %.0f%% in A and %.0f%% in B", (int)a[i].length, a[i].name,
                     a[i].percent, b[j].percent);
            all = DIFFERENT;
        }
    }
    return all;
}

sameness compare_labels(const char *a, const char *b, const compare_tolerance *t, char *why,
                        size_t size)
{
    const size_t na = parse_labels(a, NULL), nb = parse_labels(b, NULL);
    label *room = malloc((na + nb + 1) * sizeof *room);
    if (!room) {
        snprintf(why, size, "no memory for %zu labels", na + nb);
        return INCOMPARABLE;
    }
    parse_labels(a, room);
    parse_labels(b, room + na);
    qsort(room, na, sizeof *room, by_label);
    qsort(room + na, nb, sizeof *room, by_label);
    const sameness all = compare_sorted(room, na, room + na, nb, t, why, size);
    free(room);
    return all;
}

static bool alike(const unsigned char *p, const unsigned char *q, int level)
{
    return abs(p[0] - q[0]) <= level && abs(p[1] - q[1]) <= level && abs(p[2] - q[2]) <= level;
}

static bool has_like(const unsigned char *p, const unsigned char *other, int w, int h, int x, int y,
                     const compare_tolerance *t)
{
    for (int v = y - t->reach; v <= y + t->reach; v++)
        for (int u = x - t->reach; u <= x + t->reach; u++)
            if (u >= 0 && v >= 0 && u < w && v < h &&
                alike(p, other + 3 * ((size_t)v * (size_t)w + (size_t)u), t->level))
                return true;
    return false;
}

/* Counts the pixels without a similar one in the other drawing; `at`: where the first one is. */
static long count_lonely(const unsigned char *a, const unsigned char *b, int w, int h,
                         const compare_tolerance *t, int at[2])
{
    long lonely = 0;
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            const size_t i = 3 * ((size_t)y * (size_t)w + (size_t)x);
            if (alike(a + i, b + i, t->level)) continue;
            if (has_like(a + i, b, w, h, x, y, t) && has_like(b + i, a, w, h, x, y, t)) continue;
            if (lonely++ == 0) at[0] = x, at[1] = y;
        }
    }
    return lonely;
}

sameness compare_drawings(const unsigned char *a, size_t na, const unsigned char *b, size_t nb,
                          const compare_tolerance *t, char *why, size_t size)
{
    if (na == nb && !memcmp(a, b, na)) return SAME;
    int wa, ha, wb, hb, channels, at[2] = {0, 0};
    unsigned char *pa = stbi_load_from_memory(a, (int)na, &wa, &ha, &channels, 3);
    unsigned char *pb = stbi_load_from_memory(b, (int)nb, &wb, &hb, &channels, 3);
    sameness all = WITHIN;
    if (!pa || !pb) {
        snprintf(why, size, "the drawing of %c cannot be decoded", pa ? 'B' : 'A');
        all = INCOMPARABLE;
    } else if (wa != wb || ha != hb) {
        snprintf(why, size, "the drawings are %dx%d and %dx%d", wa, ha, wb, hb);
        all = DIFFERENT;
    } else {
        const long lonely = count_lonely(pa, pb, wa, ha, t, at);
        if (lonely > t->pixels) {
            snprintf(why, size, "the boxes differ: %ld pixels of the drawings, from (%d, %d) on",
                     lonely, at[0], at[1]);
            all = DIFFERENT;
        }
    }
    stbi_image_free(pa);
    stbi_image_free(pb);
    return all;
}
