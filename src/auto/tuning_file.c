/* SPDX-License-Identifier: MIT */
/*
 * The file of the tuning table: see tuning_file.h.
 */
#include "auto/tuning_file.h"

#include "cl/configure.h"
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

enum { MACHINE_TEXT = 1024 };

/* Each number of bits has its own table, because rows of fewer bits are damage to a table of 32. */
static const char *file_name(const gemm_tuning_file *f)
{
    if (f->bits == 8) return "tuning-8.txt";
    return f->bits == 16 ? "tuning-16.txt" : "tuning.txt";
}

/* ---- the machine ---- */

static void describe_machine(const gemm_tuning_file *f, char text[MACHINE_TEXT])
{
    char cpu[128];
    gemm_read_cpu(cpu, sizeof cpu);
    snprintf(text, MACHINE_TEXT, "darknet-gemm tuning 1\nversion %s\ncpu %s\nisa %s\nl2 %zu\n",
             GEMM_VERSION, cpu, f->isa, gemm_find_caches()->l2);
}

static void describe_device(gemm_text *line)
{
    char *device = gemm_cl_identify();
    gemm_text_add(line, "device %s\n", device ? device : "none");
    free(device);
}

/* ---- reading ---- */

/* A file while it is read. */
typedef struct reader {
    const gemm_tuning_file *file;
    const char *at;
    int line;                   /* the number of the line at `at`, from 1 */
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

/* Whether the next lines are these. The first word of each line must agree in any case. */
static bool expect_lines(reader *r, const char *lines)
{
    for (; *lines; ++r->line) {
        const int length = length_of_line(lines), found = length_of_line(r->at);
        const size_t word = strcspn(lines, " ") + 1;
        if (strncmp(r->at, lines, word) || r->at[found] != '\n') return is_damaged(r);
        if (found != length || strncmp(r->at, lines, (size_t)length)) {
            snprintf(r->reason, r->bytes, "it is of another machine: '%.*s' instead of '%.*s'",
                     found, r->at, length, lines);
            return false;
        }
        lines += length + 1;
        r->at += found + 1;
    }
    return true;
}

/* The row of that name that may run calls of this kind, or NULL. */
static const gemm_variant *find_row(const gemm_tuning_file *f, int kind, const char *name,
                                    size_t length)
{
    for (size_t i = 0; i < f->row_count; ++i) {
        const gemm_variant *v = &f->rows[i];
        if (gemm_tuning_may_take(v, f->bits) && strlen(v->name) == length &&
            !strncmp(v->name, name, length))
            return gemm_shape_offered(kind, v) ? v : NULL;
    }
    return NULL;
}

/* Reads "SHAPE = ROW (TIMES)". */
static bool read_shape(reader *r, gemm_tuning *t)
{
    gemm_shape shape;
    const char *name = gemm_shape_parse(r->at, &shape);
    const int length = length_of_line(r->at);
    const char *end = r->at + length;
    if (!name || strncmp(name, " = ", 3) || *end != '\n') return is_damaged(r);
    name += 3;
    const size_t letters = strcspn(name, " \n");
    const gemm_variant *row = find_row(r->file, shape.kind, name, letters);
    const char *times = name + letters + 2;
    char copy[GEMM_TIMES_TEXT];
    if (!row || strncmp(name + letters, " (", 2) || times >= end || end[-1] != ')')
        return is_damaged(r);
    if (gemm_tuning_find(t, &shape)) return is_damaged(r);
    snprintf(copy, sizeof copy, "%.*s", (int)(end - 1 - times), times);
    if (!gemm_tuning_put(t, &shape, row, copy, false)) {
        snprintf(r->reason, r->bytes, "it has more than %d shapes", GEMM_TUNING_SHAPES);
        return false;
    }
    r->at = end + 1;
    ++r->line;
    return true;
}

static bool read_shapes(reader *r, gemm_tuning *t)
{
    char last[32];
    int count = 0;
    for (; strncmp(r->at, "end ", 4); ++count)
        if (!read_shape(r, t)) return false;
    snprintf(last, sizeof last, "end %d\n", count);
    return strcmp(r->at, last) ? is_damaged(r) : true;
}

/* Whether all rows of the table can run here. */
static bool rows_are_usable(const reader *r, const gemm_tuning *t)
{
    const gemm_tuned *list[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(t, list);
    for (int i = 0; i < count; ++i) {
        const gemm_variant *row = atomic_load(&list[i]->row);
        const char *why = gemm_tuning_unfit(row, r->file->bits);
        if (!why) continue;
        snprintf(r->reason, r->bytes, "%s cannot run here: %s", row->name, why);
        return false;
    }
    return true;
}

/* Reads a whole file into an empty table. */
static bool read_table(reader *r, gemm_tuning *t, bool device)
{
    char lines[MACHINE_TEXT];
    describe_machine(r->file, lines);
    if (!expect_lines(r, lines)) return false;
    reader device_line = *r;
    if (strncmp(r->at, "device ", 7) || !strchr(r->at, '\n')) return is_damaged(r);
    r->at += length_of_line(r->at) + 1;
    ++r->line;
    if (!read_shapes(r, t)) return false;
    if (!device && !gemm_tuning_uses_device(t)) return true;
    gemm_text line = {0};
    describe_device(&line);
    const char *whole = gemm_text_whole(&line);
    const bool same = whole && expect_lines(&device_line, whole);
    gemm_text_free(&line);
    return same && rows_are_usable(r, t);
}

/* Reads the file into a new table. Returns NULL when it cannot be used. */
static gemm_tuning *read_file(const gemm_tuning_file *f, bool device, char *reason, size_t bytes)
{
    const char *why;
    size_t size;
    reason[0] = '\0';
    if (!f->folder) return NULL;
    char *text = gemm_read_file(f->folder, file_name(f), &size, &why);
    if (!text) {
        if (why) snprintf(reason, bytes, "%s", why);
        return NULL;
    }
    reader r = {.file = f, .at = text, .line = 1, .reason = reason, .bytes = bytes};
    gemm_tuning *t = gemm_tuning_make();
    const bool whole = strlen(text) == size || is_damaged(&r);
    if (t && !(whole && read_table(&r, t, device))) {
        gemm_tuning_free(t);
        t = NULL;
    }
    free(text);
    return t;
}

/* Copies entries: all, or those that this process measured. Entries of `from` win. */
static void copy_entries(const gemm_tuning *from, gemm_tuning *to, bool own)
{
    const gemm_tuned *list[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(from, list);
    for (int i = 0; i < count; ++i) {
        const gemm_tuned *e = list[i];
        if (e->own || !own)
            gemm_tuning_put(to, &e->shape, atomic_load(&e->row), e->times, e->own);
    }
}

bool gemm_tuning_load(gemm_tuning *t, const gemm_tuning_file *f, bool device, char *reason,
                      size_t bytes)
{
    char why[512];
    gemm_tuning *read = read_file(f, device, why, sizeof why);
    reason[0] = '\0';
    if (read) copy_entries(read, t, false);
    else if (*why)
        snprintf(reason, bytes, "the tuning table %s/%s is not used: %s", f->folder,
                 file_name(f), why);
    gemm_tuning_free(read);
    return read != NULL;
}

/* ---- writing ---- */

static int compare_entries(const void *a, const void *b)
{
    const gemm_tuned *const *x = a, *const *y = b;
    return gemm_shape_compare(&(*x)->shape, &(*y)->shape);
}

static void write_entry(FILE *out, const gemm_tuned *e)
{
    char shape[GEMM_SHAPE_TEXT];
    gemm_shape_print(&e->shape, shape);
    fprintf(out, "%s = %s (%s)\n", shape, atomic_load(&e->row)->name, e->times);
}

typedef struct writer {
    const gemm_tuning *tuning;
    const gemm_tuning_file *file;
} writer;

static bool write_table(FILE *out, const void *data)
{
    const writer *w = data;
    char lines[MACHINE_TEXT];
    const gemm_tuned *sorted[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(w->tuning, sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_entries);
    describe_machine(w->file, lines);
    fputs(lines, out);
    gemm_text line = {0};
    describe_device(&line);
    fputs(gemm_text_part(&line), out);
    for (int i = 0; i < count; ++i) write_entry(out, sorted[i]);
    fprintf(out, "end %d\n", count);
    const bool whole = !line.lost;
    gemm_text_free(&line);
    if (!whole) errno = ENOMEM;
    return whole && !ferror(out);
}

/* With the folder locked, so that no other process writes between the read and the rename. Returns
   NULL, or why the table is not written. */
static const char *merge(const void *data)
{
    const writer *w = data;
    char ignored[512];
    gemm_tuning *all = read_file(w->file, true, ignored, sizeof ignored);
    if (!all) all = gemm_tuning_make();
    if (!all) return strerror(ENOMEM);
    copy_entries(w->tuning, all, true);
    const writer whole = {all, w->file};
    const char *why = gemm_replace_file(w->file->folder, file_name(w->file), write_table, &whole);
    gemm_tuning_free(all);
    return why;
}

bool gemm_tuning_save(const gemm_tuning *t, const gemm_tuning_file *f, char *reason, size_t bytes)
{
    if (!f->folder) {
        snprintf(reason, bytes, "the tuning table %s cannot be kept: the environment names no "
                 "folder", file_name(f));
        return false;
    }
    const writer own = {t, f};
    const char *why = gemm_with_folder(f->folder, merge, &own);
    if (why)
        snprintf(reason, bytes, "the tuning table %s/%s cannot be kept: %s", f->folder,
                 file_name(f), why);
    return !why;
}
