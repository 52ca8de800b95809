/* Text in a buffer of fixed size. */
#include "util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gemm_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strnlen(text, size), room = size - used;
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(room ? text + used : NULL, room, format, args);
    va_end(args);
    return length >= 0 && (size_t)length < room;
}
