/* Text in a buffer of fixed size, and numbers as text. */
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

#endif
