/* SPDX-License-Identifier: MIT */
/* Fuzz targets of the patched Darknet: cfg, weights, lists, names and pictures. */
#include "fuzz/fuzz.h"

#include "darknet.h"
#include "image.h"
#include "option_list.h"
#include "parser.h"
#include "tree.h"
#include "utils.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cfg ---- */

static void run_cfg(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    network *net = parse_network_cfg(FUZZ_FILE);
    set_batch_network(net, 1);
    int boxes = 0;
    get_network_boxes(net, 10, 10, .5, .5, 0, 1, &boxes);
}

/* A cfg for each line of tests/fuzz/layers, where blanks stand for ends of lines. */
static void seeds_cfg(void)
{
    char line[512], text[640];
    FILE *f = fopen("tests/fuzz/layers", "r");
    if (!f) abort();
    while (fgets(line, sizeof line, f)) {
        snprintf(text, sizeof text, "[net] height=8 width=8 channels=4 %s", line);
        for (char *p = text; (p = strchr(p, ' ')); ++p) *p = '\n';
        fuzz_seed_text(text);
    }
    fclose(f);
    fuzz_seed_text("\xef\xbb\xbf[net]\r\ninputs=8\r\n# a comment\r\n[softmax]\r\ntree=t\r\n");
}

/* ---- weights ---- */

static const char weights_cfg[] = "[net]\nheight=4\nwidth=4\nchannels=2\n[convolutional]\nfilters="
                                  "4\nbatch_normalize=1\n[convolutional]\n"
                                  "filters=4\nflipped=1\n[deconvolutional]\nfilters=2\nsize="
                                  "2\nstride=2\n[batchnorm]\n[local]\nfilters=1\n"
                                  "[connected]\noutput=4\nbatch_normalize=1\n[gru]\noutput=2\n["
                                  "lstm]\noutput=2\n[rnn]\noutput=2\n";

static void run_weights(const uint8_t *data, size_t size)
{
    char path[128];
    (void)data;
    (void)size;
    snprintf(path, sizeof path, "%s/cfg", fuzz_folder());
    fuzz_write("cfg", "", 0, weights_cfg, sizeof weights_cfg - 1);
    network *net = load_network(path, FUZZ_FILE, 0);
    set_batch_network(net, 1);
}

static void seeds_weights(void)
{
    static const int heads[][3] = {{0, 1, 0}, {0, 2, 0}, {2000, 0, 0}};
    char data[4096] = {0};
    for (int i = 0; i < 3; ++i) {
        memcpy(data, heads[i], sizeof heads[i]);
        fuzz_seed(data, 20);
        fuzz_seed(data, sizeof data);
    }
}

/* ---- data files, lists, names, trees, maps ---- */

/* Every file that the data file names is the data file. */
static void run_data(const uint8_t *data, size_t size)
{
    char path[4096];
    (void)data;
    (void)size;
    list *options = read_data_cfg(FUZZ_FILE);
    char *names = option_find_str(options, "names", "names.list");
    const int classes = option_find_int(options, "classes", 2);
    list *paths = get_paths(option_find_str(options, "valid", "list"));
    char **list = (char **)list_to_array(paths);
    for (int i = 0; i < paths->size && i < 8; ++i) find_replace(list[i], "images", "labels", path);
    check_names(get_labels(names), names, classes, 0);
}

static void run_tree(const uint8_t *data, size_t size)
{
    float probabilities[64];
    (void)data;
    (void)size;
    read_map(FUZZ_FILE);
    tree *t = read_tree(FUZZ_FILE);
    for (int i = 0; i < 64; ++i) probabilities[i] = 1;
    if (t->n < 1 || t->n > 64) return;
    hierarchy_top_prediction(probabilities, t, .5, 1);
    hierarchy_predictions(probabilities, t->n, t, 1, 1);
    for (int i = 0; i < t->n; ++i) get_hierarchy_probability(probabilities, t, i, 1);
    change_leaves(t, FUZZ_FILE);
}

static void seeds_data(void)
{
    fuzz_seed_text("classes=3\nnames=input\nvalid=input\nlabels = x.names\r\ntop=5\n");
    fuzz_seed_text("a\n\nb\r\n\r\nclasses= 4\n=\n==\n#\n;\nimages/x.jpg");
}

static void seeds_tree(void)
{
    fuzz_seed_text("animal -1\nplant -1\ndog 0\ncat 0\npoodle 2\n");
    fuzz_seed_text("0\n1\n17\n");
}

/* ---- pictures ---- */

static void run_picture(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    load_listed_image(FUZZ_FILE, 0, 0, 0);
}

static void seed_picture(IMTYPE type, const char *ending)
{
    char name[128], path[160];
    static char data[1 << 16];
    image im = make_image(9, 5, 3);
    for (int i = 0; i < 9 * 5 * 3; ++i) im.data[i] = (float)(i * 37 % 100) / 100;
    snprintf(name, sizeof name, "%s/picture", fuzz_folder());
    save_image_options(im, name, type, 80);
    snprintf(path, sizeof path, "%s.%s", name, ending);
    FILE *f = fopen(path, "r");
    const size_t size = f ? fread(data, 1, sizeof data, f) : 0;
    if (!size) abort();
    fclose(f);
    fuzz_seed(data, size);
}

static void seeds_picture(void)
{
    seed_picture(PNG, "png");
    seed_picture(BMP, "bmp");
    seed_picture(JPG, "jpg");
    seed_picture(TGA, "tga");
    fuzz_seed_text("GIF89a\x04\x04");
    fuzz_seed_text("P6\n2 2\n255\n123456789012");
    fuzz_seed_text("RIFF\x10\x10\x10\x10WEBPVP8 ");
}

const fuzz_target fuzz_darknet_targets[] = {{"cfg", run_cfg, seeds_cfg},
                                            {"weights", run_weights, seeds_weights},
                                            {"data", run_data, seeds_data},
                                            {"tree", run_tree, seeds_tree},
                                            {"picture", run_picture, seeds_picture},
                                            {NULL, NULL, NULL}};
