/* SPDX-License-Identifier: MIT */
/* Text, and numbers as text: see text.h. */
#include "util/text.h"

#include "util/ints.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    const locale_t host = gemm_begin_point();
    const int length = t->lost ? -1 : vsnprintf(NULL, 0, format, args);
    if (length >= 0 && make_room(t, (size_t)length)) {
        vsnprintf(t->at + t->length, t->room - t->length, format, again);
        t->length += (size_t)length;
    } else {
        t->lost = true;
    }
    gemm_end_point(host);
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

/* Of ASCII, whatever the locale of the host. */
static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Row i of the table of distances: from the first i characters of `a` to those of `b`. */
int gemm_word_distance(const char *a, const char *b)
{
    enum { MOST = 31 };
    int row[MOST + 1];
    const int m = (int)strnlen(a, MOST + 1), n = (int)strnlen(b, MOST + 1);
    if (m > MOST || n > MOST) return INT_MAX;
    for (int j = 0; j <= n; ++j) row[j] = j;
    for (int i = 1; i <= m; ++i) {
        int replaced = row[0];
        row[0] = i;
        for (int j = 1; j <= n; ++j) {
            const int same = replaced + (lower(a[i - 1]) != lower(b[j - 1]));
            replaced = row[j];
            row[j] = min_int(same, min_int(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}
