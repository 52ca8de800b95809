/*
 * The row `auto`.
 *
 *   no table            packed, at once, because a search would make small calls slower
 *   a table             the row of the shape; packed for a shape that the table lacks
 *   tuning is on        the same, but a shape that the table lacks is measured and written to it
 *
 * A row that declines leaves the call to packed. A convolution with its pool is the exception:
 * `auto` declines it too, so that Darknet asks for the convolution and for the pool.
 */
#include "auto/auto.h"

#include "auto/decide.h"
#include "auto/turns.h"
#include "cl/configure.h"
#include "packed/chain/chain.h"
#include "packed/packed.h"
#include "util/forked.h"
#include "util/text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Why a row runs. GEMM_TRACE prints it. */
static const char by_default[] = "default", by_table[] = "tuned", just_measured[] = "measured",
                  after_decline[] = "the tuned row declined";

static gemm_tuning_file file;
static gemm_auto_mode mode;
static const gemm_variant *packed;      /* its row */
static const gemm_variant *recorded;    /* the row of gemm_auto_record, or NULL */

typedef enum table_state {
    UNREAD,                     /* nobody has looked at the file yet */
    NONE,                       /* there is no table: packed runs every call */
    TABLE
} table_state;

static atomic_int state;
static gemm_tuning *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* for who changes the table */
static bool measures;                   /* a shape that the table lacks is measured */
static bool unkept;                     /* the file could not be written */

/* ---- the table ---- */

void gemm_auto_configure(const gemm_tuning_file *f, gemm_auto_mode m)
{
    file = *f;
    for (size_t i = 0; i < file.row_count; ++i)
        if (file.rows[i].run == gemm_packed) packed = &file.rows[i];
    gemm_auto_set_mode(m);
}

void gemm_auto_set_mode(gemm_auto_mode m)
{
    mode = m;
    measures = m != GEMM_AUTO_READ;
    recorded = NULL;
    gemm_tuning_free(table);
    table = NULL;
    atomic_store(&state, packed ? UNREAD : NONE);
}

static table_state read_table(void)
{
    char reason[1536];
    gemm_tuning *t = gemm_tuning_make();
    const bool read = t && mode != GEMM_AUTO_ANEW &&
                      gemm_tuning_load(t, &file, mode == GEMM_AUTO_TUNE, reason, sizeof reason);
    if (t && mode != GEMM_AUTO_ANEW && !read && *reason) fprintf(stderr, "gemm: %s\n", reason);
    if (read || (t && mode != GEMM_AUTO_READ)) {
        table = t;
        return TABLE;
    }
    gemm_tuning_free(t);
    return NONE;
}

static bool read_once(void)
{
    pthread_mutex_lock(&lock);
    if (atomic_load(&state) == UNREAD) atomic_store(&state, (int)read_table());
    const bool found = atomic_load(&state) == TABLE;
    pthread_mutex_unlock(&lock);
    return found;
}

/* One branch where there is no table. */
static bool has_table(void)
{
    const int now = atomic_load_explicit(&state, memory_order_acquire);
    return now != NONE && (now == TABLE || read_once());
}

/* The first failure is said. Tuning goes on in memory. A child that cannot use the device must not
   replace the table of those that can. */
static void save_table(void)
{
    char reason[1536];
    if (gemm_cl_is_of_parent()) return;
    if (gemm_tuning_save(table, &file, reason, sizeof reason) || unkept) return;
    unkept = true;
    fprintf(stderr, "gemm: %s; it is kept in memory\n", reason);
}

bool gemm_auto_is_kept(void)
{
    return !unkept;
}

/* The table is written so that a reader needs no lock: what another thread was adding is missing,
   or is complete. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
GEMM_IN_CHILD(after_fork)

/* ---- measuring ---- */

void gemm_auto_measure(bool on)
{
    measures = on;
}

/* The rows that may compute a call of this kind: packed, then the others. Returns how many. */
static int find_candidates(int kind, const gemm_variant *rows[GEMM_TURNS_ROWS])
{
    int count = 0;
    rows[count++] = packed;
    for (size_t i = 0; i < file.row_count && count < GEMM_TURNS_ROWS; ++i) {
        const gemm_variant *v = &file.rows[i];
        /* A row may offer packed's function for layers as its own. */
        const bool same = v == packed || (kind >= GEMM_SHAPE_LAYER && v->layer == packed->layer);
        if (!same && gemm_shape_offered(kind, v) && !gemm_tuning_unfit(v)) rows[count++] = v;
    }
    return count;
}

bool gemm_auto_uses_device(void)
{
    if (!has_table()) return false;
    if (gemm_tuning_uses_device(table)) return true;
    for (size_t i = 0; measures && i < file.row_count; ++i) {
        const gemm_variant *v = &file.rows[i];
        if (v->on_device && !gemm_tuning_unfit(v)) return true;
    }
    return false;
}

/* "packed 4.112 ms, stock 61.020 ms" */
static void describe_times(const gemm_variant *const *rows, const double *ms, int count,
                           char text[GEMM_TIMES_TEXT])
{
    text[0] = '\0';
    for (int i = 0; i < count; ++i)
        if (ms[i] >= 0)
            gemm_append(text, GEMM_TIMES_TEXT, "%s%s %.3f ms", *text ? ", " : "", rows[i]->name,
                        ms[i]);
}

/* One line for each shape. */
static void show_progress(const gemm_shape *shape, const double *ms, int count, int winner,
                          const gemm_variant *const *rows, const char *times)
{
    char text[GEMM_SHAPE_TEXT], line[GEMM_SHAPE_TEXT + 160] = "";
    int other = -1;
    for (int i = 0; count > 1 && i < count; ++i)
        if (i != winner && ms[i] >= 0 && (other < 0 || ms[i] < ms[other])) other = i;
    gemm_shape_print(shape, text);
    gemm_append(line, sizeof line, "gemm: tuned %s: %s", text, rows[winner]->name);
    if (other >= 0)
        gemm_append(line, sizeof line, ", %.2f of %s", ms[winner] / ms[other], rows[other]->name);
    fprintf(stderr, "%s (%s)\n", line, times);
}

/* With the lock held. Returns the new entry, or NULL. */
static const gemm_tuned *measure(const gemm_any_call *c, const gemm_context *x)
{
    const gemm_variant *rows[GEMM_TURNS_ROWS];
    double ms[GEMM_TURNS_ROWS];
    char times[GEMM_TIMES_TEXT];
    const int count = find_candidates(c->shape.kind, rows);
    if (gemm_tuning_is_full(table)) return NULL;
    if (count > 1 && !gemm_take_turns(c, x, rows, count, ms)) return NULL;
    const int winner = count > 1 ? gemm_decide(ms, count) : 0;
    if (count > 1) describe_times(rows, ms, count, times);
    else snprintf(times, sizeof times, "no other row");
    const gemm_tuned *e = gemm_tuning_put(table, &c->shape, rows[winner], times, true);
    if (!e) return NULL;
    show_progress(&c->shape, ms, count, winner, rows, times);
    save_table();
    return e;
}

/* The entry of the shape, which is measured unless another thread did so before. */
static const gemm_tuned *measure_once(const gemm_any_call *c, const gemm_context *x)
{
    pthread_mutex_lock(&lock);
    const gemm_tuned *e = gemm_tuning_find(table, &c->shape);
    if (!e) e = measure(c, x);
    pthread_mutex_unlock(&lock);
    return e;
}

/* ---- recording ---- */

static const gemm_tuned *record(const gemm_any_call *c)
{
    const bool offered = gemm_shape_offered(c->shape.kind, recorded);
    pthread_mutex_lock(&lock);
    const gemm_tuned *e =
        gemm_tuning_put(table, &c->shape, offered ? recorded : packed, "by whole passes", true);
    pthread_mutex_unlock(&lock);
    return e;
}

void gemm_auto_record(const gemm_variant *row)
{
    const bool ends = recorded && !row;
    if (!has_table()) return;
    recorded = row;
    if (ends) save_table();
}

/* ---- one call ---- */

/* What another row kept for the layer is no use for this one. */
static void own_kept(gemm_kept *kept, const gemm_variant *row)
{
    if (kept && kept->row != row) gemm_drop_kept(kept);
}

/* The row of an entry. A child whose parent has the device takes packed for it. */
static const gemm_variant *row_in(const gemm_tuned *e)
{
    const gemm_variant *row = atomic_load_explicit(&e->row, memory_order_relaxed);
    return row->on_device && gemm_cl_is_of_parent() ? packed : row;
}

/* What GEMM_TRACE says about the row that `auto` took. */
static void note_choice(gemm_note *note, const gemm_variant *row, const char *why)
{
    if (!*note->ran) snprintf(note->ran, sizeof note->ran, "%s", row->name);
    note->chosen = row->name;
    note->why = why;
}

static gemm_status run_on(const gemm_variant *row, const gemm_any_call *c, const gemm_context *x,
                          const char *why)
{
    own_kept(x->kept, row);
    const char *lost = row->leaves ? NULL : gemm_any_to_cpu(c);
    if (lost) return gemm_fail(x->note, lost);
    const gemm_status status = gemm_run_any(row, c, x);
    if (x->kept) x->kept->row = row;
    note_choice(x->note, row, why);
    return status;
}

static gemm_status run_tuned(const gemm_any_call *c, const gemm_context *x)
{
    const char *why = by_table;
    const gemm_tuned *e = recorded ? record(c) : gemm_tuning_find(table, &c->shape);
    if (!e && measures && !recorded) {
        e = measure_once(c, x);
        why = just_measured;
    }
    const gemm_variant *row = e ? row_in(e) : packed;
    const gemm_status status = run_on(row, c, x, e ? why : by_default);
    if (status != GEMM_DECLINED || row == packed || (c->conv && c->conv->pool)) return status;
    gemm_clear_note(x->note);
    return run_on(packed, c, x, after_decline);
}

/* A multiply without a table. It may be small, so nothing is printed to the note. */
static gemm_status run_packed(const gemm_call *c, const gemm_context *x, const void *params)
{
    memcpy(x->note->ran, "packed", sizeof "packed");
    x->note->chosen = "packed";
    x->note->why = by_default;
    return gemm_packed(c, x, params);
}

gemm_status gemm_auto_run(const gemm_call *c, const gemm_context *x, const void *params)
{
    if (!has_table()) return run_packed(c, x, params);
    const gemm_any_call any = {.shape = gemm_shape_of_call(c, x), .multiply = c};
    return run_tuned(&any, x);
}

gemm_status gemm_auto_conv(const conv_call *c, const gemm_context *x, const void *params)
{
    (void)params;
    const gemm_any_call any = {.shape = gemm_shape_of_conv(c, x), .conv = c};
    return has_table() ? run_tuned(&any, x) : run_on(packed, &any, x, by_default);
}

/* ---- a chain ---- */

/* The row that would run the layer. NULL: its shape shall be measured. */
static const gemm_variant *row_of(const gemm_shape *shape)
{
    const gemm_tuned *e = gemm_tuning_find(table, shape);
    return e ? row_in(e) : measures ? NULL : packed;
}

/* The row that would run each of the layers, or NULL where there is no such row. */
static const gemm_variant *row_of_all(const conv_call *calls, int count,
                                      const layer_call *shortcut, const gemm_context *x)
{
    const gemm_variant *row = NULL;
    for (int i = 0; i < count + (shortcut != NULL); ++i) {
        const gemm_shape shape = i < count ? gemm_shape_of_conv(&calls[i], x)
                                           : gemm_shape_of_layer(shortcut, x);
        const gemm_variant *own = row_of(&shape);
        if (!own || (i && own != row)) return NULL;
        row = own;
    }
    return row;
}

static gemm_status run_chain_on(const gemm_variant *row, const conv_call *calls, int count,
                                const layer_call *shortcut, const gemm_context *x)
{
    for (int i = 0; x->chain_kept && i < count; ++i) own_kept(x->chain_kept[i], row);
    const char *lost = row->leaves ? NULL : gemm_chain_to_cpu(calls, count, shortcut);
    if (lost) return gemm_fail(x->note, lost);
    const gemm_status status = row->chain(calls, count, shortcut, x, row->params);
    for (int i = 0; x->chain_kept && i < count; ++i)
        if (x->chain_kept[i]) x->chain_kept[i]->row = row;
    return status;
}

/* A chain is the row's that would run each of its layers. It is declined where the layers have
   different rows, and where they shall be measured or recorded one by one. */
gemm_status gemm_auto_chain(const conv_call *calls, int count, const layer_call *shortcut,
                            const gemm_context *x, const void *params)
{
    const bool tuned = has_table();
    const gemm_variant *row = !tuned ? packed
                            : recorded ? NULL : row_of_all(calls, count, shortcut, x);
    (void)params;
    if (!row || !row->chain) return GEMM_DECLINED;
    const gemm_status status = run_chain_on(row, calls, count, shortcut, x);
    note_choice(x->note, row, tuned ? by_table : by_default);
    return status;
}

gemm_status gemm_auto_layer(const layer_call *c, const gemm_context *x, const void *params)
{
    (void)params;
    const gemm_any_call any = {.shape = gemm_shape_of_layer(c, x), .layer = c};
    return has_table() ? run_tuned(&any, x) : run_on(packed, &any, x, by_default);
}
