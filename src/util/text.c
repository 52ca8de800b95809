/* Text: see text.h. */
#include "util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Makes room for this many bytes and the zero behind them. */
static bool make_room(gemm_text *t, size_t bytes)
{
    const size_t wanted = t->length + bytes + 1;
    if (wanted <= t->room) return true;
    const size_t room = wanted < 128 ? 128 : 2 * wanted;
    char *at = realloc(t->at, room);
    if (!at) return false;
    t->at = at;
    t->room = room;
    return true;
}

void gemm_text_add(gemm_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = t->lost ? -1 : vsnprintf(NULL, 0, format, args);
    if (length >= 0 && make_room(t, (size_t)length)) {
        vsnprintf(t->at + t->length, t->room - t->length, format, again);
        t->length += (size_t)length;
    } else {
        t->lost = true;
    }
    va_end(again);
    va_end(args);
}

const char *gemm_text_whole(const gemm_text *t)
{
    return t->lost ? NULL : gemm_text_part(t);
}

const char *gemm_text_part(const gemm_text *t)
{
    return t->at ? t->at : "";
}

void gemm_text_free(gemm_text *t)
{
    free(t->at);
    *t = (gemm_text){0};
}
