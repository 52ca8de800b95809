/* SPDX-License-Identifier: MIT
   one_picture PICTURE    what detect reads as bytes is what Darknet reads as floats: inputs of
                          networks, and floats.jpg and bytes.jpg with the same boxes; and a
                          trained network has no arrays for training */
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
    boxes[2].mask = make_mask(); /* who draws frees it */
    picture_draw(p, boxes, 3, .5, names, letters, 2);
    picture_save(p, "bytes");
    boxes[2].mask = make_mask();
    draw_boxes(im, boxes, 3, .5, names, letters, 2);
    save_image(im, "floats");
}

/* Arrays of a network's convolutions that only training reads. */
static int count_training(const network *net)
{
    int n = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type == CONVOLUTIONAL)
            n += (l->delta != 0) + (l->weight_updates != 0) + (l->x_norm != 0);
    }
    return n;
}

static int has_wrong_arrays(void)
{
    char cfg[] = "cfg/kite-demo.cfg", weights[] = "cfg/kite-demo.weights";
    const int trained = count_training(load_trained_network(cfg, weights));
    const int all = count_training(load_network(cfg, weights, 0));
    if (trained || !all) printf("%d arrays for training of %d\n", trained, all);
    return trained || !all;
}

int main(int argc, char **argv)
{
    static const int sizes[][2] = {{416, 416}, {320, 320}, {33, 57}, {1, 1}, {1408, 96}};
    if (argc != 2) return 2;
    int wrong = has_wrong_arrays();
    for (int i = 0; i < 10; ++i) wrong += differ(argv[1], sizes[i / 2][0], sizes[i / 2][1], i % 2);
    draw_both(argv[1], load_alphabet());
    return wrong != 0;
}
