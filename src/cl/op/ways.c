/* SPDX-License-Identifier: MIT */
/*
 * The ways of `cl`: see ways.h.
 *
 *   device                        multiply    convolution
 *   CPU                           cl_wide     winograd if its cost is less, or else cl_conv_wide
 *   GPU that shares its memory    cl_image    direct, or else cl_image
 *   other GPU                     cl_tile     cl_tile
 *   any                                       gemv, of filters as large as the image
 *
 * choice.c has the tiles. A row that the user named has no other way, and 16 bits have few.
 */
#include "cl/op/ways.h"

#include "../../../kernels/cl_strip.h"
#include "cl/configure.h"
#include "cl/device/program.h"
#include "util/winograd.h"

#include <math.h>

typedef gemm_cl_op op;
typedef gemm_cl_offers offers;

/* A way, and what GEMM_WAY calls it. */
typedef struct way {
    const char *name;
    void (*offer)(offers *, const struct way *);
    int choice;                 /* of `direct`: the kernel. Of `winograd`: m, or 0: the faster */
    enum { USUAL = 1, NAMED = 2 } use;  /* asked where none is named; GEMM_WAY names it */
    bool ends;                  /* where it only lacks what comes behind the convolution, that runs
                                   alone, and no other way is asked */
} way;

gemm_cl_op gemm_cl_conv_op(const gemm_cl_traits *d, const conv_call *c, const gemm_cl_row *asked)
{
    return (op){.traits = *d, .asked = asked, .way = asked->way, .conv = c, .in = c,
                .products = c->batch * c->groups,
                .taps = !gemm_conv_is_pointwise(c) || c->pool,
                .g = {.M = c->n / c->groups, .N = gemm_conv_places(c), .K = gemm_conv_taps(c),
                      .ALPHA = 1.0f}};
}

static bool is_named(const op *o)
{
    return !gemm_cl_chooses(o->asked);
}

/* Whether GEMM_WAY, or the row of the table, names the way. */
static bool is_asked(const op *o, const way *w)
{
    return o->way && (w->use & NAMED) && !is_named(o) && !strcmp(o->way, w->name);
}

/* ---- what a row can do ---- */

static const char no_sum[] = "it adds no shortcut", no_pool[] = "it does not pool",
                  no_room[] = "no room", no_image[] = "no image is large enough",
                  only_cpu[] = "for CPUs", no_filters[] = "not for these filters";

/* What the row cannot do behind the product, or NULL. cl_conv_wide keeps all of K in one strip to
   pool. */
static const char *lacks(const op *o, const gemm_cl_row *row)
{
    const gemm_cl_family *f = row->family;
    const bool strip = f->conv == GEMM_CL_ONLY_CONV && !row->winograd;
    if (o->adds && !gemm_cl_adds(row)) return no_sum;
    return o->conv->pool && (!f->pools || (strip && o->g.K > CL_KC)) ? no_pool : NULL;
}

/* Whether the plan has room for the weights as the row takes them. */
static bool has_room(const op *o, const gemm_cl_row *row, const gemm_cl_sizes *s)
{
    return o->plan && gemm_cl_kept_bytes(row, o->conv, s) <= o->plan->room;
}

static const char *lay_out_direct(const op *o, const gemm_cl_row *row, gemm_cl_sizes *s)
{
    const conv_call *c = o->conv;
    if (!gemm_cl_can_direct(c) || (row->winograd && !gemm_cl_can_transform(c))) return no_filters;
    s->packed = gemm_cl_pack_layout(row, c, o->traits.image_height);
    if (!s->packed.down || (row->texture && s->packed.width / 4 > o->traits.image_width))
        return no_image;
    return has_room(o, row, s) ? NULL : no_room;
}

/* Filters are transformed once. So a plan must keep them, unless the user named the row. */
static const char *lay_out_winograd(const op *o, const gemm_cl_row *row, gemm_cl_sizes *s)
{
    if (!gemm_cl_winograd_fits(&s->winograd, row, &o->traits, o->conv)) return no_filters;
    return row == o->asked || has_room(o, row, s) ? NULL : no_room;
}

/* All rows of B of all products in one image. A B that is the input as it lies is read there, in 32
   bits. But the kernel must not want 16 bits, and B must be as wide as a tile. */
static const char *lay_out_image(const op *o, const gemm_cl_row *row, gemm_cl_sizes *s)
{
    const gemm_cl_traits *d = &o->traits;
    const size_t pixels = (size_t)ceil_div(o->g.N, 4), widest = d->image_width / 2 * 2;
    const size_t strips = widest ? (pixels + widest - 1) / widest : 0;
    if (!o->taps && row->half != GEMM_CL_HALF_SUMS && o->g.N >= row->cols) return NULL;
    if (!strips || strips * (size_t)o->products > d->image_height / (size_t)o->g.K) return no_image;
    s->strips = (int)strips;
    /* Two neighbours, for a tile of 8 columns, are in the same row. */
    s->width = (int)round_up((pixels + strips - 1) / strips, 2);
    return NULL;
}

static const char *lay_out(const op *o, const gemm_cl_row *row, gemm_cl_sizes *s)
{
    if (row->winograd && row != o->asked && o->exact) return "fewer multiplications";
    if (row->family->direct) return lay_out_direct(o, row, s);
    if (row->winograd) return lay_out_winograd(o, row, s);
    return row->family->kind == GEMM_CL_IMAGE ? lay_out_image(o, row, s) : NULL;
}

const char *gemm_cl_lay_out(const op *o, const gemm_cl_row *row, gemm_cl_sizes *s)
{
    *s = (gemm_cl_sizes){.strips = 0};
    if (!row->family->conv) return "it does not convolve";
    if (row->family->one_column && !gemm_cl_choose_gemv(&o->traits, o->conv, row->half))
        return no_filters;
    const char *why = lay_out(o, row, s);
    s->has_room = !why && has_room(o, row, s);
    return why ? why : lacks(o, row);
}

/* ---- the list ---- */

static gemm_cl_offer *add(offers *l, gemm_cl_offer offer)
{
    assert(l->count < GEMM_CL_OFFERS);
    l->list[l->count] = offer;
    return &l->list[l->count++];
}

static void refuse(offers *l, const char *way, const char *why)
{
    add(l, (gemm_cl_offer){.way = way, .refused = why});
}

/* A row that suits the op. What the device lacks for a row of the user's, its build says. */
static gemm_cl_offer *offer(offers *l, const char *way, const gemm_cl_row *row, int parts,
                            gemm_cl_spill_use spills)
{
    const op *o = l->op;
    gemm_cl_sizes s;
    if (o->asked->parts) parts = o->asked->parts;
    if (!gemm_cl_splits(row)) parts = 1;
    const char *why = o->conv ? gemm_cl_lay_out(o, row, &s) : NULL;
    if (!why && row != o->asked) why = gemm_cl_limit(row, &o->traits);
    return add(l, (gemm_cl_offer){.way = way, .row = row, .parts = parts, .refused = why,
                                  .spills = spills});
}

static void offer_measured(offers *l, const way *w)
{
    const gemm_cl_form *form = l->op->form;
    if (!form || !form->row) return;
    offer(l, w->name, form->row, 1, GEMM_CL_SPILLED)->parts = form->parts;
}

/* The smallest tile of a chain adds in the order of the larger one. */
static void offer_chain(offers *l)
{
    const op *o = l->op;
    const gemm_cl_row *row = gemm_cl_choose_chain(&o->traits, o->asked, o->in, o->conv, &o->g);
    if (!row) {
        refuse(l, "chain", "two launches are better");
        return;
    }
    offer(l, "chain", row, 1, GEMM_CL_NEVER_SPILLED);
    if (row == &gemm_cl_choices[GEMM_CL_TILE_16x128])
        offer(l, "chain", &gemm_cl_tile_short, 1, GEMM_CL_NEVER_SPILLED)->is_smaller = true;
}

/* Layers of rows of 16 bits go there too. */
static void offer_gemv(offers *l, const way *w)
{
    const op *o = l->op;
    const gemm_cl_family *f = o->asked->family;
    if (!o->conv || (is_named(o) && (!o->asked->half || f->direct || f->one_column))) return;
    const gemm_cl_row *row = gemm_cl_choose_gemv(&o->traits, o->conv, o->asked->half);
    if (row) offer(l, w->name, row, 1, GEMM_CL_SPILLED_AT_LAST);
    else refuse(l, w->name, no_filters);
}

/* The kernel of cl_direct for a layer: the one of the way, where the layer has that one. */
static int direct_choice(const gemm_cl_row *asked, const conv_call *c, int choice)
{
    if (gemm_cl_is_depthwise(c)) return GEMM_CL_DIRECT_1;
    if (c->size > 3) return GEMM_CL_DIRECT_4;
    return asked->half ? GEMM_CL_DIRECT_HALF : choice;
}

/* Why cl_direct is not for a layer. A device that shares its memory would write an image of size^2
   times the input for cl_image. One with memory of its own has cl_tile, and a CPU has kernels with
   vectors. Of few filters most rows of a tile would be idle, except in a depthwise layer. Weights
   of 16 bits are for 3x3 layers. A 1x1 layer has 32 bits under cl_image too. */
static const char *why_not_direct(const op *o, const way *w)
{
    enum { LEAST_FILTERS = 8 };
    const conv_call *c = o->conv;
    const bool depthwise = gemm_cl_is_depthwise(c);
    if (!gemm_cl_can_direct(c) || (o->asked->half && (depthwise || c->size != 3)))
        return no_filters;
    if (w->choice == GEMM_CL_DIRECT_WINOGRAD && !gemm_cl_can_transform(c)) return no_filters;
    if (is_asked(o, w)) return NULL;
    if (o->traits.cpu || !o->traits.unified) return "for GPUs that share memory";
    return depthwise || o->g.M >= LEAST_FILTERS ? NULL : "few filters";
}

/* A launch costs an Adreno 19 us and more, in which an item computes some hundred steps of K. So
   only a long K is cut. No kernel for 5x5 layers takes an image, because it would spill registers,
   and none for depthwise layers does, because they have few weights. Layers of cl_half may have
   weights of 16 bits there. */
static void offer_direct(offers *l, const way *w)
{
    enum { SHORTEST = 1024 };
    const op *o = l->op;
    const gemm_cl_row *small = &gemm_cl_choices[GEMM_CL_DIRECT_4];
    if (!o->conv || (is_named(o) && o->asked->half != GEMM_CL_HALF_B)) return;
    const char *why = why_not_direct(o, w);
    if (why) {
        refuse(l, w->name, why);
        return;
    }
    const gemm_cl_row *row = &gemm_cl_choices[direct_choice(o->asked, o->conv, w->choice)];
    const double items = (double)gemm_cl_direct_blocks(o->conv) * ceil_div(o->g.M, row->rows);
    const int parts = gemm_cl_parts_of_items(items * o->products, 2 * o->traits.units, &o->g,
                                             SHORTEST);
    offer(l, w->name, row, parts, GEMM_CL_NEVER_SPILLED);
    if (is_asked(o, w) && !row->winograd && row->rows > small->rows)
        offer(l, w->name, small, parts, GEMM_CL_NEVER_SPILLED)->is_smaller = true;
}

/* By launches of its own. The costs were measured on CPUs (docs/log/opencl.md). Where both tiles
   pay, all layers take that of 4: a second one would compile three more kernels for a few percent.
   A GPU has it only by measuring, and by name. */
static void offer_winograd(offers *l, const way *w)
{
    if (!l->op->conv || is_named(l->op)) return;
    static const gemm_winograd_cost cost = {.element = {14, 18}, .bytes = 4};
    const gemm_cl_traits *d = &l->op->traits;
    const conv_call *c = l->op->conv;
    const gemm_winograd_layer layer = {.channels = c->c, .filters = c->n, .out_h = c->out_h,
                                       .out_w = c->out_w, .vector = d->vector,
                                       .together = {1, 1}};
    int m = w->choice ? w->choice : d->cpu ? gemm_winograd_fastest(&layer, &cost) : 0;
    if (!w->choice && m == 2 && gemm_winograd_ratio(&layer, &cost, 4) < 1) m = 4;
    if (!m) {
        refuse(l, w->name, d->cpu ? "slower" : only_cpu);
        return;
    }
    const int choice = d->cpu ? GEMM_CL_WINOGRAD + 2 * gemm_cl_vector_choice(d)
                              : GEMM_CL_POINTS_64x64_2;
    gemm_cl_offer *o = offer(l, m == 4 ? "winograd4" : "winograd2",
                             &gemm_cl_choices[choice + (m == 4)], 1, GEMM_CL_NEVER_SPILLED);
    if (d->cpu) o->cost = gemm_winograd_ratio(&layer, &cost, m);
}

/* The row that the user named, and smaller tiles of its kernel where it spills registers. */
static void offer_named(offers *l, const way *w)
{
    const gemm_cl_row *row = l->op->asked;
    if (!is_named(l->op)) return;
    offer(l, w->name, row, 1, GEMM_CL_NEVER_SPILLED);
    while ((row = row->instead) && row->family == l->op->asked->family)
        offer(l, w->name, row, 1, GEMM_CL_NEVER_SPILLED)->is_smaller = true;
}

static const gemm_cl_row *choose_tile(const op *o, const gemm_cl_traits *d, int *parts)
{
    return o->conv ? gemm_cl_choose_conv(d, &o->g, o->products, parts)
                   : gemm_cl_choose(d, &o->g, parts);
}

/* The tile for the shape, another one where no image is large enough, and what stands in for it. */
static void offer_tiles(offers *l, const way *w)
{
    const op *o = l->op;
    gemm_cl_traits without = o->traits;
    int parts;
    if (is_named(o)) return;
    const gemm_cl_row *row = choose_tile(o, &o->traits, &parts);
    const gemm_cl_offer *first = offer(l, w->name, row, parts, GEMM_CL_SPILLED_AT_LAST);
    if (first->refused == no_image) {
        without.images = false;
        row = choose_tile(o, &without, &parts);
        first = offer(l, w->name, row, parts, GEMM_CL_SPILLED_AT_LAST);
    }
    if (first->refused == no_sum || first->refused == no_pool) return;
    while ((row = row->instead) && (row->family->conv || !o->conv))
        offer(l, w->name, row, first->parts, GEMM_CL_SPILLED_AT_LAST);
}

/* ---- the table ---- */

static const way ways[] = {
    {"measured", offer_measured, 0, USUAL, false},  /* a form that was measured on this device */
    {"gemv", offer_gemv, 0, USUAL | NAMED, true},   /* filters as large as the image */
    {"direct", offer_direct, GEMM_CL_DIRECT_8, USUAL | NAMED, false},   /* the kernel reads the
                                                                           input itself */
    {"direct_image", offer_direct, GEMM_CL_DIRECT_IMAGE, NAMED, false},
    {"direct_winograd", offer_direct, GEMM_CL_DIRECT_WINOGRAD, NAMED, false},
    {"winograd", offer_winograd, 0, USUAL, true},   /* on a CPU, where it is fastest */
    {"winograd2", offer_winograd, 2, NAMED, true},
    {"winograd4", offer_winograd, 4, NAMED, true},
    {"named", offer_named, 0, USUAL, true},         /* the row that the user named */
    {"tile", offer_tiles, 0, USUAL | NAMED, true},  /* all others */
};
static const way *const end_of_ways = ways + sizeof ways / sizeof *ways;

const char *gemm_cl_way(int i)
{
    for (const way *w = ways; w < end_of_ways; ++w)
        if ((w->use & NAMED) && i-- == 0) return w->name;
    return NULL;
}

/* Offers the way. Whether no other one is asked behind it. */
static bool offer_last(offers *l, const way *w)
{
    w->offer(l, w);
    const char *why = l->count ? l->list[l->count - 1].refused : NULL;
    return (w->ends || is_asked(l->op, w)) && (why == no_sum || why == no_pool);
}

/* The way that is named comes first. Those of a chain have other bits. */
void gemm_cl_list(const op *o, offers *l)
{
    const way *named = ways;
    l->op = o;
    l->count = 0;
    l->why = "the OpenCL row has no kernel for it";
    while (named < end_of_ways && !is_asked(o, named)) ++named;
    if (o->in != o->conv) {
        if (named == end_of_ways) offer_chain(l);
        return;
    }
    if (o->way && named == end_of_ways && !is_named(o)) refuse(l, o->way, "no way of cl");
    if (named < end_of_ways && offer_last(l, named)) return;
    for (const way *w = ways; w < end_of_ways; ++w)
        if (w != named && (w->use & USUAL) && offer_last(l, w)) return;
}

/* ---- the walk ---- */

static void set_offer(gemm_cl_work *w, const offers *l, const gemm_cl_offer *o, bool spilled)
{
    w->row = o->row;
    w->parts = o->parts;
    w->form = o->spills == GEMM_CL_SPILLED ? l->op->form : NULL;
    w->takes_spills = spilled || w->form;
}

/* Whether only the build of the offer's program tells that the next one stands in for it. On a GPU
   with memory of its own, where a network has one such program: its second one takes as long. */
static bool may_be_smaller(const gemm_cl_work *w, const offers *l, const gemm_cl_offer *o)
{
    const bool last = o + 1 == l->list + l->count;
    return w->asks && w->program->foreseen && !w->device->traits.unified && !last &&
           o[1].is_smaller && !o[1].refused;
}

/* Tries the offers that nothing speaks against; or those again that spilled registers. Whether one
   is built. */
static bool try_all(gemm_cl_work *w, offers *l, gemm_cl_attempt *attempt, void *job, bool spilled)
{
    for (gemm_cl_offer *o = l->list; o < l->list + l->count; ++o) {
        const bool tile = o->spills == GEMM_CL_SPILLED_AT_LAST;
        const bool again = spilled && tile && gemm_cl_is_spilled(o->refused);
        if (spilled ? !again : o->refused || (o->is_smaller && !gemm_cl_is_spilled(o[-1].refused)))
            continue;
        set_offer(w, l, o, spilled);
        l->why = o->refused = attempt(job);
        if (!l->why && may_be_smaller(w, l, o)) {
            set_offer(w, l, o + 1, spilled);
            attempt(job);
            set_offer(w, l, o, spilled);
            attempt(job);
        }
        if (!l->why || gemm_cl_lacks()) return true;
        if (tile && gemm_cl_has_small_groups(w)) return false;
        if (!is_named(l->op) && gemm_cl_is_faulty(l->why)) gemm_cl_say_left_out(l->why);
    }
    return false;
}

/* Whether the groups of the kernel that was built last are too small, which was not known before.
   Then another choice is better than what stands in for its row. */
static bool learns_group(const gemm_cl_work *w, op *o)
{
    if (is_named(o) || !w->program || !gemm_cl_has_small_groups(w) ||
        w->program->group_items >= (size_t)o->traits.group)
        return false;
    o->traits.group = (int)w->program->group_items;
    return true;
}

/* For the trace, up to the offer that runs: "winograd4: 0.61 of the tiles". A fault was said where
   it was found, and has commas. */
static void weigh(const offers *l, char *text, size_t bytes)
{
    bool runs = false;
    text[0] = '\0';
    for (const gemm_cl_offer *o = l->list; !runs && o < l->list + l->count; ++o) {
        const char *why = gemm_cl_is_spilled(o->refused)  ? "it spills registers"
                          : gemm_cl_is_faulty(o->refused) ? "left out" : o->refused;
        runs = !why && !o->is_smaller;
        const bool measured = o->spills == GEMM_CL_SPILLED;
        if (why || o->cost > 0 || measured)
            gemm_append(text, bytes, "%s%s: ", *text ? "; " : "", o->way);
        if (why) gemm_append(text, bytes, "%s", why);
        else if (o->cost > 0) gemm_append(text, bytes, "%.2f of the tiles", o->cost);
        else if (measured) gemm_append(text, bytes, "the fastest form by the tuning table");
        else if (runs && !*text) gemm_append(text, bytes, "%s: asked first", o->way);
    }
}

const char *gemm_cl_walk(gemm_cl_work *w, op *o, gemm_cl_attempt *attempt, void *job, char *weighed,
                         size_t bytes)
{
    offers l;
    do {
        w->row = NULL;
        w->program = NULL;
        gemm_cl_list(o, &l);
        if (try_all(w, &l, attempt, job, false) || try_all(w, &l, attempt, job, true)) {
            weigh(&l, weighed, bytes);
            return NULL;
        }
    } while (learns_group(w, o));
    if (is_named(o) && (gemm_cl_is_spilled(l.why) || gemm_cl_is_faulty(l.why))) w->refused = l.why;
    return l.why;
}

/* ---- what is measured ---- */

/* Rows whose groups are one item are for CPUs: an item fills vectors, not a wave. */
static bool is_for_cpu(const gemm_cl_row *row)
{
    return row->wx == 1 && row->wy == 1;
}

/* What an op is for a kernel: one multiply with the columns of all products. */
static gemm_call product_of(const gemm_op *t)
{
    if (t->kind == GEMM_MULTIPLY) return *t->multiply;
    const conv_call *c = t->conv;
    return (gemm_call){.M = c->n / c->groups, .K = gemm_conv_taps(c),
                       .N = (int)fmin((double)gemm_conv_places(c) * c->batch * c->groups, 1 << 30)};
}

/* No kernel for 5x5 layers has 8 filters or an image, because it would spill registers. */
static bool suits_direct(const gemm_cl_row *row, const conv_call *c)
{
    if (!gemm_cl_can_direct(c) || (row->rows == 1) != gemm_cl_is_depthwise(c)) return false;
    return c->size <= 3 || (row->rows <= 4 && !row->texture);
}

static int height_of(const gemm_cl_row *row)
{
    return row->rows * max_int(row->wy, 1);
}

/* Of the rows of a kernel for CPUs those whose height wastes little: a tile takes the time of its
   rows, and that of one more for the vectors of B. */
static bool suits_cpu(const gemm_cl_traits *d, const gemm_cl_row *row, const gemm_call *g)
{
    const int vector = 16 >> gemm_cl_vector_choice(d);
    const double M = g->M, time = ceil_div(g->M, row->rows) * (row->rows + 1.0);
    if (row->family->direct) return !row->texture;
    if (!is_for_cpu(row)) return false;
    if (row->family->one_column) return true;
    return row->cols == 2 * vector && (!row->family->shares || time <= 1.3 * (M + 2));
}

/* Whether a tile in local memory fits in the device and is not twice as high as C. Sliced tiles are
   for a C of few groups. */
static bool suits_tile(const gemm_cl_traits *d, const gemm_cl_row *row, const gemm_call *g)
{
    enum { LOWEST = 16 };
    const bool few = (double)g->M * g->N < 4096.0 * d->units;
    if (!gemm_cl_fits_local(row, d)) return false;
    if (height_of(row) > LOWEST && height_of(row) >= 2 * g->M) return false;
    return few || !row->slices;
}

/* Winograd's algorithm by multiplies, where one of them has a long K and a tile is not mostly
   empty. Where memory is shared, three launches and their traffic cost more than they save. */
static bool suits_points(const gemm_cl_traits *d, const gemm_cl_row *row, const conv_call *c)
{
    enum { LEAST = 64 };
    const int m = row->winograd, tiles = ceil_div(c->out_w, m) * ceil_div(c->out_h, m);
    return !d->unified && gemm_cl_fits_local(row, d) && c->c >= LEAST && c->n >= LEAST &&
           2 * tiles >= row->cols * row->wx;
}

static bool suits_gpu(const gemm_cl_traits *d, const gemm_cl_row *row, const gemm_call *g)
{
    enum { THIN = 32 };
    if (is_for_cpu(row) || row->family->shares) return false;
    if (row->family->kind == GEMM_CL_IMAGE) return d->unified && d->images;
    if (row->texture) return d->images;
    if (row->depth) return suits_tile(d, row, g);
    if (row->cols > 1 || row->family->one_column) return true;
    /* The lowest of cl_thin that has all rows, or the highest one. */
    return g->M <= THIN && (row->rows >= g->M ? row->rows < 2 * g->M : row->rows == 8);
}

static bool suits(const gemm_cl_traits *d, const gemm_cl_row *row, const gemm_op *op,
                  const gemm_call *g)
{
    const conv_call *c = op->kind == GEMM_CONVOLUTION ? op->conv : NULL;
    if (!gemm_cl_is_of_kind(row, c) || (row->family->direct && !suits_direct(row, c))) return false;
    if (row->winograd && !gemm_conv_can_transform(c)) return false;
    if (row->family->one_column && gemm_cl_choose_gemv(d, c, GEMM_CL_SINGLE) != row) return false;
    if (row->winograd && row->depth) return !d->cpu && suits_points(d, row, c);
    return d->cpu ? suits_cpu(d, row, g) : suits_gpu(d, row, g);
}

/* ---- parts and groups ---- */

/* Whether an item steps through at least so much of K. */
static bool may_cut(const gemm_cl_row *row, const gemm_call *g, int parts)
{
    enum { SHORTEST = 32 };
    return gemm_cl_splits(row) && parts >= 1 && parts <= GEMM_CL_MOST_PARTS &&
           g->K / parts >= SHORTEST;
}

/* So many parts that each unit has two groups. */
static int usual_parts(const gemm_cl_traits *d, const gemm_cl_row *row,
                       const gemm_op *op, const gemm_call *g)
{
    const double columns = row->family->direct ? (double)gemm_cl_direct_blocks(op->conv) *
                                                     op->conv->batch * op->conv->groups
                                               : ceil_div(g->N, row->cols);
    const double items = columns * ceil_div(g->M, row->rows);
    const double groups = items / (max_int(row->wx, 16) * max_int(row->wy, 1));
    int parts = 1;
    while (!d->cpu && groups * parts < 2 * d->units && may_cut(row, g, 2 * parts)) parts *= 2;
    return parts;
}

int gemm_cl_forms(const gemm_cl_traits *d, const gemm_op *op,
                  gemm_cl_form forms[GEMM_CL_FORMS])
{
    const gemm_call g = product_of(op);
    int count = 0;
    for (int i = 0; i < GEMM_CL_CHOICES && count < GEMM_CL_FORMS; ++i) {
        const gemm_cl_row *row = &gemm_cl_choices[i];
        if (!suits(d, row, op, &g)) continue;
        forms[count++] = (gemm_cl_form){row, usual_parts(d, row, op, &g), 0};
    }
    return count;
}

int gemm_cl_forms_near(const gemm_op *op, const gemm_cl_form *form,
                       gemm_cl_form forms[GEMM_CL_FORMS])
{
    enum { LEAST_GROUP = 16 };
    const gemm_call g = product_of(op);
    const int parts[] = {1, form->parts / 2, form->parts * 2};
    int count = 0;
    if (!form->row) return 0;
    for (int i = 0; i < 3; ++i) {
        const bool again = parts[i] == form->parts || (i && parts[i] == 1);
        if (!again && may_cut(form->row, &g, parts[i]))
            forms[count++] = (gemm_cl_form){form->row, parts[i], form->group};
    }
    for (int group = form->row->wx / 2; form->row->family->any_group && group >= LEAST_GROUP;
         group /= 2)
        forms[count++] = (gemm_cl_form){form->row, form->parts, group};
    return count;
}
