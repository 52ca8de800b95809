/* SPDX-License-Identifier: MIT */
/* The forms in the tuning table: see table.h. */
#include "cl/tune/table.h"

#include "cl/device/device.h"
#include "util/text.h"

static gemm_tuning *own;        /* NULL: the file was not read, or there is no memory */

static bool read_form(const char *text, size_t length, int kind, gemm_choice *to)
{
    return kind <= GEMM_SHAPE_CONV &&
           gemm_cl_form_parse(text, length, kind == GEMM_SHAPE_CONV, &to->form);
}

static void print_form(const gemm_choice *c, char text[GEMM_CHOICE_TEXT])
{
    gemm_cl_form_print(&c->form, text);
}

static const gemm_chooser chooser = {"cl", read_form, print_form};
_Static_assert((int)GEMM_CL_FORM_TEXT == (int)GEMM_CHOICE_TEXT, "a form is a choice");

/* The device as gemm_cl_identify says it. */
static const char *name_device(gemm_text *text)
{
    const gemm_cl_device *d = gemm_cl_opened();
    gemm_text_add(text, "%s, driver %s", d->name, d->driver);
    return gemm_text_part(text);
}

static bool read_once(void)
{
    char reason[1024] = "";
    gemm_text device = {0};
    if (own) return true;
    own = gemm_tuning_make(&chooser);
    if (own && gemm_tuning_load(own, reason, sizeof reason) &&
        !gemm_tuning_is_of(own, name_device(&device), reason, sizeof reason)) {
        gemm_tuning_free(own);
        own = gemm_tuning_make(&chooser);
    }
    if (*reason) gemm_tuning_say_unused(reason);
    gemm_text_free(&device);
    return own;
}

const gemm_tuned *gemm_cl_table_find(const gemm_shape *s)
{
    return read_once() ? gemm_tuning_find(own, s) : NULL;
}

static void save(void)
{
    gemm_text device = {0};
    gemm_tuning_keep(own, name_device(&device));
    gemm_text_free(&device);
}

const gemm_tuned *gemm_cl_table_put(const gemm_shape *s, const gemm_cl_form *form,
                                    const char *times)
{
    const gemm_choice choice = {.form = *form};
    const gemm_tuned *e = read_once() ? gemm_tuning_put(own, s, &choice, times, true) : NULL;
    if (e) save();
    return e;
}

bool gemm_cl_table_leave(const gemm_shape *s)
{
    return read_once() && gemm_tuning_leave(own, s, &(gemm_choice){.form = {.parts = 1}});
}

void gemm_cl_table_forget(bool anew)
{
    gemm_tuning_free(own);
    own = anew ? gemm_tuning_make(&chooser) : NULL;
}

int gemm_cl_table_settle(bool kept)
{
    gemm_tuned *list[GEMM_TUNING_SHAPES];
    const int all = read_once() ? gemm_tuning_list(own, list) : 0;
    int count = 0;
    for (int i = 0; i < all; ++i) {
        gemm_tuned *e = list[i];
        if (!e->own || e->settled) continue;
        e->settled = true;
        count += e->choice.form.row != NULL;
        if (!kept) e->choice.form = (gemm_cl_form){.parts = 1};
    }
    if (count && !kept) save();
    return count;
}

bool gemm_cl_table_is_kept(void)
{
    return !own || gemm_tuning_is_kept(own);
}
