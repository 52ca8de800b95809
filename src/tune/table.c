/* SPDX-License-Identifier: MIT */
/* The tuning table in memory and in its file: see table.h. */
#include "tune/table.h"

#include "util/caches.h"
#include "util/cpu.h"
#include "util/file.h"
#include "util/forked.h"
#include "util/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef GEMM_VERSION
#define GEMM_VERSION "unknown"
#endif

enum { SLOTS = 8192 };          /* a power of 2 */
_Static_assert(GEMM_TUNING_SHAPES <= SLOTS * 3 / 4, "a search must find an empty slot soon");

static const char file_name[] = "tuning.txt";
static const struct {
    const char *word;           /* the first one of its lines */
    int bits;                   /* of operands, at least; 0: `cl` */
} choosers[GEMM_CHOOSERS] = {{"auto", 32}, {"auto16", 16}, {"auto8", 8}, {"cl", 0}};

/* A hash table with open addressing. A slot is written once, so that a reader needs no lock. */
typedef struct table {
    gemm_tuned *_Atomic slots[SLOTS];
    char *device;               /* that the file names, or NULL */
    int count;                  /* of the writer */
} table;

/* The table of this process, and all that it is made of. */
static struct {
    const char *folder, *isa;
    const gemm_variant *rows;
    size_t row_count;
    table table;
    char *device;               /* of this process, or NULL */
    bool is_read;               /* the file, or it shall not be */
    atomic_bool is_open;        /* and its device is compared */
    atomic_bool unkept;         /* the file could not be written */
    pthread_mutex_t lock;       /* for who changes the table */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void after_fork(void)
{
    pthread_mutex_init(&own.lock, NULL);
}
GEMM_IN_CHILD(after_fork)

void gemm_tuning_configure(const char *folder, const char *isa, const gemm_variant *rows,
                           size_t count)
{
    own.folder = folder;
    own.isa = isa;
    own.rows = rows;
    own.row_count = count;
}

/* ---- in memory ---- */

static void clear(table *t)
{
    for (int i = 0; t->count && i < SLOTS; ++i) free(atomic_exchange(&t->slots[i], NULL));
    free(t->device);
    t->device = NULL;
    t->count = 0;
}

/* The slot of the shape, or the empty slot that it would get. */
static uint32_t slot_of(const table *t, gemm_chooser by, const gemm_shape *s)
{
    uint32_t i = (gemm_shape_hash(s) + (uint32_t)by) % SLOTS;
    for (;; i = (i + 1) % SLOTS) {
        const gemm_tuned *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!e || (e->by == by && !gemm_shape_compare(&e->shape, s))) return i;
    }
}

static gemm_tuned *find(const table *t, gemm_chooser by, const gemm_shape *s)
{
    return atomic_load_explicit(&t->slots[slot_of(t, by, s)], memory_order_acquire);
}

static gemm_tuned *put(table *t, const gemm_tuned *entry)
{
    const uint32_t i = slot_of(t, entry->by, &entry->shape);
    gemm_tuned *e = atomic_load(&t->slots[i]);
    if (!e) {
        if (t->count >= GEMM_TUNING_SHAPES || !(e = malloc(sizeof *e))) return NULL;
        ++t->count;
    }
    *e = *entry;
    atomic_store_explicit(&t->slots[i], e, memory_order_release);
    return e;
}

static gemm_tuned *next(const table *t, int *slot)
{
    gemm_tuned *e = NULL;
    while (!e && *slot < SLOTS) e = atomic_load(&t->slots[(*slot)++]);
    return e;
}

/* ---- choices ---- */

bool gemm_may_take(const gemm_variant *v, int bits)
{
    if (v->in_auto == GEMM_IN_AUTO_16) return bits == 16;
    if (v->in_auto == GEMM_IN_AUTO_8) return bits == 8;
    return v->in_auto != GEMM_NOT_IN_AUTO;
}

void gemm_choice_print(const gemm_choice *c, char text[GEMM_CHOICE_TEXT])
{
    if (c->form.parts) gemm_cl_form_print(&c->form, text);
    else snprintf(text, GEMM_CHOICE_TEXT, "%s", c->row->name);
}

/* The choice of such a text, for a shape of this kind. False: it is none. Rows of fewer bits are
   damage to the lines of 32. */
static bool read_choice(const char *text, gemm_chooser by, int kind, gemm_choice *c)
{
    *c = (gemm_choice){.row = NULL};
    if (by == GEMM_BY_CL)
        return kind <= GEMM_SHAPE_CONV &&
               gemm_cl_form_parse(text, strlen(text), kind == GEMM_SHAPE_CONV, &c->form);
    for (size_t i = 0; i < own.row_count && !c->row; ++i)
        if (gemm_may_take(&own.rows[i], choosers[by].bits) && !strcmp(own.rows[i].name, text))
            c->row = &own.rows[i];
    return c->row && gemm_shape_offered(kind, c->row);
}

/* ---- reading ---- */

/* The lines that say what the table was measured on. */
static void add_head(gemm_text *text)
{
    char cpu[128];
    gemm_read_cpu(cpu, sizeof cpu);
    gemm_text_add(text, "darknet-gemm tuning 2\nversion %s\ncpu %s\nisa %s\nl2 %zu\n",
                  GEMM_VERSION, cpu, own.isa, gemm_find_caches()->l2);
}

/* A file while it is read. */
typedef struct reader {
    table *to;
    char *rest;                 /* behind the last line */
    int line;                   /* its number */
    char *reason;               /* what is wrong */
    size_t bytes;
} reader;

static bool is_damaged(const reader *r)
{
    snprintf(r->reason, r->bytes, "line %d is damaged", r->line);
    return false;
}

/* NULL behind the last line that ends. */
static char *next_line(reader *r)
{
    char *line = strsep(&r->rest, "\n");
    ++r->line;
    return r->rest ? line : NULL;
}

/* Whether the next lines are these. The first word of each line must agree in any case. */
static bool expect_lines(reader *r, char *wanted)
{
    while (*wanted) {
        const char *line = next_line(r), *same = strsep(&wanted, "\n");
        if (!line || strncmp(line, same, strcspn(same, " ") + 1)) return is_damaged(r);
        if (!strcmp(line, same)) continue;
        snprintf(r->reason, r->bytes, "it is of another %s: '%s' instead of '%s'",
                 r->line > 1 ? "machine" : "format", line, same);
        return false;
    }
    return true;
}

/* Puts the entry of "CHOOSER SHAPE = CHOICE (TIMES)" into the table. */
static bool read_line(reader *r, char *line)
{
    gemm_tuned e = {.by = 0};
    char *shape = strchr(line, ' ');
    if (!shape || line[strlen(line) - 1] != ')') return is_damaged(r);
    line[strlen(line) - 1] = '\0';
    *shape++ = '\0';
    while (e.by < GEMM_CHOOSERS && strcmp(line, choosers[e.by].word)) ++e.by;
    char *choice = (char *)gemm_shape_parse(shape, &e.shape);
    char *times = choice ? strstr(choice, " (") : NULL;
    if (!times || strncmp(choice, " = ", 3) || times < choice + 3) return is_damaged(r);
    *times = '\0';
    if (e.by == GEMM_CHOOSERS || find(r->to, e.by, &e.shape) ||
        !read_choice(choice + 3, e.by, e.shape.kind, &e.choice))
        return is_damaged(r);
    snprintf(e.times, sizeof e.times, "%s", times + 2);
    if (put(r->to, &e)) return true;
    snprintf(r->reason, r->bytes, "it has more than %d shapes", GEMM_TUNING_SHAPES);
    return false;
}

static bool read_lines(reader *r)
{
    static const char device[] = "device ";
    char last[32], *line;
    gemm_text head = {0};
    add_head(&head);
    char *whole = (char *)gemm_text_whole(&head);
    const bool same = whole && expect_lines(r, whole);
    gemm_text_free(&head);
    if (!same) return false;
    line = next_line(r);
    if (!line || strncmp(line, device, strlen(device))) return is_damaged(r);
    r->to->device = strdup(line + strlen(device));
    while ((line = next_line(r)) && strncmp(line, "end ", 4))
        if (!read_line(r, line)) return false;
    snprintf(last, sizeof last, "end %d", r->to->count);
    return (line && !strcmp(line, last) && !*r->rest && r->to->device) || is_damaged(r);
}

/* Whether the table became that of the file. Else it is empty, and `reason` says why in a line, or
   is "" where there is no file. */
static bool read_file(table *to, char *reason, size_t bytes)
{
    const char *why = NULL;
    size_t size;
    reason[0] = '\0';
    char *text = own.folder ? gemm_read_file(own.folder, file_name, &size, &why) : NULL;
    if (why) snprintf(reason, bytes, "%s", why);
    if (!text) return false;
    reader r = {.to = to, .rest = text, .reason = reason, .bytes = bytes};
    const bool read = strlen(text) == size ? read_lines(&r) : is_damaged(&r);
    if (!read) clear(to);
    free(text);
    return read;
}

/* Whether the file is of this OpenCL device. Else the table becomes empty, as after read_file. */
static bool is_of_device(table *t, char *reason, size_t bytes)
{
    if (!strcmp(t->device, own.device)) return true;
    snprintf(reason, bytes, "it is of another machine: 'device %s' instead of 'device %s'",
             t->device, own.device);
    clear(t);
    return false;
}

static void say_unused(const char *reason)
{
    fprintf(stderr, "gemm: the tuning table %s/%s is not used: %s\n", own.folder, file_name,
            reason);
}

bool gemm_tuning_open(const char *device)
{
    char reason[1024] = "";
    table *t = &own.table;
    pthread_mutex_lock(&own.lock);
    if (!own.is_read) read_file(t, reason, sizeof reason);
    own.is_read = true;
    if (device && !own.device) own.device = strdup(device);
    if (t->device && own.device) is_of_device(t, reason, sizeof reason);
    atomic_store(&own.is_open, own.device != NULL);
    const bool used = t->device;
    if (*reason) say_unused(reason);
    pthread_mutex_unlock(&own.lock);
    return used;
}

bool gemm_tuning_is_open(void)
{
    return atomic_load_explicit(&own.is_open, memory_order_acquire);
}

void gemm_tuning_forget(bool anew)
{
    clear(&own.table);
    own.is_read = anew;
    atomic_store(&own.is_open, false);
    atomic_store(&own.unkept, false);
}

void gemm_tuning_refuse(const char *reason)
{
    say_unused(reason);
    gemm_tuning_forget(true);
}

/* ---- entries ---- */

gemm_tuned *gemm_tuning_find(gemm_chooser by, const gemm_shape *s)
{
    return find(&own.table, by, s);
}

static gemm_tuned *add(const gemm_tuned *e)
{
    pthread_mutex_lock(&own.lock);
    gemm_tuned *new = put(&own.table, e);
    pthread_mutex_unlock(&own.lock);
    return new;
}

gemm_tuned *gemm_tuning_put(gemm_chooser by, const gemm_shape *s, const gemm_choice *c,
                            const char *times)
{
    gemm_tuned e = {.shape = *s, .by = by, .choice = *c, .own = true};
    snprintf(e.times, sizeof e.times, "%s", times);
    return add(&e);
}

gemm_tuned *gemm_tuning_leave(gemm_chooser by, const gemm_shape *s, const gemm_choice *c)
{
    return add(&(gemm_tuned){.shape = *s, .by = by, .choice = *c, .left = true});
}

bool gemm_tuning_is_full(void)
{
    return own.table.count >= GEMM_TUNING_SHAPES;
}

gemm_tuned *gemm_tuning_next(gemm_chooser by, int *at)
{
    gemm_tuned *e;
    while ((e = next(&own.table, at)) && e->by != by) {}
    return e;
}

/* ---- writing ---- */

static int compare_entries(const void *a, const void *b)
{
    const gemm_tuned *x = *(gemm_tuned *const *)a, *y = *(gemm_tuned *const *)b;
    return x->by != y->by ? (int)x->by - (int)y->by : gemm_shape_compare(&x->shape, &y->shape);
}

/* What is written. */
typedef struct writer {
    table all;
    gemm_tuned *sorted[GEMM_TUNING_SHAPES];
} writer;

static bool write_table(FILE *out, const void *data)
{
    writer *w = (writer *)data;
    gemm_tuned **sorted = w->sorted, *e;
    gemm_text head = {0};
    int count = 0;
    for (int i = 0; (e = next(&w->all, &i));) sorted[count++] = e;
    qsort(sorted, (size_t)count, sizeof *sorted, compare_entries);
    add_head(&head);
    gemm_text_add(&head, "device %s\n", own.device);
    fputs(gemm_text_part(&head), out);
    for (int i = 0; i < count; ++i) {
        char shape[GEMM_SHAPE_TEXT], choice[GEMM_CHOICE_TEXT];
        gemm_shape_print(&sorted[i]->shape, shape);
        gemm_choice_print(&sorted[i]->choice, choice);
        fprintf(out, "%s %s = %s (%s)\n", choosers[sorted[i]->by].word, shape, choice,
                sorted[i]->times);
    }
    fprintf(out, "end %d\n", count);
    const bool whole = !head.lost;
    gemm_text_free(&head);
    if (!whole) errno = ENOMEM;
    return whole && !ferror(out);
}

/* With the folder locked, so that no other process writes between the read and the rename. Returns
   NULL, or why the table is not written. */
static const char *merge(const void *data)
{
    writer *w = (writer *)data;
    char ignored[1024];
    const gemm_tuned *e;
    if (read_file(&w->all, ignored, sizeof ignored))
        is_of_device(&w->all, ignored, sizeof ignored);
    for (int i = 0; (e = next(&own.table, &i));)
        if (e->own && !put(&w->all, e)) return "it is full";
    return gemm_replace_file(own.folder, file_name, write_table, w);
}

void gemm_tuning_keep(void)
{
    static atomic_bool said;
    writer *w = calloc(1, sizeof *w);
    const char *why = !own.folder ? "the environment names no folder" : strerror(ENOMEM);
    pthread_mutex_lock(&own.lock);
    if (own.folder && own.device && w) why = gemm_with_folder(own.folder, merge, w);
    pthread_mutex_unlock(&own.lock);
    if (why && !atomic_exchange(&said, true))
        fprintf(stderr, "gemm: the tuning table %s%s%s cannot be kept: %s; it is kept in memory\n",
                own.folder ? own.folder : "", own.folder ? "/" : "", file_name, why);
    if (why) atomic_store(&own.unkept, true);
    if (w) clear(&w->all);
    free(w);
}

bool gemm_tuning_is_kept(void)
{
    return !atomic_load(&own.unkept);
}
