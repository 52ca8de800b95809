/* SPDX-License-Identifier: MIT */
/*
 * The boxes that `darknet detect` finds, as numbers: its output names only their labels.
 *
 *   boxes CFG WEIGHTS IMAGE...
 *
 * A line for each class of a box: IMAGE CLASS PROBABILITY LEFT RIGHT TOP BOTTOM, in parts of the
 * picture. A picture without boxes has no line.
 */
#include "darknet.h"

#include <stdio.h>

/* As `darknet detect` has them. */
static const float THRESHOLD = .5f, HIERARCHY_THRESHOLD = .5f, NMS = .45f;

static void print_boxes(const char *path, const detection *boxes, int count, int classes)
{
    for (int i = 0; i < count; ++i) {
        const box b = boxes[i].bbox;
        for (int j = 0; j < classes; ++j)
            if (boxes[i].prob[j] > THRESHOLD)
                printf("%s %d %.4f %.4f %.4f %.4f %.4f\n", path, j, (double)boxes[i].prob[j],
                       (double)(b.x - b.w / 2), (double)(b.x + b.w / 2), (double)(b.y - b.h / 2),
                       (double)(b.y + b.h / 2));
    }
}

static void detect(network *net, char *path)
{
    int count = 0;
    const int classes = net->layers[net->n - 1].classes;
    image picture = load_image_color(path, 0, 0);
    image input = network_picture(net, picture);
    network_predict(net, input.data);
    detection *boxes = get_network_boxes(net, picture.w, picture.h, THRESHOLD, HIERARCHY_THRESHOLD,
                                         0, 1, &count);
    do_nms_sort(boxes, count, classes, NMS);
    print_boxes(path, boxes, count, classes);
    free_detections(boxes, count);
    free_image(input);
    free_image(picture);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: boxes CFG WEIGHTS IMAGE...\n", stderr);
        return 2;
    }
    network *net = load_network(argv[1], argv[2], 0);
    set_batch_network(net, 1);
    for (int i = 3; i < argc; ++i) detect(net, argv[i]);
    return 0;
}
