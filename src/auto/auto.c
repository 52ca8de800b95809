/* SPDX-License-Identifier: MIT */
/*
 * The row `auto`.
 *
 *   no table            packed, at once, because a search would make small calls slower
 *   a table             the row of the shape; packed for a shape that the table lacks
 *   tuning is on        the same, but a shape that the table lacks is measured and written to it,
 *                       while there is time for it (util/budget.h)
 *
 * A row that declines leaves the op to packed. A convolution with its pool is the exception: `auto`
 * declines it too, so that Darknet asks for the convolution and for the pool. So is a chain: it is
 * the row's that would run each of its parts.
 */
#include "auto/auto.h"

#include "auto/turns.h"
#include "cl/configure.h"
#include "tune/race.h"
#include "util/budget.h"
#include "util/forked.h"
#include "util/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why a row runs. GEMM_TRACE prints it. */
static const char by_default[] = "default", by_table[] = "tuned", just_measured[] = "measured",
                  after_decline[] = "the tuned row declined";

typedef enum table_state {
    UNREAD,                     /* nobody has looked at the file yet */
    NONE,                       /* there is no table: packed runs every op */
    TABLE
} table_state;

/* All that `auto` knows. The driver configures it, and the functions below change it. */
static struct chooser {
    const gemm_variant *rows;
    size_t row_count;
    int bits;
    gemm_auto_mode mode;
    const gemm_variant *packed;         /* the variant of GEMM_IN_AUTO_FIRST */
    const gemm_variant *recorded;       /* the variant of gemm_auto_record, or NULL */
    atomic_int state;
    gemm_tuning *table;
    pthread_mutex_t lock;               /* for who changes the table */
    bool measures;                      /* a shape that the table lacks is measured */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the rows ---- */

bool gemm_auto_may_take(const gemm_variant *v, int bits)
{
    if (v->in_auto == GEMM_IN_AUTO_16) return bits == 16;
    if (v->in_auto == GEMM_IN_AUTO_8) return bits == 8;
    return v->in_auto != GEMM_NOT_IN_AUTO;
}

const char *gemm_auto_unfit(const gemm_variant *v)
{
    if (!gemm_auto_may_take(v, own.bits)) return "auto never takes it";
    const char *why = gemm_device_lacks(v);
    if (why || v->in_auto != GEMM_IN_AUTO_WITH_GPU || gemm_cl_has_gpu()) return why;
    return "the OpenCL device is the CPU";
}

static bool read_row(const char *name, size_t length, int kind, gemm_choice *to)
{
    for (size_t i = 0; i < own.row_count; ++i) {
        to->row = &own.rows[i];
        if (gemm_auto_may_take(to->row, own.bits) && strlen(to->row->name) == length &&
            !strncmp(to->row->name, name, length))
            return gemm_shape_offered(kind, to->row);
    }
    return false;
}

static void print_row(const gemm_choice *c, char text[GEMM_CHOICE_TEXT])
{
    snprintf(text, GEMM_CHOICE_TEXT, "%s", c->row->name);
}

/* Rows of fewer bits are damage to the lines of 32. */
static const gemm_chooser *chooser(void)
{
    static const gemm_chooser by_32 = {"auto", read_row, print_row},
                              by_16 = {"auto16", read_row, print_row},
                              by_8 = {"auto8", read_row, print_row};
    return own.bits == 8 ? &by_8 : own.bits == 16 ? &by_16 : &by_32;
}

/* ---- the table ---- */

void gemm_auto_configure(const gemm_variant *rows, size_t count, int bits, gemm_auto_mode m)
{
    own.rows = rows;
    own.row_count = count;
    own.bits = bits;
    for (size_t i = 0; i < count; ++i)
        if (rows[i].in_auto == GEMM_IN_AUTO_FIRST) own.packed = &rows[i];
    gemm_auto_set_mode(m);
}

void gemm_auto_set_mode(gemm_auto_mode m)
{
    own.mode = m;
    own.measures = m != GEMM_AUTO_READ;
    own.recorded = NULL;
    gemm_tuning_free(own.table);
    own.table = NULL;
    atomic_store(&own.state, own.packed ? UNREAD : NONE);
}

/* Whether a row of the table works on a device. */
static bool uses_device(const gemm_tuning *t)
{
    gemm_tuned *list[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(t, list);
    for (int i = 0; i < count; ++i)
        if (gemm_is_on_device(list[i]->choice.row)) return true;
    return false;
}

/* Whether all rows of the table can run here. */
static bool rows_are_usable(const gemm_tuning *t, char *reason, size_t bytes)
{
    gemm_tuned *list[GEMM_TUNING_SHAPES];
    const int count = gemm_tuning_list(t, list);
    for (int i = 0; i < count; ++i) {
        const gemm_variant *row = list[i]->choice.row;
        const char *why = gemm_auto_unfit(row);
        if (!why) continue;
        snprintf(reason, bytes, "%s cannot run here: %s", row->name, why);
        return false;
    }
    return true;
}

/* Whether the file that was loaded is of this device, and its rows can run. Opens the device. */
static bool suits_device(const gemm_tuning *t, char *reason, size_t bytes)
{
    char *device = gemm_cl_identify();
    const bool suits = gemm_tuning_is_of(t, device, reason, bytes) &&
                       rows_are_usable(t, reason, bytes);
    free(device);
    return suits;
}

/* The device is opened only where the table names a row that needs it, or where one is tuned. */
static gemm_tuning *load_table(void)
{
    char reason[1024] = "";
    gemm_tuning *t = gemm_tuning_make(chooser());
    const bool read = t && gemm_tuning_load(t, reason, sizeof reason);
    const bool compares = read && (own.mode == GEMM_AUTO_TUNE || uses_device(t));
    if (read && (!compares || suits_device(t, reason, sizeof reason))) return t;
    if (*reason) gemm_tuning_say_unused(reason);
    gemm_tuning_free(t);
    return NULL;
}

static table_state read_table(void)
{
    if (own.mode != GEMM_AUTO_ANEW) own.table = load_table();
    if (!own.table && own.mode != GEMM_AUTO_READ) own.table = gemm_tuning_make(chooser());
    return own.table ? TABLE : NONE;
}

static bool read_once(void)
{
    pthread_mutex_lock(&own.lock);
    if (atomic_load(&own.state) == UNREAD) atomic_store(&own.state, (int)read_table());
    const bool found = atomic_load(&own.state) == TABLE;
    pthread_mutex_unlock(&own.lock);
    return found;
}

/* One branch where there is no table. */
static bool has_table(void)
{
    const int now = atomic_load_explicit(&own.state, memory_order_acquire);
    return now != NONE && (now == TABLE || read_once());
}

/* A child that cannot use the device must not replace the table of those that can. */
static void save_table(void)
{
    if (gemm_cl_is_of_parent()) return;
    char *device = gemm_cl_identify();
    gemm_tuning_keep(own.table, device);
    free(device);
}

bool gemm_auto_is_kept(void)
{
    return !own.table || gemm_tuning_is_kept(own.table);
}

/* The table is written so that a reader needs no lock: what another thread was adding is missing,
   or is complete. */
static void after_fork(void)
{
    pthread_mutex_init(&own.lock, NULL);
}
GEMM_IN_CHILD(after_fork)

/* ---- measuring ---- */

void gemm_auto_measure(bool on)
{
    own.measures = on;
}

/* A calibrated row is packed for all but the convolutions that have a scale. */
static bool is_candidate(const gemm_op *op, const gemm_context *x, const gemm_variant *v)
{
    const bool same = v == own.packed || gemm_op_is_alike(op, v, own.packed);
    return !same && (!v->calibrated || x->scale) && gemm_op_offered(op, v) && !gemm_auto_unfit(v);
}

/* The rows that may compute the op: packed, then the others. Returns how many. */
static int find_candidates(const gemm_op *op, const gemm_context *x,
                           const gemm_variant *rows[GEMM_TURNS_ROWS])
{
    int count = 0;
    rows[count++] = own.packed;
    for (size_t i = 0; i < own.row_count && count < GEMM_TURNS_ROWS; ++i) {
        const gemm_variant *v = &own.rows[i];
        if (is_candidate(op, x, v)) rows[count++] = v;
    }
    return count;
}

bool gemm_auto_uses_device(void)
{
    if (!has_table()) return false;
    if (uses_device(own.table)) return true;
    for (size_t i = 0; own.measures && i < own.row_count; ++i) {
        const gemm_variant *v = &own.rows[i];
        if (gemm_is_on_device(v) && !gemm_auto_unfit(v)) return true;
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

static const gemm_tuned *put(const gemm_shape *shape, const gemm_variant *row, const char *times)
{
    return gemm_tuning_put(own.table, shape, &(gemm_choice){.row = row}, times, true);
}

/* With the lock held. Returns the new entry, or NULL. `cl` may have left the shape, because the
   time was over: then the others wait for it. */
static const gemm_tuned *measure(const gemm_op *op, const gemm_shape *shape,
                                 const gemm_context *x)
{
    const int left = gemm_budget_left();
    const gemm_choice packed = {.row = own.packed};
    const gemm_variant *rows[GEMM_TURNS_ROWS];
    double ms[GEMM_TURNS_ROWS];
    char times[GEMM_TIMES_TEXT];
    const int count = find_candidates(op, x, rows);
    if (gemm_tuning_is_full(own.table)) return NULL;
    if (count > 1 && !gemm_take_turns(op, x, rows, count, ms)) return NULL;
    if (gemm_budget_left() > left) return gemm_tuning_leave(own.table, shape, &packed);
    const int winner = count > 1 ? gemm_decide(ms, count, 0) : 0;
    if (count > 1) describe_times(rows, ms, count, times);
    else snprintf(times, sizeof times, "no other row");
    const gemm_tuned *e = put(shape, rows[winner], times);
    if (!e) return NULL;
    show_progress(shape, ms, count, winner, rows, times);
    save_table();
    return e;
}

/* With the lock held. Returns the new entry, or NULL. */
static const gemm_tuned *leave(const gemm_shape *shape)
{
    const gemm_tuned *e = gemm_tuning_leave(own.table, shape, &(gemm_choice){.row = own.packed});
    if (e) gemm_budget_leave();
    return e;
}

/* The entry of the shape, which is measured unless another thread did so before. */
static const gemm_tuned *measure_once(const gemm_op *op, const gemm_shape *shape,
                                      const gemm_context *x)
{
    pthread_mutex_lock(&own.lock);
    const gemm_tuned *e = gemm_tuning_find(own.table, shape);
    if (!e && gemm_budget_is_over()) {
        e = leave(shape);
    } else if (!e) {
        gemm_budget_begin();
        e = measure(op, shape, x);
        gemm_budget_end(e && !e->left);
    }
    pthread_mutex_unlock(&own.lock);
    return e;
}

/* ---- recording ---- */

static const gemm_tuned *record(const gemm_op *op, const gemm_shape *shape)
{
    const gemm_variant *row = gemm_op_offered(op, own.recorded) ? own.recorded : own.packed;
    pthread_mutex_lock(&own.lock);
    const gemm_tuned *e = put(shape, row, "by whole passes");
    pthread_mutex_unlock(&own.lock);
    return e;
}

void gemm_auto_record(const gemm_variant *row)
{
    const bool ends = own.recorded && !row;
    if (!has_table()) return;
    own.recorded = row;
    if (ends) save_table();
}

/* ---- one op ---- */

/* A row, and why it runs. */
typedef struct choice {
    const gemm_variant *row;    /* NULL: the op is declined */
    const char *why, *times;    /* times: those of the table, or "" */
} choice;

/* The row of an entry. A child whose parent has the device takes packed for it. */
static const gemm_variant *row_in(const gemm_tuned *e)
{
    const gemm_variant *row = e->choice.row;
    return gemm_is_on_device(row) && gemm_cl_is_of_parent() ? own.packed : row;
}

/* The row that the table has. NULL: the shape shall be measured, or left. */
static const gemm_variant *row_of(const gemm_op *op, const gemm_context *x)
{
    const gemm_shape shape = gemm_op_shape(op, x);
    const gemm_tuned *e = gemm_tuning_find(own.table, &shape);
    return e ? row_in(e) : own.measures ? NULL : own.packed;
}

/* The row of part i of a chain. */
static const gemm_variant *row_of_part(const gemm_op *parts, int i, const gemm_context *x)
{
    gemm_context own_scale = *x;
    const bool scaled = parts[i].kind == GEMM_CONVOLUTION && x->chain_scales;
    own_scale.scale = scaled ? x->chain_scales[i] : NULL;
    return row_of(&parts[i], &own_scale);
}

/* The row of all parts. None where they have different ones, and where they shall be measured or
   recorded one by one. A calibrated row is packed for the layers without a scale. */
static choice choose_for_parts(const gemm_op *op, const gemm_context *x)
{
    gemm_op parts[GEMM_PARTS_MOST];
    const int count = gemm_op_parts(op, parts);
    const gemm_variant *row = own.recorded ? NULL : row_of_part(parts, 0, x);
    for (int i = 1; i < count && row; ++i) {
        const gemm_variant *next = row_of_part(parts, i, x);
        if (row == own.packed && next && next->calibrated) row = next;
        else if (next != row && !(row->calibrated && next == own.packed)) row = NULL;
    }
    return (choice){row, by_table, ""};
}

static choice choose(const gemm_op *op, const gemm_context *x)
{
    if (!has_table()) return (choice){own.packed, by_default, ""};
    if (op->kind == GEMM_CHAIN) return choose_for_parts(op, x);
    const gemm_shape shape = gemm_op_shape(op, x);
    const gemm_tuned *e = own.recorded ? record(op, &shape)
                                       : gemm_tuning_find(own.table, &shape);
    const bool known = e;
    if (!e && own.measures && !own.recorded) e = measure_once(op, &shape, x);
    if (e)
        return (choice){row_in(e), e->left ? by_default : known ? by_table : just_measured,
                        e->times};
    return (choice){own.packed, by_default, ""};
}

/* What another row kept for a layer is no use for this one. */
static void own_kept(const gemm_op *op, const gemm_context *x, const gemm_variant *row)
{
    for (int i = 0, count = gemm_op_convs(op); i < count; ++i) {
        gemm_kept *kept = gemm_op_kept(op, x, i);
        if (!kept) continue;
        if (kept->row != row) gemm_drop_kept(kept);
        kept->row = row;
    }
}

/* What GEMM_TRACE says about the row that `auto` took. */
static void note_choice(const gemm_context *x, const choice *c)
{
    gemm_note *const note = x->note;
    if (!*note->ran) strncat(note->ran, c->row->name, sizeof note->ran - 1);
    note->chosen = c->row->name;
    note->why = c->why;
    if (x->timed && *c->times) gemm_weigh_before(note, c->times);
}

static gemm_status run_on(const choice *c, const gemm_op *op, const gemm_context *x)
{
    own_kept(op, x, c->row);
    const char *lost = gemm_leaves_outputs(c->row) ? NULL : gemm_op_to_cpu(op);
    if (lost) return gemm_fail(x->note, lost);
    const gemm_status status = gemm_op_call(op, c->row, x);
    note_choice(x, c);
    return status;
}

/* ---- the functions of the row ---- */

gemm_status gemm_auto_multiply(const gemm_call *c, const gemm_context *x, const void *params)
{
    const gemm_op op = gemm_op_of_multiply(c);
    return gemm_auto_run(&op, x, params);
}

gemm_status gemm_auto_run(const gemm_op *op, const gemm_context *x, const void *params)
{
    (void)params;
    const choice chosen = choose(op, x), instead = {own.packed, after_decline, ""};
    if (!chosen.row || !gemm_op_offered(op, chosen.row)) return GEMM_DECLINED;
    const gemm_status status = run_on(&chosen, op, x);
    if (status != GEMM_DECLINED || chosen.row == own.packed || op->kind == GEMM_CHAIN ||
        gemm_op_pools(op))
        return status;
    gemm_clear_note(x->note);
    return run_on(&instead, op, x);
}
