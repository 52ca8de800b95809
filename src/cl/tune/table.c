/* SPDX-License-Identifier: MIT */
/* The table of forms: see table.h. */
#include "cl/tune/table.h"

#include "cl/device/device.h"
#include "util/file.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef GEMM_VERSION
#define GEMM_VERSION "unknown"
#endif

enum { BUCKETS = 1024, MOST = 3072 };
static const char file_name[] = "tuning-cl.txt";

typedef struct table {
    gemm_cl_tuned *buckets[BUCKETS];
    int count;
} table;

static table own;
static bool was_read;           /* nobody looks at the file again */
static bool unkept;             /* the file could not be written */

static gemm_cl_tuned **bucket_of(table *t, const gemm_shape *s)
{
    return &t->buckets[gemm_shape_hash(s) % BUCKETS];
}

static gemm_cl_tuned *find(table *t, const gemm_shape *s)
{
    gemm_cl_tuned *e = *bucket_of(t, s);
    while (e && gemm_shape_compare(&e->shape, s)) e = e->next;
    return e;
}

/* Adds an entry, or changes that of the shape. NULL: there is no room. */
static gemm_cl_tuned *put(table *t, const gemm_shape *s, const gemm_cl_form *form,
                          const char *times)
{
    gemm_cl_tuned *e = find(t, s), **bucket = bucket_of(t, s);
    if (!e) {
        if (t->count >= MOST || !(e = calloc(1, sizeof *e))) return NULL;
        e->shape = *s;
        e->next = *bucket;
        *bucket = e;
        ++t->count;
    }
    e->form = *form;
    snprintf(e->times, sizeof e->times, "%s", times);
    return e;
}

static void empty(table *t)
{
    for (int i = 0; i < BUCKETS; ++i)
        for (gemm_cl_tuned *e = t->buckets[i], *next; e; e = next) {
            next = e->next;
            free(e);
        }
    *t = (table){0};
}

/* The entries of the table, which the caller frees. NULL: no memory. */
static gemm_cl_tuned **list(const table *t)
{
    gemm_cl_tuned **all = malloc((size_t)(t->count + 1) * sizeof *all);
    int count = 0;
    for (int i = 0; all && i < BUCKETS; ++i)
        for (gemm_cl_tuned *e = t->buckets[i]; e; e = e->next) all[count++] = e;
    return all;
}

/* ---- reading ---- */

/* The lines that say what the table was measured on. */
static void add_head(gemm_text *text)
{
    const gemm_cl_device *d = gemm_cl_opened();
    gemm_text_add(text, "darknet-gemm cl tuning 1\nversion %s\ndevice %s, driver %s\n",
                  GEMM_VERSION, d->name, d->driver);
}

/* A file while it is read. */
typedef struct reader {
    const char *at;
    int line;                   /* the number of the line at `at`, from 1 */
    char why[512];              /* what is wrong */
} reader;

static bool is_damaged(reader *r)
{
    snprintf(r->why, sizeof r->why, "line %d is damaged", r->line);
    return false;
}

static size_t length_of_line(const char *line)
{
    return strcspn(line, "\n");
}

/* Whether the file begins with this line. The first word must agree in any case. */
static bool expect_line(reader *r, const char *line)
{
    const size_t length = length_of_line(line), found = length_of_line(r->at);
    if (strncmp(r->at, line, strcspn(line, " ") + 1) || !r->at[found]) return is_damaged(r);
    if (found != length || strncmp(r->at, line, length)) {
        snprintf(r->why, sizeof r->why, "it is of another one: '%.*s' instead of '%.*s'",
                 (int)found, r->at, (int)length, line);
        return false;
    }
    r->at += found + 1;
    ++r->line;
    return true;
}

/* Reads "SHAPE = FORM (TIMES)". */
static bool read_entry(reader *r, table *t)
{
    gemm_shape shape;
    gemm_cl_form form;
    char times[GEMM_CL_TIMES_TEXT];
    const char *end = r->at + length_of_line(r->at), *at = gemm_shape_parse(r->at, &shape);
    if (!at || *end != '\n' || strncmp(at, " = ", 3) || shape.kind > GEMM_SHAPE_CONV)
        return is_damaged(r);
    const char *name = at + 3, *open = strstr(name, " (");
    if (!open || open > end || end[-1] != ')' || end - open < 3 || find(t, &shape) ||
        !gemm_cl_form_parse(name, (size_t)(open - name), shape.kind == GEMM_SHAPE_CONV, &form))
        return is_damaged(r);
    snprintf(times, sizeof times, "%.*s", (int)(end - open - 3), open + 2);
    if (!put(t, &shape, &form, times)) {
        snprintf(r->why, sizeof r->why, "it has more than %d shapes", MOST);
        return false;
    }
    r->at = end + 1;
    ++r->line;
    return true;
}

static bool read_lines(reader *r, table *t, const char *head)
{
    char last[32];
    for (const char *line = head; *line; line += length_of_line(line) + 1)
        if (!expect_line(r, line)) return false;
    while (strncmp(r->at, "end ", 4))
        if (!read_entry(r, t)) return false;
    snprintf(last, sizeof last, "end %d\n", t->count);
    return strcmp(r->at, last) ? is_damaged(r) : true;
}

/* Adds what the file has. False: nothing; r->why is a reason, or empty where there is no file. */
static bool read_file(table *t, reader *r)
{
    const char *folder = gemm_cl_settings()->cache_dir, *why = NULL;
    size_t size;
    gemm_text head = {0};
    *r = (reader){.line = 1};
    char *text = folder ? gemm_read_file(folder, file_name, &size, &why) : NULL;
    if (why) snprintf(r->why, sizeof r->why, "%s", why);
    if (!text) return false;
    add_head(&head);
    r->at = text;
    const bool whole = strlen(text) == size || is_damaged(r);
    const bool read = whole && gemm_text_whole(&head) && read_lines(r, t, head.at);
    if (!read) empty(t);
    gemm_text_free(&head);
    free(text);
    return read;
}

static void read_once(void)
{
    reader r;
    if (was_read) return;
    was_read = true;
    if (!read_file(&own, &r) && *r.why)
        fprintf(stderr, "gemm: the tuning table %s/%s is not used: %s\n",
                gemm_cl_settings()->cache_dir, file_name, r.why);
}

const gemm_cl_tuned *gemm_cl_table_find(const gemm_shape *s)
{
    read_once();
    return own.count ? find(&own, s) : NULL;
}

/* ---- writing ---- */

static int compare_entries(const void *a, const void *b)
{
    const gemm_cl_tuned *const *x = a, *const *y = b;
    return gemm_shape_compare(&(*x)->shape, &(*y)->shape);
}

/* A gemm_fill_file of a table. */
static bool write_table(FILE *out, const void *data)
{
    const table *t = data;
    gemm_text head = {0};
    gemm_cl_tuned **all = list(t);
    add_head(&head);
    if (all) qsort(all, (size_t)t->count, sizeof *all, compare_entries);
    fputs(gemm_text_part(&head), out);
    for (int i = 0; all && i < t->count; ++i) {
        char shape[GEMM_SHAPE_TEXT], form[GEMM_CL_FORM_TEXT];
        gemm_shape_print(&all[i]->shape, shape);
        gemm_cl_form_print(&all[i]->form, form);
        fprintf(out, "%s = %s (%s)\n", shape, form, all[i]->times);
    }
    fprintf(out, "end %d\n", t->count);
    const bool whole = all && !head.lost;
    gemm_text_free(&head);
    free(all);
    if (!whole) errno = ENOMEM;
    return whole && !ferror(out);
}

/* With the folder locked: adds what this process measured to what the file has now. */
static const char *merge(const void *ignored)
{
    table all = {0};
    reader r;
    (void)ignored;
    read_file(&all, &r);
    const char *why = NULL;
    for (int i = 0; i < BUCKETS; ++i)
        for (const gemm_cl_tuned *e = own.buckets[i]; e; e = e->next)
            if (e->own && !put(&all, &e->shape, &e->form, e->times)) why = "it is full";
    if (!why) why = gemm_replace_file(gemm_cl_settings()->cache_dir, file_name, write_table, &all);
    empty(&all);
    return why;
}

/* The first failure is said. Tuning goes on in memory. */
static void save(void)
{
    const char *folder = gemm_cl_settings()->cache_dir;
    const char *why = folder ? gemm_with_folder(folder, merge, NULL)
                             : "the environment names no folder";
    if (why && !unkept)
        fprintf(stderr, "gemm: the tuning table %s%s%s cannot be kept: %s; it is kept in memory\n",
                folder ? folder : "", folder ? "/" : "", file_name, why);
    unkept |= why != NULL;
}

const gemm_cl_tuned *gemm_cl_table_put(const gemm_shape *s, const gemm_cl_form *form,
                                       const char *times)
{
    read_once();
    gemm_cl_tuned *e = put(&own, s, form, times);
    if (!e) return NULL;
    e->own = true;
    e->settled = false;
    save();
    return e;
}

bool gemm_cl_table_leave(const gemm_shape *s)
{
    read_once();
    return put(&own, s, &(gemm_cl_form){.parts = 1}, "") != NULL;
}

void gemm_cl_table_forget(bool anew)
{
    empty(&own);
    was_read = anew;
    unkept = false;
}

int gemm_cl_table_settle(bool kept)
{
    int count = 0;
    for (int i = 0; i < BUCKETS; ++i)
        for (gemm_cl_tuned *e = own.buckets[i]; e; e = e->next) {
            if (!e->own || e->settled) continue;
            e->settled = true;
            count += e->form.row != NULL;
            if (!kept) e->form = (gemm_cl_form){.parts = 1};
        }
    if (count && !kept) save();
    return count;
}

bool gemm_cl_table_is_kept(void)
{
    return !unkept;
}
