/* Text in a buffer of fixed size. */
#ifndef BENCH_TEXT_H
#define BENCH_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Adds to the text in `text`, as printf does, and cuts off what does not fit in `size` bytes. */
__attribute__((format(printf, 3, 4)))
static inline void text_add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

#endif
