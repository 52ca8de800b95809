/* SPDX-License-Identifier: MIT */
/*
 * Which Adreno a device is: see adreno.h.
 *
 *   text                                    driver                    model
 *   QUALCOMM Adreno(TM) 750                 Qualcomm's, newer ones    750
 *   OpenCL 2.0 Adreno(TM) 642L              Qualcomm's, in a version  642L
 *   Qualcomm(R) Adreno(TM) X1-85 GPU        Qualcomm's for Windows    X1-85, without a number
 *   FD630                                   Mesa's rusticl            630
 *   QUALCOMM                                some of Qualcomm's        none
 */
#include "cl/device/adreno.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { QUALCOMM = 0x5143 };     /* the vendor's number of PCI */

static bool is_digit(char c)
{
    return isdigit((unsigned char)c);
}

/* Takes the word at p as the model if it has a digit. "642L" has the number 642, "X1-85" has none:
   only three digits at the front are one. */
static bool take_model(gemm_cl_adreno *a, const char *p)
{
    const char *end = p;
    while (isalnum((unsigned char)*end) || *end == '-') ++end;
    if (strcspn(p, "0123456789") >= (size_t)(end - p)) return false;
    a->model = p;
    a->length = (int)(end - p);
    if (strspn(p, "0123456789") == 3) a->number = (int)strtol(p, NULL, 10);
    return true;
}

/* The place behind "Adreno", "(TM)" and blanks; NULL: the text does not name one. */
static const char *behind_brand(const char *text)
{
    const char *p = strcasestr(text, "Adreno");
    if (!p) return NULL;
    p += strlen("Adreno");
    p += strspn(p, " ");
    if (!strncasecmp(p, "(TM)", 4)) p += 4;
    return p + strspn(p, " ");
}

gemm_cl_adreno gemm_cl_find_adreno(const gemm_cl_texts *t)
{
    const char *const texts[] = {t->name, t->version, t->c_version};
    const bool freedreno = !strncmp(t->name, "FD", 2) && is_digit(t->name[2]);
    gemm_cl_adreno a = {.is_one = freedreno || t->vendor == QUALCOMM ||
                                  strcasestr(t->name, "QUALCOMM")};
    if (freedreno) take_model(&a, t->name + 2);
    for (int i = 0; i < 3 && !a.model; ++i) {
        const char *p = behind_brand(texts[i]);
        if (!p) continue;
        a.is_one = true;
        take_model(&a, p);
    }
    return a;
}
