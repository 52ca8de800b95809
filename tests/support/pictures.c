/* SPDX-License-Identifier: MIT */
/*
 * JPEG by the writer and the reader of a Darknet, the one whose src/ the compiler searches for
 * headers. To be compiled with STB_IMAGE_IMPLEMENTATION and STB_IMAGE_WRITE_IMPLEMENTATION.
 *
 *   pictures write FILE [PICTURE...]    many made pictures and these, encoded one after another,
 *                                       each with the bytes that its reader makes of it again
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

static struct {
    unsigned char bytes[1 << 23];
    int used;
} encoded;

static void append(void *unused, void *data, int bytes)
{
    (void)unused;
    if (bytes > (int)sizeof(encoded.bytes) - encoded.used) abort();
    memcpy(encoded.bytes + encoded.used, data, (size_t)bytes);
    encoded.used += bytes;
}

static void write_bytes(FILE *file, const void *bytes, int n)
{
    if (fwrite(bytes, 1, (size_t)n, file) != (size_t)n) abort();
}

static void read_encoded(FILE *file)
{
    int w, h, channels;
    unsigned char *pixels =
        stbi_load_from_memory(encoded.bytes, encoded.used, &w, &h, &channels, 3);
    if (pixels) write_bytes(file, pixels, w * h * 3);
    stbi_image_free(pixels);
}

/*
 * What was a value of 1 becomes 16 zeros, which have a long code in the tables of the writer. Of
 * the values an eighth is left: else bytes would be left behind the last block.
 */
static void give_zeros_a_short_code(void)
{
    static const unsigned char values[] = {0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12};
    unsigned char *at = memmem(encoded.bytes, (size_t)encoded.used, values, sizeof(values));
    if (!at) abort();
    *at = 0xf0;
    at = (unsigned char *)memmem(at, (size_t)(encoded.bytes + encoded.used - at), "\xff\xda", 2) +
         14;
    encoded.used -= (int)(encoded.bytes + encoded.used - at) * 7 / 8;
    append(0, (unsigned char[]){0xff, 0xd9}, 2);
}

static void encode(FILE *file, int w, int h, int channels, const unsigned char *pixels, int quality)
{
    encoded.used = 0;
    if (!stbi_write_jpg_to_func(append, 0, w, h, channels, pixels, quality)) abort();
    write_bytes(file, encoded.bytes, encoded.used);
    read_encoded(file);
    give_zeros_a_short_code();
    read_encoded(file);
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
        encode(file, w, h, channels, pixels, qualities[i % 4]);
    }
}

/* A JPEG whose second half is larger than a buffer of the writer. */
static void write_strong_noise(FILE *file, unsigned *state)
{
    enum { LARGE = 160 };
    static unsigned char pixels[LARGE * LARGE * 3];
    for (int p = 0; p < LARGE * LARGE * 3; ++p) pixels[p] = (unsigned char)next_random(state);
    encode(file, LARGE, LARGE, 3, pixels, 100);
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
        if (!pixels) return 1;
        encode(file, w, h, channels, pixels, 80);
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
