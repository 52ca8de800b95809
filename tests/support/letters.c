/* SPDX-License-Identifier: MIT
   letters TEXT [stay]: the picture of a label, as numbers. Without `stay` the program first goes to another folder
   and closes its files, as a service does. */
#include "darknet.h"
#include <unistd.h>

image get_label(image **characters, char *string, int size);

int main(int argc, char **argv)
{
    image **letters = load_alphabet();
    if (argc < 3) {
        if (chdir("/")) return 2;
        for (int i = 3; i < 64; ++i) close(i);
    }
    const image label = get_label(letters, argv[1], 20);
    unsigned hash = 0;
    for (int i = 0; i < label.w * label.h * label.c; ++i) hash = hash * 31 + (unsigned)(label.data[i] * 255);
    printf("%dx%dx%d %u\n", label.w, label.h, label.c, hash);
    return 0;
}
