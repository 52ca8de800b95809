/* Text in a buffer of fixed size, and numbers as text: see text.h. */
#include "util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static locale_t plain;          /* 0: there was no memory, and the host's locale stays */

__attribute__((constructor)) static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

__attribute__((destructor)) static void free_plain(void)
{
    if (plain) freelocale(plain);
    plain = (locale_t)0;
}

locale_t gemm_begin_point(void)
{
    return uselocale(plain);
}

void gemm_end_point(locale_t host)
{
    uselocale(host);
}

bool gemm_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strnlen(text, size), room = size - used;
    va_list args;
    va_start(args, format);
    const locale_t host = gemm_begin_point();
    const int length = vsnprintf(room ? text + used : NULL, room, format, args);
    gemm_end_point(host);
    va_end(args);
    return length >= 0 && (size_t)length < room;
}
