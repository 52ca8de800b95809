/* SPDX-License-Identifier: MIT */
/* The row of a convolution: see conv_row.h. */
#include "cl/op/conv_row.h"

#include "cl/op/conv_build.h"

#include <stdint.h>

typedef gemm_cl_conv_job conv_job;

/* ---- which row ---- */

/* The choice of `cl`, and another one where no image is large enough. */
static void choose_freely(conv_job *j)
{
    gemm_cl_work *w = &j->w;
    gemm_cl_traits traits = j->traits;
    w->row = gemm_cl_choose_conv(&traits, &j->g, j->products, &w->parts);
    if (!gemm_cl_conv_has_image(j) || gemm_cl_conv_lay_out(j)) return;
    traits.images = false;
    w->row = gemm_cl_choose_conv(&traits, &j->g, j->products, &w->parts);
}

/* Winograd's algorithm where it is faster, and only where the plan can keep the transformed
   filters. False: another one. */
static bool choose_winograd(conv_job *j, const gemm_context *context)
{
    gemm_cl_work *w = &j->w;
    const gemm_cl_row *other = w->row;
    const gemm_cl_row *row = gemm_cl_choose_winograd(&w->device->traits, j->c);
    if (!row || context->direct || !context->kept) return false;
    w->row = row;
    const bool fits = gemm_cl_winograd_fits(&j->winograd, w, j->c) &&
                      gemm_cl_winograd_bytes(&j->winograd) <= context->kept->room;
    const gemm_cl_kept *k = context->kept->data;
    const bool built = k && k->program && k->winograd == row->winograd;
    const char *why = fits && !built ? gemm_cl_winograd_build(&j->winograd, w) : NULL;
    if (why) gemm_cl_say_left_out(why);
    if (fits && !why) return true;
    w->row = other;
    return false;
}

/* Whether the plan can keep the weights as this row of cl_direct takes them. */
static bool can_pack(conv_job *j, const gemm_cl_row *row, const gemm_context *context)
{
    const gemm_cl_device *d = j->w.device;
    j->packed = gemm_cl_pack_layout(row, j->c, d->image_height);
    return j->packed.down && (!row->texture || j->packed.width / 4 <= d->image_width) &&
           context->kept && gemm_cl_kept_bytes(row, j->c, NULL) <= context->kept->room;
}

/* Builds the kernel of this row, unless the plan has it. NULL, or what is wrong about the build. */
static const char *build_new(conv_job *j, const gemm_cl_row *row, const gemm_context *context)
{
    const gemm_cl_kept *k = context->kept ? context->kept->data : NULL;
    const bool built = k && k->program && k->row == row && k->key.row == row &&
                       k->key.pools == j->c->pool;
    j->w.row = row;
    return built ? NULL : gemm_cl_conv_build(j);
}

/* The form of cl_direct that the row `asked` wants, or a smaller tile where the user named it and
   registers spill. False: it does not take cl_direct. */
static bool try_direct(conv_job *j, const gemm_cl_row *asked, const gemm_context *context)
{
    gemm_cl_work *w = &j->w;
    const gemm_cl_row *other = w->row;
    const int parts = w->parts;
    const gemm_cl_row *row = gemm_cl_choose_direct(&j->traits, j->c, asked, &w->parts);
    const gemm_cl_row *small = &gemm_cl_direct_choices[GEMM_CL_DIRECT_4];
    if (row && can_pack(j, row, context)) {
        const char *why = build_new(j, row, context);
        if (gemm_cl_is_spilled(why) && asked->family->direct && row->rows > small->rows &&
            can_pack(j, small, context))
            why = build_new(j, small, context);
        if (!why) return true;
        if (gemm_cl_is_faulty(why)) gemm_cl_say_left_out(why);
    }
    w->row = other;
    w->parts = parts;
    return false;
}

/* A kernel that reads the input itself, where it is for the device or the row of the call wants it,
   and only where the plan can keep the packed weights. Where a row wants Winograd's algorithm and
   cannot have it, the choice of `cl`. False: another kernel. */
static bool choose_direct(conv_job *j, const gemm_context *context)
{
    const gemm_cl_row *asked = j->w.row;
    if (!asked->winograd) return try_direct(j, asked, context);
    return (!context->direct && try_direct(j, asked, context)) ||
           try_direct(j, &gemm_cl_best, context);
}

/* Whether the row of the call itself has a kernel for this convolution. */
static bool can_run_asked(conv_job *j, const gemm_context *context)
{
    const gemm_cl_row *row = j->w.row;
    if (row->family->direct)
        return gemm_cl_can_direct(j->c) && (!row->winograd || gemm_cl_can_transform(j->c)) &&
               can_pack(j, row, context);
    return row->family->conv && (!gemm_cl_conv_has_image(j) || gemm_cl_conv_lay_out(j)) &&
           (!row->winograd || gemm_cl_winograd_fits(&j->winograd, &j->w, j->c));
}

/* Whether the form's row computes the layer as it is, and the plan has room for its weights. */
static bool can_run_form(conv_job *j, const gemm_context *context)
{
    const gemm_cl_row *row = j->w.row;
    if (row->family->one_column && gemm_cl_choose_gemv(&j->traits, j->c, row->half) != row)
        return false;
    if (row->winograd && (context->direct || !context->kept)) return false;
    if (!can_run_asked(j, context) || (j->c->pool && !gemm_cl_conv_can_pool(j))) return false;
    if (j->shortcut && !row->family->adds) return false;
    return !row->winograd || row->family->direct ||
           gemm_cl_winograd_bytes(&j->winograd) <= context->kept->room;
}

/* The form of the work, where it can run. False: the choice is free. */
static bool take_form(conv_job *j, const gemm_context *context)
{
    gemm_cl_work *w = &j->w;
    const gemm_cl_row *asked = w->row;
    if (gemm_cl_take_form(w) && can_run_form(j, context)) {
        const char *why = build_new(j, w->row, context);
        if (!why) return true;
        if (gemm_cl_is_faulty(why)) gemm_cl_say_left_out(why);
    }
    gemm_cl_drop_form(w, asked);
    return false;
}

/* Whether the row is cl_half, whose layers may go to cl_direct with weights of 16 bits. */
static bool is_half_b(const gemm_cl_row *row)
{
    return row->half == GEMM_CL_HALF_B && !row->family->direct;
}

bool gemm_cl_conv_choose(conv_job *j, const gemm_context *context)
{
    gemm_cl_work *w = &j->w;
    if (take_form(j, context)) return true;
    const gemm_cl_row *asked = w->row;
    const gemm_cl_row *gemv = gemm_cl_choose_gemv(&j->traits, j->c, asked->half);
    const bool chooses = asked->family->way == GEMM_CL_CHOOSE;
    const bool may_direct = chooses || is_half_b(asked);
    if (asked->family->one_column) return gemv;
    if (gemv && (chooses || (asked->half && !asked->family->direct)))
        w->row = gemv;
    else if (may_direct && choose_direct(j, context)) {}
    else if (!chooses && !can_run_asked(j, context)) return false;
    else if (chooses && !choose_winograd(j, context)) choose_freely(j);
    if (asked->parts && gemm_cl_splits(w->row)) w->parts = asked->parts;
    return (!j->c->pool || gemm_cl_conv_can_pool(j)) && (!j->shortcut || w->row->family->adds);
}

bool gemm_cl_conv_choose_unpacked(conv_job *j, const gemm_cl_row *asked,
                                  const gemm_context *context)
{
    j->w.row = asked;
    if (j->chosen) choose_freely(j);
    return j->chosen || (is_half_b(asked) && can_run_asked(j, context));
}

/* ---- its kernel ---- */

static bool is_same_key(const gemm_cl_build_key *a, const gemm_cl_build_key *b)
{
    return a->row == b->row && a->pools == b->pools && a->adds == b->adds &&
           a->aligned == b->aligned && a->depth_size == b->depth_size;
}

/* A chain is only a choice: where its kernel spills registers, a smaller tile, and then two
   launches. Nothing failed. */
static const char *build_chain(conv_job *j)
{
    const char *why = gemm_cl_conv_build(j);
    if (gemm_cl_is_spilled(why) && j->w.row == &gemm_cl_choices[GEMM_CL_TILE_16x128]) {
        j->w.row = &gemm_cl_tile_short;
        why = gemm_cl_conv_build(j);
    }
    if (!j->chosen) j->w.refused = why;
    return why;
}

const char *gemm_cl_conv_build_kernel(conv_job *j)
{
    const gemm_cl_build_key key = {.row = j->w.row, .pools = j->c->pool, .adds = j->shortcut,
                                   .aligned = (uintptr_t)j->in->input % 16 == 0,
                                   .depth_size = j->in != j->c ? j->in->size : 0};
    gemm_cl_kept *k = j->kept;
    if (k && k->program && is_same_key(&k->key, &key)) {
        j->w.row = k->row;
        j->w.program = k->program;
        return NULL;
    }
    const bool chain = j->in != j->c, chosen = j->chosen && !chain;
    const char *why = chain ? build_chain(j)
                            : gemm_cl_build_choice(&j->w, chosen, gemm_cl_conv_build, j);
    if (why && chosen && j->w.row->family->one_column) {
        choose_freely(j);
        why = gemm_cl_build_choice(&j->w, chosen, gemm_cl_conv_build, j);
    }
    if (k) {
        k->key = key;
        k->row = j->w.row;
        k->program = why ? NULL : j->w.program;
    }
    return why;
}

const char *gemm_cl_conv_build_choice(conv_job *j, const gemm_cl_row *asked,
                                      const gemm_context *context)
{
    const char *why = gemm_cl_conv_build_kernel(j);
    while (why && gemm_cl_learn_group(&j->w, &j->traits)) {
        j->w.row = asked;
        if (!gemm_cl_conv_choose(j, context)) break;
        why = gemm_cl_conv_build_kernel(j);
    }
    return why;
}
