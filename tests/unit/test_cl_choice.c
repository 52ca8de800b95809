/* SPDX-License-Identifier: MIT */
/*
 * Which kernel `cl` chooses, and which forms it would measure and take, for devices, shapes and
 * times that are written here. Needs no device.
 *
 *   test_cl_choice
 */
#include "cl/configure.h"
#include "cl/op/ways.h"
#include "common/random.h"
#include "gemm_cl.h"
#include "op/op.h"
#include "support/report.h"
#include "tune/turns.h"

#include <math.h>
#include <stddef.h>

/* ---- devices and layers ---- */

static const gemm_cl_traits adreno = {.unified = true, .images = true, .units = 12, .vector = 4,
                                      .group = 1024, .local = 32768, .is_adreno = true,
                                      .adreno = 830, .half_images = true, .image_width = 16384,
                                      .image_height = 16384};
static const gemm_cl_traits desktop = {.images = true, .units = 132, .vector = 1, .group = 1024,
                                       .local = 49152};
static const gemm_cl_traits cpu = {.cpu = true, .unified = true, .images = true, .units = 2,
                                   .vector = 8, .group = 4096, .local = 1 << 20};

static const gemm_cl_traits none = {.unified = true, .units = 4, .group = 256};

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

static const gemm_kept plan = {.room = SIZE_MAX};

static void list(const gemm_cl_traits *d, const conv_call *c, const gemm_cl_row *asked,
                 gemm_cl_offers *l)
{
    static gemm_cl_op op;
    op = gemm_cl_conv_op(d, c, asked);
    op.plan = &plan;
    gemm_cl_list(&op, l);
}

/* The first offer for the layer that nothing speaks against, if it is of this way, or NULL. */
static const gemm_cl_offer *first_offer(const gemm_cl_traits *d, const conv_call *c,
                                        const gemm_cl_row *asked, const char *way)
{
    static gemm_cl_offers l;
    const gemm_cl_offer *o = l.list;
    list(d, c, asked, &l);
    while (o < l.list + l.count && (o->refused || o->is_smaller)) ++o;
    return o == l.list + l.count || strncmp(o->way, way, strlen(way)) ? NULL : o;
}

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
        const int side = cases[i].side;
        const gemm_cl_traits device = {.cpu = cases[i].cpu, .vector = cases[i].vector, .units = 2,
                                       .group = 4096, .local = 1 << 20};
        const conv_call c = {.batch = cases[i].batch, .groups = 1, .c = cases[i].c, .h = side,
                             .w = side, .n = cases[i].n, .size = 3, .stride = 1, .pad = 1,
                             .out_h = side, .out_w = side};
        const gemm_cl_offer *o = first_offer(&device, &c, &gemm_cl_best, "winograd");
        const int m = o ? o->row->winograd : 0;
        snprintf(name, sizeof name, "cl-winograd-choice-%s", cases[i].name);
        report_right(name, m >= cases[i].least && m <= cases[i].most, "m is %d", m);
    }
}

/* ---- cl_direct ---- */

/* For which devices and layers it is taken, and into how many parts it cuts K. */
static const struct {
    const char *name;
    const gemm_cl_traits *device;
    const conv_call *call;
    const gemm_cl_row *asked;
    int choice, parts;          /* choice -1: another kernel */
} direct_cases[] = {
    {"3x3", &adreno, &layer, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"without-images", &none, &layer, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"gpu-on-a-bus", &desktop, &layer, &gemm_cl_best, -1, 1},
    {"cpu", &cpu, &layer, &gemm_cl_best, -1, 1},
    {"asked", &cpu, &layer, &gemm_cl_direct, GEMM_CL_DIRECT_8, 1},
    {"stride-2", &adreno, &half, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"1x1", &adreno, &point, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"1x1-pooled", &adreno, &pooled, &gemm_cl_direct, -1, 1},
    {"5x5", &adreno, &five, &gemm_cl_best, GEMM_CL_DIRECT_4, 1},
    {"5x5-stride-2", &adreno, &five_half, &gemm_cl_direct, -1, 1},
    {"7x7", &adreno, &large, &gemm_cl_direct, -1, 1},
    {"wide-pad", &adreno, &wide, &gemm_cl_direct, -1, 1},
    {"small-map", &adreno, &small, &gemm_cl_direct, -1, 1},
    {"elements-past-an-int", &adreno, &huge, &gemm_cl_direct, -1, 1},
    {"few-filters", &adreno, &few, &gemm_cl_best, -1, 1},
    {"few-filters-asked", &adreno, &few, &gemm_cl_direct, GEMM_CL_DIRECT_8, 1},
    {"deep", &adreno, &deep, &gemm_cl_best, GEMM_CL_DIRECT_8, 1},
    {"few-items", &adreno, &narrow, &gemm_cl_best, GEMM_CL_DIRECT_8, 6},
    {"depthwise", &adreno, &depthwise, &gemm_cl_best, GEMM_CL_DIRECT_1, 1},
    {"depthwise-cpu", &cpu, &depthwise, &gemm_cl_best, -1, 1},
    {"depthwise-16-bits", &adreno, &depthwise, &gemm_cl_half, -1, 1},
    {"image", &adreno, &layer, &gemm_cl_direct_image, GEMM_CL_DIRECT_IMAGE, 1},
    {"image-5x5", &cpu, &five, &gemm_cl_direct_image, GEMM_CL_DIRECT_4, 1},
    {"16-bits", &adreno, &half, &gemm_cl_half, GEMM_CL_DIRECT_HALF, 1},
    {"16-bits-5x5", &adreno, &five, &gemm_cl_half, -1, 1},
    {"16-bits-1x1", &adreno, &point, &gemm_cl_half, -1, 1},
    {"16-bits-cpu", &cpu, &layer, &gemm_cl_half, -1, 1},
    {"winograd", &adreno, &layer, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-cpu", &cpu, &layer, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-on-a-bus", &desktop, &layer, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-groups", &adreno, &grouped, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-logistic", &adreno, &logistic, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
    {"winograd-stride-2", &adreno, &half, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_8, 1},
    {"winograd-1x1", &desktop, &point, &gemm_cl_direct_winograd, -1, 1},
    {"winograd-depthwise", &adreno, &depthwise, &gemm_cl_direct_winograd, GEMM_CL_DIRECT_1, 1},
};

static void test_direct_choice(void)
{
    logistic.activation = CONV_LOGISTIC;
    pooled.pool = true;
    for (size_t i = 0; i < sizeof direct_cases / sizeof *direct_cases; ++i) {
        char name[64];
        const gemm_cl_offer *o = first_offer(direct_cases[i].device, direct_cases[i].call,
                                             direct_cases[i].asked, "direct");
        const int choice = o ? (int)(o->row - gemm_cl_choices) : -1;
        const int parts = o ? o->parts : 1;
        snprintf(name, sizeof name, "cl-direct-choice-%s", direct_cases[i].name);
        report_right(name, choice == direct_cases[i].choice && parts == direct_cases[i].parts,
                     "choice %d, parts %d", choice, parts);
    }
}

/* ---- GEMM_WAY ---- */

/* Each way, for which layer and where it is first, with its kernel. A layer that lacks it goes as
   usual. */
static void test_ways(void)
{
    static const conv_call dots = {.batch = 1, .groups = 1, .c = 256, .n = 64, .h = 1, .w = 1,
                                   .size = 1, .stride = 1, .out_h = 1, .out_w = 1};
    static const struct {
        const char *way;
        const conv_call *takes, *lacks;
        const char *on_cpu, *on_bus;    /* kernels */
    } cases[] = {{"gemv", &dots, &layer, "cl_gemv", "cl_gemv"},
                 {"direct", &layer, &large, "cl_direct", "cl_direct"},
                 {"direct_image", &layer, &large, "cl_direct", "cl_direct"},
                 {"direct_winograd", &layer, &half, "cl_direct", "cl_direct"},
                 {"winograd2", &layer, &half, "cl_winograd", "cl_tile"},
                 {"winograd4", &layer, &half, "cl_winograd", "cl_tile"},
                 {"tile", &layer, NULL, "cl_conv_wide", "cl_tile"}};
    enum { WAYS = sizeof cases / sizeof *cases };
    for (int i = 0; i < WAYS; ++i) {
        bool right = gemm_cl_way(i) && !strcmp(gemm_cl_way(i), cases[i].way);
        for (int bus = 0; bus < 2; ++bus) {
            gemm_cl_traits d = bus ? desktop : cpu;
            d.image_width = d.image_height = 16384;
            gemm_cl_row row = gemm_cl_best;
            row.way = cases[i].way;
            const gemm_cl_offer *o = first_offer(&d, cases[i].takes, &row, row.way);
            right = right && o && !strcmp(o->row->family->kernel,
                                          bus ? cases[i].on_bus : cases[i].on_cpu);
            right = right && (!cases[i].lacks || !first_offer(&d, cases[i].lacks, &row, row.way));
        }
        report_right(cases[i].way, right, "another way is first");
    }
    report_right("ways", !gemm_cl_way(WAYS), "there are more");
    gemm_cl_row other = gemm_cl_best;
    gemm_cl_offers l;
    other.way = "implicit";
    list(&cpu, &layer, &other, &l);
    report_right("way-of-packed", l.list[0].refused && !strcmp(l.list[0].way, other.way),
                 "the list does not name it");
}

/* ---- the list ---- */

/* Whether an offer that may run needs images, or images of 16 bits. */
static bool needs_images(const gemm_cl_offers *l, bool half)
{
    for (int i = 0; i < l->count; ++i) {
        const gemm_cl_row *row = l->list[i].row;
        if (!row || l->list[i].refused) continue;
        if (half ? row->half : row->texture || row->family->kind == GEMM_CL_IMAGE) return true;
    }
    return false;
}

/* What a device lacks is not offered. A row of 16 bits that the user named is: its build fails. */
static void test_lacks(void)
{
    const gemm_cl_row *const asked[] = {&gemm_cl_best, &gemm_cl_direct_image};
    gemm_cl_traits narrow = adreno, bare = adreno;
    gemm_cl_offers l;
    narrow.half_images = false;
    bare.images = bare.half_images = false;
    for (int i = 0; i < 2; ++i) {
        list(&adreno, &layer, asked[i], &l);
        const bool with = needs_images(&l, false);
        list(&bare, &layer, asked[i], &l);
        report_right(i ? "offers-images-named" : "offers-images",
                     with && !needs_images(&l, false), "with images: %d", with);
    }
    list(&adreno, &layer, &gemm_cl_half, &l);
    const int before = l.list[0].way ? l.count : 0;
    int refused = 0;
    list(&narrow, &layer, &gemm_cl_half, &l);
    for (int i = 0; i < l.count; ++i)
        refused += l.list[i].refused && l.list[i].row && l.list[i].row != &gemm_cl_half;
    report_right("offers-16-bits", before == l.count && refused == 1, "%d of %d", refused, l.count);
}

/* Without room for weights no way is offered that packs them. */
static void test_room(void)
{
    const gemm_cl_op op = gemm_cl_conv_op(&adreno, &layer, &gemm_cl_best);
    gemm_cl_offers l;
    int direct = 0, others = 0;
    gemm_cl_list(&op, &l);
    for (int i = 0; i < l.count; ++i) {
        const gemm_cl_offer *o = &l.list[i];
        if (!strcmp(o->way, "direct")) direct += o->refused && !strcmp(o->refused, "no room");
        else others += !o->refused;
    }
    report_right("offers-room", direct == 1 && others, "%d without room, %d others", direct,
                 others);
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
        report_right(name, row == &gemm_cl_choices[cases[i].choice], "%s %dx%d",
                     row->family->kernel, row->rows, row->cols);
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
        const gemm_cl_row *chain = gemm_cl_choose_chain(&d, &gemm_cl_best, &pair[0],
                                                        &pair[1], &g);
        snprintf(name, sizeof name, "cl-tile-%dx%dx%d", g.M, g.N, g.K);
        const bool right = one == choice_or_null(cases[i].one) && parts == cases[i].parts &&
                           chain == choice_or_null(cases[i].chain);
        report_right(name, right, "choice %td, chain: %td, parts %d", one - gemm_cl_choices,
                     chain ? chain - gemm_cl_choices : -1, parts);
    }
}

/* ---- forms as text ---- */

static const gemm_cl_row *row_at(size_t n, char text[GEMM_CL_FORM_TEXT])
{
    const gemm_cl_row *row = n < GEMM_CL_CHOICES ? &gemm_cl_choices[n] : NULL;
    const gemm_cl_form form = {row, 1, 0};
    if (row) gemm_cl_form_print(&form, text);
    return row;
}

static bool are_alike(const gemm_cl_row *a, const gemm_cl_row *b)
{
    return !strcmp(a->family->kernel, b->family->kernel) && !strcmp(a->defines, b->defines);
}

/* Every row in single precision is found by its name, and no other program has that. */
static void test_names(void)
{
    const gemm_cl_row *row;
    char text[GEMM_CL_FORM_TEXT];
    gemm_cl_form form;
    for (size_t i = 0; (row = row_at(i, text)); ++i) {
        const bool conv = row->family->conv != GEMM_CL_NO_CONV;
        const bool found = gemm_cl_form_parse(text, strlen(text), conv, &form);
        if (row->half) {
            if (found && form.row == row) report_fail("form-half", "%s is a form", text);
        } else if (!found || !are_alike(form.row, row)) {
            report_fail("form-name", "%s %s", text, found ? "is another row" : "is not found");
        }
    }
    report_pass("form-names");
}

static void expect_form(const char *text, bool conv, bool wanted)
{
    gemm_cl_form form;
    char name[128], again[GEMM_CL_FORM_TEXT] = "";
    snprintf(name, sizeof name, "form-%s", text);
    const bool found = gemm_cl_form_parse(text, strlen(text), conv, &form);
    if (found) gemm_cl_form_print(&form, again);
    report_right(name, found == wanted && (!found || !strcmp(again, text)), "%s, printed as '%s'",
                 found ? "taken" : "refused", again);
}

static void test_texts(void)
{
    static const struct {
        const char *text;
        bool conv, right;
    } cases[] = {
        {"default", true, true},
        {"cl_direct 8x4 64x1 image group 32 parts 2", true, true},
        {"cl_tile 8x4 16x8 k16 parts 64", false, true},
        {"cl_tile 8x4 16x8 k16 parts 65", false, false},
        {"cl_tile 8x4 16x8 k16 parts 0", false, false},
        {"cl_tile 8x4 16x8 k16 parts 1", false, false},         /* it is not printed so */
        {"cl_tile 8x4 16x8 k16 group 8", false, false},         /* its groups are fixed */
        {"cl_tile 4x4 4x8 k64 slices 8 parts 2", false, false}, /* it does not split */
        {"cl_tile 8x4 16x8 k16 m4", true, true},
        {"cl_tile 8x4 16x8 k16 m4", false, false},              /* it does not multiply */
        {"cl_tile 8x4 16x8 k16 m4 parts 2", true, false},
        {"cl_direct 8x4 64x1 group 65", true, false},
        {"cl_direct 8x4 64x1 parts 2 group 32", true, false},
        {"cl_direct 8x4 64x1", false, false},                   /* it does not multiply */
        {"cl_direct 8x4 64x1 ", true, false},
        {"cl_direct", true, false},
        {"", true, false},
        {"cl_naive 1x1 1x1", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        expect_form(cases[i].text, cases[i].conv, cases[i].right);
}

/* ---- candidates ---- */

/* Whether a form of this list has such a name, or begins with it. */
static bool has_form(const gemm_cl_form *forms, int count, const char *name)
{
    char text[GEMM_CL_FORM_TEXT];
    for (int i = 0; i < count; ++i) {
        gemm_cl_form_print(&forms[i], text);
        if (!strncmp(text, name, strlen(name))) return true;
    }
    return false;
}

static void expect_candidate(const gemm_cl_traits *d, const conv_call *c, const char *name,
                             bool wanted)
{
    gemm_cl_form forms[GEMM_CL_FORMS];
    const gemm_call g = {.M = 64, .N = 169, .K = 576, .ALPHA = 1};
    const gemm_op op = c ? gemm_op_of_conv(c) : gemm_op_of_multiply(&g);
    const int count = gemm_cl_forms(d, &op, forms);
    char title[128];
    snprintf(title, sizeof title, "candidates-%s-%s-%s-%d", d->cpu ? "cpu" : "gpu",
             c ? "conv" : "multiply", name, d->units);
    report_right(title, count > 1 - !c && count < GEMM_CL_FORMS &&
                 has_form(forms, count, name) == wanted, "%d candidates, this one is %s", count,
                 wanted ? "missing" : "there");
}

static void test_candidates(void)
{
    const conv_call c = LAYER(1, 64, 64, 3, 1, 1, 52);
    conv_call wide = c, depthwise = c, few = c, flat = c;
    gemm_cl_traits small = adreno, discrete = desktop;
    wide.size = 5, wide.pad = 2;
    depthwise.groups = 64;
    few.c = 32;
    flat.h = flat.w = flat.out_h = flat.out_w = 13;     /* 16 tiles of 4x4 are few for 64 columns */
    small.local = 1024;
    discrete.images = false;
    expect_candidate(&adreno, &c, "cl_tile", true);     /* B in local memory */
    expect_candidate(&small, &c, "cl_tile", false);
    expect_candidate(&adreno, &c, "cl_image 8x8", true);
    expect_candidate(&adreno, &c, "cl_direct 8x4 64x1", true);
    expect_candidate(&adreno, &c, "cl_direct 8x4 64x1 image", true);
    expect_candidate(&adreno, &c, "cl_direct 1x4", false);
    expect_candidate(&adreno, &c, "cl_conv_wide", false);
    expect_candidate(&adreno, &c, "cl_gemv", false);
    expect_candidate(&adreno, &wide, "cl_direct 4x4", true);
    expect_candidate(&adreno, &wide, "cl_direct 8x4", false);
    expect_candidate(&adreno, &depthwise, "cl_direct 1x4", true);
    expect_candidate(&adreno, NULL, "cl_tile", true);
    expect_candidate(&adreno, NULL, "cl_direct", false);
    expect_candidate(&desktop, &c, "cl_image", false);
    expect_candidate(&desktop, &c, "cl_tile 8x4 16x8 k16 m4", true);
    expect_candidate(&desktop, &c, "cl_tile 4x4 16x8 k16 m2", true);
    expect_candidate(&desktop, &few, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&desktop, &flat, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&desktop, &flat, "cl_tile 8x4 16x8 k16 m2", true);
    expect_candidate(&desktop, NULL, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&adreno, &c, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&cpu, &c, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&desktop, &c, "cl_direct 8x4 64x1 image", true);
    expect_candidate(&discrete, &c, "cl_direct 8x4 64x1 image", false);
    expect_candidate(&cpu, &c, "cl_conv_wide 6x16", true);
    expect_candidate(&cpu, &c, "cl_conv_wide 1x16", false);
    expect_candidate(&cpu, &c, "cl_conv_wide 8x32", false);
    expect_candidate(&cpu, &c, "cl_winograd 6x16 1x1 m2", true);
    expect_candidate(&cpu, &wide, "cl_winograd", false);
    expect_candidate(&cpu, &c, "cl_direct 8x4 64x1", true);
    expect_candidate(&cpu, &c, "cl_direct 8x4 64x1 image", false);
    expect_candidate(&cpu, &c, "cl_tile", false);
    expect_candidate(&cpu, NULL, "cl_wide 6x16", true);
}

static void test_near(void)
{
    const conv_call c = LAYER(1, 64, 64, 3, 1, 1, 13);
    const gemm_op op = gemm_op_of_conv(&c);
    const gemm_cl_form base = {&gemm_cl_choices[GEMM_CL_DIRECT_8], 2, 0};
    gemm_cl_form forms[GEMM_CL_FORMS];
    const int count = gemm_cl_forms_near(&op, &base, forms);
    const bool right = count == 4 && forms[0].parts == 1 && forms[1].parts == 4 &&
                       forms[2].group == 32 && forms[3].group == 16 && forms[3].parts == 2;
    report_right("near-forms", right, "%d forms", count);
}

/* ---- the decision ---- */

static void test_decisions(void)
{
    static const struct {
        double ms[3], spread;
        int winner;
    } cases[] = {{{10, 9.95, 12}, 0, 0}, {{10, 9.8, 12}, 0, 1},  {{10, 9.2, 12}, .1, 0},
                 {{10, 8.5, 12}, .1, 1}, {{10, 8.5, 8.4}, .1, 2}, {{10, -1, -1}, 0, 0},
                 {{10, -1, 5}, 0, 2},    {{10, 8.9, 8.95}, .1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char name[32];
        snprintf(name, sizeof name, "decision-%zu", i);
        const int winner = gemm_decide(cases[i].ms, 3, cases[i].spread);
        report_right(name, winner == cases[i].winner, "%d and not %d", winner, cases[i].winner);
    }
}

/* What won must win again, in all rounds but one. */
static void test_confirm(void)
{
    static const struct {
        double parts[7];
        bool stays;
    } cases[] = {{{.9, .98, .97, .9, .8, .98, .95}, true},
                 {{.9, .98, .97, 3, .8, .98, .95}, true},           /* something else ran */
                 {{.9, 1.2, .97, 3, .8, .98, .95}, false},
                 {{.995, .995, .995, .995, .995, .995, .995}, false},
                 {{.5, .5, .5, .5, .5, .995, .995}, false},
                 {{1, 1, 1, 1, 1, 1, 1}, false},
                 {{.5, .5, .5, -1, .5, .5, .5}, false}};            /* a turn failed */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        double parts[7];
        memcpy(parts, cases[i].parts, sizeof parts);
        if (gemm_confirm(parts, 7) != cases[i].stays) {
            report_fail("confirm", "case %zu", i);
            return;
        }
    }
    report_pass("confirm");
}

/* A clock that is late by up to `noise` of a form's time, and right in one of the turns. */
static double shortest_turn(rng *r, double ms, double noise)
{
    double best = INFINITY;
    for (int i = 0; i < 8; ++i) best = fmin(best, ms * (1 + noise * (rng_float(r) + 1) / 2));
    return rng_below(r, 2) ? ms : best;
}

/* Whatever the clock says, a form that is slower than the default never replaces it. */
static void test_clock(void)
{
    rng r = rng_make(3, 1);
    int wins = 0;
    for (int i = 0; i < 2000; ++i) {
        double truth[4], ms[4];
        for (int j = 0; j < 4; ++j) {
            truth[j] = 1 + .2 * rng_float(&r);
            ms[j] = j ? shortest_turn(&r, truth[j], .1) : truth[0] * (1 + .05 * !(i % 3));
        }
        /* The default's own turns were late by up to 5%, and its spread says so. */
        const int winner = gemm_decide(ms, 4, .05);
        wins += winner != 0;
        if (truth[winner] > truth[0]) {
            report_fail("decision-clock", "%g ms replaces %g", truth[winner], truth[0]);
            return;
        }
    }
    report_right("decision-clock", wins > 200, "only %d forms won", wins);
}

int main(void)
{
    test_winograd_choice();
    test_direct_choice();
    test_ways();
    test_lacks();
    test_room();
    test_image_rules();
    test_tile_rules();
    test_names();
    test_texts();
    test_candidates();
    test_near();
    test_decisions();
    test_confirm();
    test_clock();
    return report_status();
}
