/* SPDX-License-Identifier: MIT
   letters stay TEXT      the picture of a label, as numbers
   letters leave TEXT     the same, from another folder and with all files closed, as in a service
   letters long TEXT      a box whose names are longer than Darknet's buffer of 4096 bytes */
#include "darknet.h"
#include <string.h>
#include <unistd.h>

image get_label(image **characters, char *string, int size);    /* src/image.c of Darknet */

static void draw_long_label(char *text, image **letters)
{
    enum { CLASSES = 1000 };
    static char *names[CLASSES];
    static float prob[CLASSES];
    for (int i = 0; i < CLASSES; ++i) names[i] = text, prob[i] = 1;
    detection box = {.bbox = {.5, .5, .5, .5}, .classes = CLASSES, .prob = prob};
    draw_detections(make_image(64, 64, 3), &box, 1, .5, names, letters, CLASSES);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    image **letters = load_alphabet();
    if (!strcmp(argv[1], "long")) return draw_long_label(argv[2], letters), 0;
    if (!strcmp(argv[1], "leave")) {
        if (chdir("/")) return 2;
        for (int i = 3; i < 64; ++i) close(i);
    }
    const image label = get_label(letters, argv[2], 20);
    unsigned hash = 0;
    for (int i = 0; i < label.w * label.h * label.c; ++i)
        hash = hash * 31 + (unsigned)(label.data[i] * 255);
    printf("%dx%dx%d %u\n", label.w, label.h, label.c, hash);
    return 0;
}
