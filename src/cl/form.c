/* SPDX-License-Identifier: MIT */
/* Forms: see form.h. */
#include "cl/form.h"

#include "util/text.h"

#include <stdlib.h>
#include <string.h>

bool gemm_cl_is_of_kind(const gemm_cl_row *row, bool conv)
{
    const bool convolves = row->family->conv != GEMM_CL_NO_CONV;
    const bool multiplies = row->family->conv != GEMM_CL_ONLY_CONV && !row->family->direct &&
                            !row->family->one_column && !row->winograd;
    return !row->half && (conv ? convolves : multiplies);
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

static int number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at ? atoi(at + strlen(word)) : 0;
}

/* The numbers behind the name of the row. A text that is printed in another way is none. */
static bool parse_numbers(const char *text, gemm_cl_form *form)
{
    char again[GEMM_CL_FORM_TEXT];
    const int parts = number_behind(text, " parts ");
    form->group = number_behind(text, " group ");
    form->parts = parts ? parts : 1;
    gemm_cl_form_print(form, again);
    return !strcmp(again, text) && form->parts <= GEMM_CL_MOST_PARTS && form->group >= 0 &&
           form->group <= form->row->wx && (form->parts == 1 || gemm_cl_splits(form->row)) &&
           (!form->group || form->row->family->any_group);
}

bool gemm_cl_form_parse(const char *text, size_t length, bool conv, gemm_cl_form *form)
{
    char copy[GEMM_CL_FORM_TEXT], name[GEMM_CL_FORM_TEXT];
    *form = (gemm_cl_form){.parts = 1};
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!strcmp(copy, "default")) return true;
    for (int i = 0; i < GEMM_CL_CHOICES; ++i) {
        const gemm_cl_row *row = &gemm_cl_choices[i];
        print_row(row, name);
        *form = (gemm_cl_form){row, 1, 0};
        if (gemm_cl_is_of_kind(row, conv) && !strncmp(copy, name, strlen(name)) &&
            parse_numbers(copy, form))
            return true;
    }
    return false;
}
