/*
 * The tuning table: see tuning.h.
 *
 * In memory it is a hash table with open addressing and a fixed number of slots. A slot is written
 * once, so that a reader needs no lock.
 */
#include "driver/tuning.h"

#include "cl/configure.h"
#include "util/caches.h"
#include "util/cpu.h"
#include "util/file.h"
#include "util/number.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#ifndef GEMM_VERSION
#define GEMM_VERSION "unknown"
#endif

enum {
    SLOTS = 4096,               /* a power of 2 */
    MOST_SHAPES = SLOTS * 3 / 4,
    PATH_LEN = 1152,
    MACHINE_TEXT = 1024,
};

struct gemm_tuning {
    gemm_tuned *_Atomic slots[SLOTS];
    int count;                  /* of the writer */
};

/* ---- in memory ---- */

gemm_tuning *gemm_tuning_make(void)
{
    return calloc(1, sizeof(gemm_tuning));
}

void gemm_tuning_free(gemm_tuning *t)
{
    for (int i = 0; t && i < SLOTS; ++i) free(atomic_load(&t->slots[i]));
    free(t);
}

/* The slot of the shape, or the empty slot that it would get. */
static uint32_t slot_of(const gemm_tuning *t, const gemm_shape *s)
{
    uint32_t i = gemm_shape_hash(s) % SLOTS;
    for (;; i = (i + 1) % SLOTS) {
        const gemm_tuned *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!e || !gemm_shape_compare(&e->shape, s)) return i;
    }
}

const gemm_tuned *gemm_tuning_find(const gemm_tuning *t, const gemm_shape *s)
{
    return atomic_load_explicit(&t->slots[slot_of(t, s)], memory_order_acquire);
}

static gemm_tuned *put(gemm_tuning *t, const gemm_shape *s, const gemm_variant *row,
                       const char *times, bool own)
{
    const uint32_t i = slot_of(t, s);
    gemm_tuned *e = atomic_load(&t->slots[i]);
    if (!e) {
        if (gemm_tuning_is_full(t) || !(e = calloc(1, sizeof *e))) return NULL;
        e->shape = *s;
        ++t->count;
    }
    atomic_store(&e->row, row);
    e->own = own;
    snprintf(e->times, sizeof e->times, "%s", times);
    atomic_store_explicit(&t->slots[i], e, memory_order_release);
    return e;
}

const gemm_tuned *gemm_tuning_put(gemm_tuning *t, const gemm_shape *s, const gemm_variant *row,
                                  const char *times)
{
    return put(t, s, row, times, true);
}

bool gemm_tuning_is_full(const gemm_tuning *t)
{
    return t->count >= MOST_SHAPES;
}

bool gemm_tuning_uses_device(const gemm_tuning *t)
{
    for (int i = 0; i < SLOTS; ++i) {
        const gemm_tuned *e = atomic_load(&t->slots[i]);
        if (e && atomic_load(&e->row)->on_device) return true;
    }
    return false;
}

const char *gemm_tuning_unfit(const gemm_variant *v)
{
    if (v->in_auto == GEMM_NOT_IN_AUTO) return "auto never takes it";
    const char *why = v->unusable ? v->unusable(v->params) : NULL;
    if (why || v->in_auto != GEMM_IN_AUTO_WITH_GPU || gemm_cl_has_gpu()) return why;
    return "the OpenCL device is the CPU";
}

/* ---- the lines that say which machine it is ---- */

static void describe_machine(const gemm_tuning_file *f, char text[MACHINE_TEXT])
{
    char cpu[128];
    gemm_read_cpu(cpu, sizeof cpu);
    snprintf(text, MACHINE_TEXT, "darknet-gemm tuning 1\nversion %s\ncpu %s\nisa %s\nl2 %zu\n",
             GEMM_VERSION, cpu, f->isa, gemm_find_caches()->l2);
}

static void describe_device(char text[MACHINE_TEXT])
{
    char device[512];
    const bool found = gemm_cl_identify(device, sizeof device);
    snprintf(text, MACHINE_TEXT, "device %s\n", found ? device : "none");
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
        if (v->in_auto && strlen(v->name) == length && !strncmp(v->name, name, length))
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
    if (!put(t, &shape, row, copy, false)) {
        snprintf(r->reason, r->bytes, "it has more than %d shapes", MOST_SHAPES);
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
    for (int i = 0; i < SLOTS; ++i) {
        const gemm_tuned *e = atomic_load(&t->slots[i]);
        const gemm_variant *row = e ? atomic_load(&e->row) : NULL;
        const char *why = row ? gemm_tuning_unfit(row) : NULL;
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
    describe_device(lines);
    return expect_lines(&device_line, lines) && rows_are_usable(r, t);
}

static bool path_of(const gemm_tuning_file *f, char path[PATH_LEN])
{
    path[0] = '\0';
    return f->folder && gemm_append(path, PATH_LEN, "%s/tuning.txt", f->folder);
}

/* Reads the file into a new table. Returns NULL when it cannot be used. */
static gemm_tuning *read_file(const gemm_tuning_file *f, bool device, char *reason, size_t bytes)
{
    char path[PATH_LEN];
    size_t size;
    reason[0] = '\0';
    if (!path_of(f, path)) return NULL;
    char *text = gemm_read_file(path, &size);
    if (!text) {
        if (!access(path, F_OK)) snprintf(reason, bytes, "it cannot be read");
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
    for (int i = 0; i < SLOTS; ++i) {
        const gemm_tuned *e = atomic_load(&from->slots[i]);
        if (e && (e->own || !own)) put(to, &e->shape, atomic_load(&e->row), e->times, e->own);
    }
}

bool gemm_tuning_load(gemm_tuning *t, const gemm_tuning_file *f, bool device, char *reason,
                      size_t bytes)
{
    char why[512], path[PATH_LEN];
    gemm_tuning *read = read_file(f, device, why, sizeof why);
    reason[0] = '\0';
    if (read) copy_entries(read, t, false);
    else if (*why && path_of(f, path))
        snprintf(reason, bytes, "the tuning table %s is not used: %s", path, why);
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
    const gemm_tuned *sorted[MOST_SHAPES];
    size_t count = 0;
    for (int i = 0; i < SLOTS; ++i) {
        const gemm_tuned *e = atomic_load(&w->tuning->slots[i]);
        if (e) sorted[count++] = e;
    }
    qsort(sorted, count, sizeof *sorted, compare_entries);
    describe_machine(w->file, lines);
    fputs(lines, out);
    describe_device(lines);
    fputs(lines, out);
    for (size_t i = 0; i < count; ++i) write_entry(out, sorted[i]);
    fprintf(out, "end %zu\n", count);
    return !ferror(out);
}

/* With the folder locked, so that no other process writes between the read and the rename. */
static int merge(const gemm_tuning *t, const gemm_tuning_file *f, const char *path)
{
    char ignored[512];
    gemm_tuning *all = read_file(f, true, ignored, sizeof ignored);
    if (!all) all = gemm_tuning_make();
    if (!all) return ENOMEM;
    copy_entries(t, all, true);
    const writer w = {all, f};
    const int error = gemm_replace_file(f->folder, path, write_table, &w);
    gemm_tuning_free(all);
    return error;
}

bool gemm_tuning_save(const gemm_tuning *t, const gemm_tuning_file *f, char *reason, size_t bytes)
{
    char path[PATH_LEN];
    if (!path_of(f, path)) {
        snprintf(reason, bytes, "the tuning table cannot be kept: the environment names no folder");
        return false;
    }
    int error = 0;
    const int folder =
        gemm_make_folder(f->folder) ? open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    /* A file system without locks: the file is still whole, but may lack the other's shapes. */
    if (folder >= 0) flock(folder, LOCK_EX);
    error = folder < 0 ? errno : merge(t, f, path);
    if (folder >= 0) close(folder);
    if (!error) return true;
    snprintf(reason, bytes, "the tuning table %s cannot be kept: %s", path, strerror(error));
    return false;
}
