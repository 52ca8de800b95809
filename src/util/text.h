/* SPDX-License-Identifier: MIT */
/* Text in a buffer of fixed size, or of any length; and numbers as text. */
#ifndef GEMM_TEXT_H
#define GEMM_TEXT_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Appends to `text`, a string in a buffer of `size` bytes. Returns false when not all of it fits;
 * the buffer then holds the part that fits, and is still a string. Numbers have a point in every
 * locale.
 */
bool gemm_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Between these two calls, printf and strtod of this thread have a decimal point. The locale of the
 * host may have a comma. The second call takes what the first one returned.
 */
locale_t gemm_begin_point(void);
void gemm_end_point(locale_t);

/* A text that grows. {0} is the empty one. */
typedef struct gemm_text {
    char *at;                   /* NULL: nothing was added */
    size_t length, room;
    bool lost;                  /* there was no memory for a part of it */
} gemm_text;

/* Appends. Numbers have a point in every locale. */
void gemm_text_add(gemm_text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The whole text, or NULL where a part of it is lost. Valid until the next call for it. */
const char *gemm_text_whole(const gemm_text *);

/* The text for a message: what there was memory for. Valid until the next call for it. */
const char *gemm_text_part(const gemm_text *);

/* Frees it and makes it the empty one. */
void gemm_text_free(gemm_text *);

/* How many characters have to be added, removed or replaced to make one word of the other
   (Levenshtein's distance). Upper case counts as lower case. For words of up to 31 characters,
   else INT_MAX. */
int gemm_word_distance(const char *, const char *);

#endif
