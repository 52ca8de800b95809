/* SPDX-License-Identifier: MIT */
/*
 * JPEG by the writer of a Darknet, the one whose src/ the compiler searches for headers. To be
 * compiled with STB_IMAGE_IMPLEMENTATION and STB_IMAGE_WRITE_IMPLEMENTATION.
 *
 *   pictures write FILE [PICTURE...]    many made pictures and these, encoded one after another
 *   pictures differ A B                 "LARGEST DIFFERENT ALL": of the samples of two pictures,
 *                                       the largest difference, how many differ, and how many
 *                                       there are
 */
#include "stb_image.h"
#include "stb_image_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 40 };

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 24;
}

static void append(void *file, void *data, int bytes)
{
    if (fwrite(data, 1, (size_t)bytes, file) != (size_t)bytes) abort();
}

/* Noise of every strength: one colour has long runs of zeroes, strong noise large coefficients. */
static void write_noise(FILE *file, unsigned *state)
{
    static const int qualities[] = {1, 30, 80, 100};
    static unsigned char pixels[SIDE * SIDE * 4];
    for (int i = 0; i < 400; ++i) {
        const int w = 1 + (int)next_random(state) % SIDE, h = 1 + (int)next_random(state) % SIDE;
        const int channels = 1 + (int)next_random(state) % 4;
        const unsigned strength = 1 + next_random(state) % 256, base = next_random(state);
        for (int p = 0; p < w * h * channels; ++p) {
            const unsigned value = base + next_random(state) % strength;
            pixels[p] = (unsigned char)(value < 255 ? value : 255);
        }
        if (!stbi_write_jpg_to_func(append, file, w, h, channels, pixels, qualities[i % 4]))
            abort();
    }
}

/* A JPEG whose second half is larger than a buffer of the writer. */
static void write_strong_noise(FILE *file, unsigned *state)
{
    enum { LARGE = 160 };
    static unsigned char pixels[LARGE * LARGE * 3];
    for (int p = 0; p < LARGE * LARGE * 3; ++p) pixels[p] = (unsigned char)next_random(state);
    if (!stbi_write_jpg_to_func(append, file, LARGE, LARGE, 3, pixels, 100)) abort();
}

static int write_all(const char *name, int count, char **pictures)
{
    unsigned state = 1;
    FILE *file = fopen(name, "wb");
    if (!file) return 1;
    write_noise(file, &state);
    write_strong_noise(file, &state);
    for (int i = 0; i < count; ++i) {
        int w, h, channels;
        unsigned char *pixels = stbi_load(pictures[i], &w, &h, &channels, 0);
        if (!pixels || !stbi_write_jpg_to_func(append, file, w, h, channels, pixels, 80)) return 1;
        stbi_image_free(pixels);
    }
    return fclose(file) != 0;
}

static int differ(const char *first, const char *second)
{
    int w, h, channels, other_w, other_h, other_channels, largest = 0, different = 0;
    const unsigned char *a = stbi_load(first, &w, &h, &channels, 0);
    const unsigned char *b = stbi_load(second, &other_w, &other_h, &other_channels, 0);
    if (!a || !b || w != other_w || h != other_h || channels != other_channels) return 1;
    for (int i = 0; i < w * h * channels; ++i) {
        const int difference = abs(a[i] - b[i]);
        different += difference != 0;
        if (difference > largest) largest = difference;
    }
    printf("%d %d %d\n", largest, different, w * h * channels);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "write")) return write_all(argv[2], argc - 3, argv + 3);
    if (argc == 4 && !strcmp(argv[1], "differ")) return differ(argv[2], argv[3]);
    return 2;
}
