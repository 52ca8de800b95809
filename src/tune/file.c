/* SPDX-License-Identifier: MIT */
/* The tuning table in a file: see table.h. */
#include "tune/table.h"

#include "util/caches.h"
#include "util/cpu.h"
#include "util/file.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef GEMM_VERSION
#define GEMM_VERSION "unknown"
#endif

static const char file_name[] = "tuning.txt";
static const char *const choosers[] = {"auto", "auto16", "auto8", "cl"};
static const char *folder, *isa;

void gemm_tuning_configure(const char *f, const char *i)
{
    folder = f;
    isa = i;
}

void gemm_tuning_say_unused(const char *reason)
{
    fprintf(stderr, "gemm: the tuning table %s/%s is not used: %s\n", folder, file_name, reason);
}

/* ---- reading ---- */

/* The lines that say what the table was measured on. */
static void add_head(gemm_text *text)
{
    char cpu[128];
    gemm_read_cpu(cpu, sizeof cpu);
    gemm_text_add(text, "darknet-gemm tuning 2\nversion %s\ncpu %s\nisa %s\nl2 %zu\n",
                  GEMM_VERSION, cpu, isa, gemm_find_caches()->l2);
}

/* A file while it is read. */
typedef struct reader {
    gemm_tuning *to;
    gemm_text *others;          /* gets the lines of other choosers, or NULL */
    const char *at;
    int line;                   /* the number of the line at `at`, from 1 */
    int shapes;
    char *reason;               /* what is wrong */
    size_t bytes;
} reader;

static bool is_damaged(const reader *r)
{
    snprintf(r->reason, r->bytes, "line %d is damaged", r->line);
    return false;
}

static int length_of_line(const char *line)
{
    return (int)strcspn(line, "\n");
}

static void next_line(reader *r)
{
    r->at += length_of_line(r->at) + 1;
    ++r->line;
}

/* Whether the next lines are these. The first word of each line must agree in any case. */
static bool expect_lines(reader *r, const char *lines)
{
    for (; *lines; lines += length_of_line(lines) + 1, next_line(r)) {
        const int length = length_of_line(lines), found = length_of_line(r->at);
        if (strncmp(r->at, lines, strcspn(lines, " ") + 1) || !r->at[found]) return is_damaged(r);
        if (found == length && !strncmp(r->at, lines, (size_t)length)) continue;
        snprintf(r->reason, r->bytes, "it is of another %s: '%.*s' instead of '%.*s'",
                 r->line > 1 ? "machine" : "format", found, r->at, length, lines);
        return false;
    }
    return true;
}

static bool is_chooser(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof choosers / sizeof *choosers; ++i)
        if (strlen(choosers[i]) == length && !strncmp(word, choosers[i], length)) return true;
    return false;
}

/* The text between two places of a line. */
typedef struct part {
    const char *text;
    size_t length;
} part;

static bool is_text(part p, const char *text)
{
    return strlen(text) == p.length && !strncmp(p.text, text, p.length);
}

/* Puts the line into the table, where it is of the chooser. */
static bool take_line(reader *r, part chooser, const gemm_shape *shape, part choice, part times)
{
    gemm_tuning *t = r->to;
    gemm_choice c;
    char copy[GEMM_TIMES_TEXT];
    const int length = length_of_line(r->at);
    if (!is_text(chooser, t->chooser->name)) {
        if (r->others) gemm_text_add(r->others, "%.*s\n", length, r->at);
        return true;
    }
    if (gemm_tuning_find(t, shape) ||
        !t->chooser->read(choice.text, choice.length, shape->kind, &c))
        return is_damaged(r);
    snprintf(copy, sizeof copy, "%.*s", (int)times.length, times.text);
    if (gemm_tuning_put(t, shape, &c, copy, false)) return true;
    snprintf(r->reason, r->bytes, "it has more than %d shapes", GEMM_TUNING_SHAPES);
    return false;
}

/* Reads "CHOOSER SHAPE = CHOICE (TIMES)". */
static bool read_line(reader *r)
{
    gemm_shape shape;
    const part chooser = {r->at, strcspn(r->at, " \n")};
    const char *end = r->at + length_of_line(r->at);
    if (*end != '\n' || !is_chooser(chooser.text, chooser.length)) return is_damaged(r);
    const char *at = gemm_shape_parse(chooser.text + chooser.length + 1, &shape);
    if (!at || strncmp(at, " = ", 3)) return is_damaged(r);
    const char *open = strstr(at, " (");
    if (!open || open > end || end[-1] != ')' || end - open < 3) return is_damaged(r);
    const part choice = {at + 3, (size_t)(open - at - 3)};
    const part times = {open + 2, (size_t)(end - open - 3)};
    if (open < at + 3 || !take_line(r, chooser, &shape, choice, times)) return false;
    ++r->shapes;
    next_line(r);
    return true;
}

static bool read_device(reader *r)
{
    static const char word[] = "device ";
    const int length = length_of_line(r->at), begin = (int)strlen(word);
    if (strncmp(r->at, word, strlen(word)) || !r->at[length]) return is_damaged(r);
    r->to->device = strndup(r->at + begin, (size_t)(length - begin));
    next_line(r);
    return true;
}

static bool read_lines(reader *r)
{
    char last[32];
    gemm_text head = {0};
    add_head(&head);
    const char *whole = gemm_text_whole(&head);
    const bool same = whole && expect_lines(r, whole);
    gemm_text_free(&head);
    if (!same || !read_device(r)) return false;
    while (strncmp(r->at, "end ", 4))
        if (!read_line(r)) return false;
    snprintf(last, sizeof last, "end %d\n", r->shapes);
    return strcmp(r->at, last) ? is_damaged(r) : true;
}

static bool read_file(reader *r)
{
    const char *why = NULL;
    size_t size;
    r->reason[0] = '\0';
    char *text = folder ? gemm_read_file(folder, file_name, &size, &why) : NULL;
    if (why) snprintf(r->reason, r->bytes, "%s", why);
    if (!text) return false;
    r->at = text;
    r->line = 1;
    const bool whole = strlen(text) == size || is_damaged(r);
    const bool read = whole && read_lines(r);
    free(text);
    return read;
}

/* Entries of `from` win. */
static bool copy_entries(const gemm_tuning *from, gemm_tuning *to, bool own)
{
    gemm_tuned *list[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(from, list);
    bool all = true;
    for (int i = 0; i < count; ++i) {
        const gemm_tuned *e = list[i];
        if (e->own || !own)
            all &= gemm_tuning_put(to, &e->shape, &e->choice, e->times, e->own) != NULL;
    }
    return all;
}

bool gemm_tuning_load(gemm_tuning *t, char *reason, size_t bytes)
{
    reader r = {.to = gemm_tuning_make(t->chooser), .reason = reason, .bytes = bytes};
    reason[0] = '\0';
    const bool read = r.to && read_file(&r);
    if (read) {
        copy_entries(r.to, t, false);
        free(t->device);
        t->device = r.to->device;
        r.to->device = NULL;
    }
    gemm_tuning_free(r.to);
    return read;
}

bool gemm_tuning_is_of(const gemm_tuning *t, const char *device, char *reason, size_t bytes)
{
    const char *found = t->device ? t->device : "", *wanted = device ? device : "none";
    if (!strcmp(found, wanted)) return true;
    snprintf(reason, bytes, "it is of another machine: 'device %s' instead of 'device %s'", found,
             wanted);
    return false;
}

/* ---- writing ---- */

static int compare_entries(const void *a, const void *b)
{
    const gemm_tuned *const *x = a, *const *y = b;
    return gemm_shape_compare(&(*x)->shape, &(*y)->shape);
}

/* What is written. */
typedef struct writer {
    gemm_tuning *tuning;
    const char *device;
    gemm_text others;
    int other_lines;
} writer;

static bool write_table(FILE *out, const void *data)
{
    const writer *w = data;
    gemm_tuned *sorted[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(w->tuning, sorted);
    gemm_text head = {0};
    qsort(sorted, (size_t)count, sizeof *sorted, compare_entries);
    add_head(&head);
    gemm_text_add(&head, "device %s\n", w->device ? w->device : "none");
    fputs(gemm_text_part(&head), out);
    fputs(gemm_text_part(&w->others), out);
    for (int i = 0; i < count; ++i) {
        char shape[GEMM_SHAPE_TEXT], choice[GEMM_CHOICE_TEXT];
        gemm_shape_print(&sorted[i]->shape, shape);
        w->tuning->chooser->print(&sorted[i]->choice, choice);
        fprintf(out, "%s %s = %s (%s)\n", w->tuning->chooser->name, shape, choice,
                sorted[i]->times);
    }
    fprintf(out, "end %d\n", w->other_lines + count);
    const bool whole = !head.lost && !w->others.lost;
    gemm_text_free(&head);
    if (!whole) errno = ENOMEM;
    return whole && !ferror(out);
}

/* With the folder locked, so that no other process writes between the read and the rename. Returns
   NULL, or why the table is not written. */
static const char *merge(const void *data)
{
    const writer *own = data;
    char ignored[512];
    writer all = {.tuning = gemm_tuning_make(own->tuning->chooser), .device = own->device};
    reader r = {.to = all.tuning, .others = &all.others,
                .reason = ignored, .bytes = sizeof ignored};
    if (!all.tuning) return strerror(ENOMEM);
    if (read_file(&r) && gemm_tuning_is_of(r.to, own->device, ignored, sizeof ignored)) {
        all.other_lines = r.shapes - all.tuning->count;
    } else {
        gemm_tuning_free(all.tuning);
        gemm_text_free(&all.others);
        all = (writer){.tuning = gemm_tuning_make(own->tuning->chooser), .device = own->device};
        if (!all.tuning) return strerror(ENOMEM);
    }
    const char *why = copy_entries(own->tuning, all.tuning, true) ? NULL : "it is full";
    if (!why) why = gemm_replace_file(folder, file_name, write_table, &all);
    gemm_tuning_free(all.tuning);
    gemm_text_free(&all.others);
    return why;
}

void gemm_tuning_keep(gemm_tuning *t, const char *device)
{
    static atomic_bool said;
    const writer own = {.tuning = t, .device = device};
    const char *why = folder ? gemm_with_folder(folder, merge, &own)
                             : "the environment names no folder";
    if (why && !atomic_exchange(&said, true))
        fprintf(stderr, "gemm: the tuning table %s%s%s cannot be kept: %s; it is kept in memory\n",
                folder ? folder : "", folder ? "/" : "", file_name, why);
    if (why) t->unkept = true;
}

bool gemm_tuning_is_kept(const gemm_tuning *t)
{
    return !t->unkept;
}
