/* SPDX-License-Identifier: MIT
   one_picture PICTURE    what detect reads as bytes is what Darknet reads as floats: inputs of
                          networks, and floats.jpg and bytes.jpg with the same boxes */
#include "darknet.h"
#include <string.h>

static int differ(char *file, int w, int h, int stretched)
{
    network net = {.w = w, .h = h, .stretched = stretched};
    image sized;
    picture *p = picture_start(file);
    picture_fit(p, &net);
    picture_fitted(p, &sized);
    const image expected = network_picture(&net, load_image_color(file, 0, 0));
    const int differs = memcmp(expected.data, sized.data, sizeof(float) * 3 * w * h) != 0;
    if (differs) printf("%s at %dx%d%s\n", file, w, h, stretched ? ", stretched" : "");
    return differs;
}

static float *make_mask(void)
{
    float *mask = calloc(14 * 14, sizeof(float));
    for (int i = 60; i < 120; ++i) mask[i] = 1;
    return mask;
}

static void draw_both(char *file, image **letters)
{
    char *names[] = {"dog", "cat"};
    float prob[][2] = {{1, 0}, {1, 1}, {0, 1}};
    detection boxes[] = {{.bbox = {.5, .5, .3, .4}, .prob = prob[0]},
                         {.bbox = {.9, .02, .4, .3}, .prob = prob[1]},
                         {.bbox = {.2, .6, .3, .3}, .prob = prob[2]}};
    network net = {.w = 32, .h = 32};
    image sized, im = load_image_color(file, 0, 0);
    picture *p = picture_start(file);
    picture_fit(p, &net);
    picture_fitted(p, &sized);
    boxes[2].mask = make_mask();        /* who draws frees it */
    picture_draw(p, boxes, 3, .5, names, letters, 2);
    picture_save(p, "bytes");
    boxes[2].mask = make_mask();
    draw_boxes(im, boxes, 3, .5, names, letters, 2);
    save_image(im, "floats");
}

int main(int argc, char **argv)
{
    static const int sizes[][2] = {{416, 416}, {320, 320}, {33, 57}, {1, 1}, {1408, 96}};
    int wrong = 0;
    if (argc != 2) return 2;
    for (int i = 0; i < 10; ++i) wrong += differ(argv[1], sizes[i / 2][0], sizes[i / 2][1], i % 2);
    draw_both(argv[1], load_alphabet());
    return wrong != 0;
}
