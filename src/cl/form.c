/* SPDX-License-Identifier: MIT */
/* Forms: see form.h. */
#include "cl/form.h"

#include "util/ints.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- which rows ---- */

/* Whether the row computes whole convolutions, or multiplies. */
static bool is_of_kind(const gemm_cl_row *row, bool conv)
{
    const bool convolves = row->family->conv != GEMM_CL_NO_CONV;
    const bool multiplies = row->family->conv != GEMM_CL_ONLY_CONV && !row->family->direct &&
                            !row->family->one_column && !row->winograd;
    return !row->half && (conv ? convolves : multiplies);
}

/* Rows whose groups are one item are for CPUs: an item fills vectors, not a wave. */
static bool is_for_cpu(const gemm_cl_row *row)
{
    return row->wx == 1 && row->wy == 1;
}

/* What an op is for a kernel: one multiply with the columns of all products. */
static gemm_call product_of(const gemm_cl_tuned_op *op)
{
    const conv_call *c = op->conv;
    if (!c) return *op->multiply;
    const double columns = (double)gemm_conv_places(c) * c->batch * c->groups;
    return (gemm_call){.M = c->n / c->groups, .K = gemm_conv_taps(c),
                       .N = columns < 1 << 30 ? (int)columns : 1 << 30};
}

static bool is_depthwise(const conv_call *c)
{
    return c->groups > 1 && c->groups == c->c && c->groups == c->n;
}

/* No kernel for 5x5 layers has 8 filters or an image, because it would spill registers. */
static bool suits_direct(const gemm_cl_row *row, const conv_call *c)
{
    if (!gemm_cl_can_direct(c) || (row->rows == 1) != is_depthwise(c)) return false;
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
    const int vector = d->vector >= 16 ? 16 : d->vector >= 8 ? 8 : 4;
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
    if (row->family->way == GEMM_CL_IMAGE) return d->unified && d->images;
    if (row->texture) return d->images;
    if (row->depth) return suits_tile(d, row, g);
    if (row->cols > 1 || row->family->one_column) return true;
    /* The lowest of cl_thin that has all rows, or the highest one. */
    return g->M <= THIN && (row->rows >= g->M ? row->rows < 2 * g->M : row->rows == 8);
}

static bool suits(const gemm_cl_traits *d, const gemm_cl_row *row, const gemm_cl_tuned_op *op,
                  const gemm_call *g)
{
    const conv_call *c = op->conv;
    if (!is_of_kind(row, c) || (row->family->direct && !suits_direct(row, c))) return false;
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
                       const gemm_cl_tuned_op *op, const gemm_call *g)
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

int gemm_cl_forms(const gemm_cl_traits *d, const gemm_cl_tuned_op *op,
                  gemm_cl_form forms[GEMM_CL_FORMS])
{
    const gemm_call g = product_of(op);
    const gemm_cl_row *row;
    int count = 0;
    for (size_t i = 0; (row = gemm_cl_choice_at(i)) && count < GEMM_CL_FORMS; ++i) {
        if (!suits(d, row, op, &g)) continue;
        forms[count++] = (gemm_cl_form){row, usual_parts(d, row, op, &g), 0};
    }
    return count;
}

int gemm_cl_forms_near(const gemm_cl_tuned_op *op, const gemm_cl_form *form,
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

int gemm_cl_form_decide(const double *ms, int count, double spread)
{
    static const double least = .01;
    const double margin = spread > least ? spread : least;
    int best = 0;
    for (int i = 1; i < count; ++i)
        if (ms[i] >= 0 && (best ? ms[i] < ms[best] : ms[i] < ms[0] * (1 - margin))) best = i;
    return best;
}

static int compare_parts(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

bool gemm_cl_form_confirm(double *parts, int count)
{
    qsort(parts, (size_t)count, sizeof *parts, compare_parts);
    return parts[0] >= 0 && parts[count - 2] < .99;
}

/* ---- as text ---- */

/* No two rows of different programs have the same name. */
static void print_row(const gemm_cl_row *row, char text[GEMM_CL_FORM_TEXT])
{
    text[0] = '\0';
    gemm_append(text, GEMM_CL_FORM_TEXT, "%s %dx%d", row->family->kernel, row->rows, row->cols);
    if (row->wx) gemm_append(text, GEMM_CL_FORM_TEXT, " %dx%d", row->wx, row->wy);
    if (row->depth) gemm_append(text, GEMM_CL_FORM_TEXT, " k%d", row->depth);
    if (row->slices) gemm_append(text, GEMM_CL_FORM_TEXT, " slices %d", row->slices);
    if (row->winograd) gemm_append(text, GEMM_CL_FORM_TEXT, " m%d", row->winograd);
    if (row->texture) gemm_append(text, GEMM_CL_FORM_TEXT, " image");
}

void gemm_cl_form_print(const gemm_cl_form *form, char text[GEMM_CL_FORM_TEXT])
{
    if (!form->row) {
        strcpy(text, "default");
        return;
    }
    print_row(form->row, text);
    if (form->group) gemm_append(text, GEMM_CL_FORM_TEXT, " group %d", form->group);
    if (form->parts > 1) gemm_append(text, GEMM_CL_FORM_TEXT, " parts %d", form->parts);
}

/* Reads " NAME NUMBER", where the text has it: 1 to `most`. False: another number. */
static bool read_number(const char **at, const char *name, int most, int *number)
{
    const size_t length = strlen(name);
    char *end;
    if (strncmp(*at, name, length)) return true;
    const long value = strtol(*at + length, &end, 10);
    if (value < 1 || value > most) return false;
    *number = (int)value;
    *at = end;
    return true;
}

/* The numbers behind the name of the row. A text that is printed in another way is none. */
static bool parse_numbers(const char *text, gemm_cl_form *form)
{
    char again[GEMM_CL_FORM_TEXT], name[GEMM_CL_FORM_TEXT];
    print_row(form->row, name);
    const char *at = text + strlen(name);
    if (!read_number(&at, " group ", form->row->wx, &form->group) ||
        !read_number(&at, " parts ", GEMM_CL_MOST_PARTS, &form->parts))
        return false;
    gemm_cl_form_print(form, again);
    return !strcmp(again, text) && (form->parts == 1 || gemm_cl_splits(form->row)) &&
           (!form->group || form->row->family->any_group);
}

bool gemm_cl_form_parse(const char *text, size_t length, bool conv, gemm_cl_form *form)
{
    char copy[GEMM_CL_FORM_TEXT], name[GEMM_CL_FORM_TEXT];
    const gemm_cl_row *row;
    *form = (gemm_cl_form){.parts = 1};
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!strcmp(copy, "default")) return true;
    for (size_t i = 0; (row = gemm_cl_choice_at(i)); ++i) {
        print_row(row, name);
        *form = (gemm_cl_form){row, 1, 0};
        if (is_of_kind(row, conv) && !strncmp(copy, name, strlen(name)) &&
            parse_numbers(copy, form))
            return true;
    }
    return false;
}
