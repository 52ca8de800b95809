/* SPDX-License-Identifier: MIT */
/*
 * Which kernel `cl` chooses, for devices and shapes that are written here. Needs no device.
 *
 *   test_cl_choice
 */
#include "cl/choice.h"
#include "gemm_cl.h"
#include "support/report.h"

#include <stddef.h>

/* ---- Winograd's algorithm on CPUs ---- */

/* For which devices and layers it is taken. */
static void test_winograd_choice(void)
{
    static const struct {
        const char *name;
        bool cpu;
        int vector, batch, c, n, side, least, most;     /* the last two: of m */
    } cases[] = {{"cpu", true, 8, 1, 256, 512, 26, 2, 4},
                 {"vector-16", true, 16, 1, 256, 512, 26, 2, 4},
                 {"batch", true, 8, 8, 256, 512, 26, 2, 4},
                 {"gpu", false, 8, 1, 256, 512, 26, 0, 0},
                 {"few-channels", true, 8, 1, 7, 512, 26, 0, 0},
                 {"few-filters", true, 8, 1, 512, 7, 26, 0, 0},
                 {"small-map", true, 8, 1, 512, 512, 2, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char name[64];
        const gemm_cl_traits device = {.cpu = cases[i].cpu, .vector = cases[i].vector};
        const conv_call c = {.batch = cases[i].batch, .c = cases[i].c, .n = cases[i].n,
                             .out_h = cases[i].side, .out_w = cases[i].side};
        const gemm_cl_row *row = gemm_cl_choose_winograd(&device, &c);
        const int m = row ? row->winograd : 0;
        snprintf(name, sizeof name, "cl-winograd-choice-%s", cases[i].name);
        report_right(name, m >= cases[i].least && m <= cases[i].most, "m is %d", m);
    }
}

/* ---- cl_direct ---- */

static const gemm_cl_traits shared = {.unified = true, .images = true, .units = 12, .group = 1024};
static const gemm_cl_traits none = {.unified = true, .units = 4, .group = 256};
static const gemm_cl_traits own = {.images = true, .units = 132, .group = 1024};
static const gemm_cl_traits cpu = {.cpu = true, .unified = true, .units = 4, .vector = 8};

#define LAYER(groups_, c_, n_, size_, stride_, pad_, side) \
    {.batch = 1, .groups = groups_, .c = c_, .n = n_, .size = size_, .stride = stride_, \
     .pad = pad_, .h = side, .w = side, .out_h = (side - 1) / stride_ + 1, \
     .out_w = (side - 1) / stride_ + 1}
static const conv_call layer = LAYER(1, 64, 128, 3, 1, 1, 52);
static const conv_call half = LAYER(1, 64, 128, 3, 2, 1, 52);
static const conv_call wide = LAYER(1, 64, 128, 3, 1, 2, 52);
static const conv_call grouped = LAYER(2, 64, 128, 3, 1, 1, 52);
static const conv_call depthwise = LAYER(64, 64, 64, 3, 1, 1, 52);
static const conv_call point = LAYER(1, 256, 128, 1, 1, 0, 13);
static conv_call logistic = LAYER(1, 64, 128, 3, 1, 1, 52);
static conv_call pooled = LAYER(1, 256, 128, 1, 1, 0, 13);
static const conv_call few = LAYER(1, 64, 7, 3, 1, 1, 26);
static const conv_call small = LAYER(1, 512, 512, 3, 1, 1, 1);
static const conv_call large = LAYER(1, 64, 64, 7, 2, 3, 56);
static const conv_call deep = LAYER(1, 512, 1024, 3, 1, 1, 13);
static const conv_call narrow = LAYER(1, 1024, 64, 3, 1, 1, 13);
static const conv_call huge = LAYER(1, 1 << 17, 64, 3, 1, 1, 128);
static const conv_call five = LAYER(1, 96, 256, 5, 1, 2, 27);
static const conv_call five_half = LAYER(1, 96, 256, 5, 2, 2, 27);

/* For which devices and layers it is taken, and into how many parts it cuts K. */
static const struct {
    const char *name;
    const gemm_cl_traits *device;
    const conv_call *call;
    const gemm_cl_row *asked;
    int choice, parts;          /* choice -1: another kernel */
} direct_cases[] = {
    {"3x3", &shared, &layer, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"without-images", &none, &layer, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"gpu-on-a-bus", &own, &layer, &gemm_cl_best, -1, 1},
    {"cpu", &cpu, &layer, &gemm_cl_best, -1, 1},
    {"asked", &cpu, &layer, &gemm_cl_direct, GEMM_CL_DIRECT_8, 1},
    {"stride-2", &shared, &half, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"1x1", &shared, &point, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"1x1-pooled", &shared, &pooled, &gemm_cl_direct, -1, 1},
    {"5x5", &shared, &five, &gemm_cl_best, GEMM_CL_DIRECT_4, 1},
    {"5x5-stride-2", &shared, &five_half, &gemm_cl_direct, -1, 1},
    {"7x7", &shared, &large, &gemm_cl_direct, -1, 1},
    {"wide-pad", &shared, &wide, &gemm_cl_direct, -1, 1},
    {"small-map", &shared, &small, &gemm_cl_direct, -1, 1},
    {"elements-past-an-int", &shared, &huge, &gemm_cl_direct, -1, 1},
    {"few-filters", &shared, &few, &gemm_cl_best, -1, 1},
    {"few-filters-asked", &shared, &few, &gemm_cl_direct, GEMM_CL_DIRECT_8, 1},
    {"deep", &shared, &deep, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"few-items", &shared, &narrow, &gemm_cl_best, GEMM_CL_DIRECT_8, 6},
    {"depthwise", &shared, &depthwise, &gemm_cl_best, GEMM_CL_DIRECT_1, 1},
    {"depthwise-cpu", &cpu, &depthwise, &gemm_cl_best, -1, 1},
    {"depthwise-16-bits", &shared, &depthwise, &gemm_cl_half, -1, 1},
    {"image", &shared, &layer, &gemm_cl_direct_image, GEMM_CL_DIRECT_IMAGE, 1},
    {"image-5x5", &cpu, &five, &gemm_cl_direct_image, GEMM_CL_DIRECT_4, 1},
    {"16-bits", &shared, &half, &gemm_cl_half, GEMM_CL_DIRECT_HALF, 1},
    {"16-bits-5x5", &shared, &five, &gemm_cl_half, -1, 1},
    {"16-bits-1x1", &shared, &point, &gemm_cl_half, -1, 1},
    {"16-bits-cpu", &cpu, &layer, &gemm_cl_half, -1, 1},
    {"winograd", &shared, &layer, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-cpu", &cpu, &layer, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-on-a-bus", &own, &layer, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-groups", &shared, &grouped, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-logistic", &shared, &logistic, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_8, 1},
    {"winograd-stride-2", &shared, &half, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_8, 1},
    {"winograd-1x1", &own, &point, &gemm_cl_direct_winograd, -1, 1},
    {"winograd-depthwise", &shared, &depthwise, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_1, 1},
};

static void test_direct_choice(void)
{
    logistic.activation = CONV_LOGISTIC;
    pooled.pool = true;
    for (size_t i = 0; i < sizeof direct_cases / sizeof *direct_cases; ++i) {
        char name[64];
        int parts = 1;
        const gemm_cl_row *row = gemm_cl_choose_direct(
            direct_cases[i].device, direct_cases[i].call, direct_cases[i].asked, &parts);
        const int choice = row ? (int)(row - gemm_cl_direct_choices) : -1;
        snprintf(name, sizeof name, "cl-direct-choice-%s", direct_cases[i].name);
        report_right(name, choice == direct_cases[i].choice && parts == direct_cases[i].parts,
                     "choice %d, parts %d", choice, parts);
    }
}

/* ---- tiles ---- */

/* Which tile of cl_image `cl` takes, by model and by shape. */
static void test_image_rules(void)
{
    static const struct {
        const char *name;
        int model, M, N, choice;
    } cases[] = {
        {"A740-large", 740, 128, 4096, GEMM_CL_IMAGE_8x8},
        {"A740-small", 740, 128, 300, GEMM_CL_IMAGE_8x4},
        {"A830-large", 830, 1024, 1024, GEMM_CL_IMAGE_8x8},
        {"A640-large", 640, 128, 4096, GEMM_CL_IMAGE_8x4},
        {"A610-large", 610, 128, 4096, GEMM_CL_IMAGE_4x4},
        {"A618-small", 618, 8, 10, GEMM_CL_IMAGE_4x4},
        {"A530", 530, 128, 4096, GEMM_CL_IMAGE_8x4},
        {"A702", 702, 1024, 4096, GEMM_CL_IMAGE_8x4},
        {"later", 905, 1024, 4096, GEMM_CL_IMAGE_8x4},
        {"no-Adreno", 0, 128, 4096, GEMM_CL_IMAGE_8x4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const gemm_cl_traits d = {.unified = true, .images = true, .units = 2, .group = 256,
                                  .local = 32768, .adreno = cases[i].model};
        const gemm_call g = {.M = cases[i].M, .N = cases[i].N, .K = 64};
        char name[64];
        int parts;
        const gemm_cl_row *row = gemm_cl_choose(&d, &g, &parts);
        snprintf(name, sizeof name, "cl-tile-%s", cases[i].name);
        report_right(name, row == &gemm_cl_choices[cases[i].choice], "%s %dx%d", row->kernel,
                     row->rows, row->cols);
    }
}

static const gemm_cl_row *choice_or_null(int choice)
{
    return choice < 0 ? NULL : &gemm_cl_choices[choice];
}

/* Which tile of cl_tile `cl` takes on a desktop GPU: for a 1x1 layer of this M, N and K, and for it
   and the depthwise layer before it (-1: two launches). */
static void test_tile_rules(void)
{
    static const struct {
        int M, N, K, one, chain, parts;
    } cases[] = {
        {8, 25600, 16, GEMM_CL_TILE_16x128, GEMM_CL_TILE_16x128, 1},
        {16, 6400, 64, GEMM_CL_SLICED_16x32, GEMM_CL_SLICED_16x32, 1},
        {32, 1600, 192, GEMM_CL_SLICED_32x16, GEMM_CL_SLICED_32x16, 1},
        {48, 400, 272, GEMM_CL_SLICED_16x16, GEMM_CL_SLICED_64x8, 1},
        {96, 100, 448, GEMM_CL_SLICED_16x16, GEMM_CL_SLICED_64x8, 1},
        {193, 100, 448, GEMM_CL_SLICED_16x16, -1, 1},       /* four tiles high */
        {192, 1600, 32, GEMM_CL_TILE_32x64_DEEP, -1, 1},
        {255, 400, 144, GEMM_CL_SLICED_64x16, -1, 1},
        {64, 10816, 288, GEMM_CL_TILE_64x64, GEMM_CL_TILE_64x64, 1},
        {64, 2704, 2880, GEMM_CL_TILE_64x64, -1, 9},
        {128, 2704, 576, GEMM_CL_TILE_64x64, -1, 4},        /* 86 groups for 132 units */
        {128, 4096, 1152, GEMM_CL_TILE_64x64, -1, 3},       /* 128 groups */
        {128, 4288, 1152, GEMM_CL_TILE_64x64, -1, 1},       /* 134 groups */
        {128, 2704, 300, GEMM_CL_TILE_64x64, -1, 2},
        {512, 169, 2304, GEMM_CL_TILE_64x64, -1, 16}};
    const gemm_cl_traits d = {.units = 132, .group = 1024, .local = 49152};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const gemm_call g = {.M = cases[i].M, .N = cases[i].N, .K = cases[i].K};
        const conv_call pair[] = {
            {1, g.K, g.K, 1, g.N, g.K, 3, 1, 1, 1, g.N, .shift = NULL},
            {1, 1, g.K, 1, g.N, g.M, 1, 1, 0, 1, g.N, .shift = NULL}};
        char name[64];
        int parts;
        const gemm_cl_row *one = gemm_cl_choose_conv(&d, &g, 1, &parts);
        const gemm_cl_row *chain = gemm_cl_choose_chain(&d, &gemm_cl_best, pair, &g);
        snprintf(name, sizeof name, "cl-tile-%dx%dx%d", g.M, g.N, g.K);
        const bool right = one == choice_or_null(cases[i].one) && parts == cases[i].parts &&
                           chain == choice_or_null(cases[i].chain);
        report_right(name, right, "choice %td, chain: %td, parts %d", one - gemm_cl_choices,
                     chain ? chain - gemm_cl_choices : -1, parts);
    }
}

int main(void)
{
    test_winograd_choice();
    test_direct_choice();
    test_image_rules();
    test_tile_rules();
    return report_status();
}
