/* SPDX-License-Identifier: MIT */
/*
 * The row `auto`.
 *
 *   no table            packed, at once, because a search would make small calls slower
 *   a table             the row of the shape; packed for a shape that the table lacks
 *   tuning is on        the same, but a shape that the table lacks is measured and written to it,
 *                       while there is time for it (util/budget.h)
 *
 * While a row's programs are compiled, packed computes. With a search, and where the first pass
 * shall have the bits of all others, the call compiles (gemm_context.never_waits).
 *
 * A row that declines leaves the op to packed. A convolution with its pool is the exception: `auto`
 * declines it too, so that Darknet asks for the convolution and for the pool. So is a chain: it is
 * the row's that would run each of its parts.
 */
#include "auto/auto.h"

#include "cl/configure.h"
#include "tune/turns.h"
#include "util/forked.h"

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
    int bits;                           /* of operands, at least */
    gemm_chooser by;
    gemm_auto_mode mode;
    const gemm_variant *packed;         /* the variant of GEMM_IN_AUTO_FIRST */
    const gemm_variant *recorded;       /* the variant of gemm_auto_record, or NULL */
    atomic_int state;
    pthread_mutex_t lock;               /* for who reads the file */
    bool measures;                      /* a shape that the table lacks is measured */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the rows ---- */

const char *gemm_auto_unfit(const gemm_variant *v)
{
    if (!gemm_may_take(v, own.bits)) return "auto never takes it";
    const char *why = gemm_device_lacks(v);
    if (why || v->in_auto != GEMM_IN_AUTO_WITH_GPU || gemm_cl_has_gpu()) return why;
    return "the OpenCL device is the CPU";
}

/* ---- the table ---- */

void gemm_auto_configure(const gemm_variant *rows, size_t count, int bits, gemm_auto_mode m)
{
    own.rows = rows;
    own.row_count = count;
    own.bits = bits;
    own.by = bits == 8 ? GEMM_BY_AUTO8 : bits == 16 ? GEMM_BY_AUTO16 : GEMM_BY_AUTO;
    for (size_t i = 0; i < count; ++i)
        if (rows[i].in_auto == GEMM_IN_AUTO_FIRST) own.packed = &rows[i];
    gemm_auto_set_mode(m);
}

void gemm_auto_set_mode(gemm_auto_mode m)
{
    own.mode = m;
    own.measures = m != GEMM_AUTO_READ;
    own.recorded = NULL;
    gemm_tuning_forget(m == GEMM_AUTO_ANEW);
    atomic_store(&own.state, own.packed ? UNREAD : NONE);
}

/* Whether a row of the table works on a device. */
static bool uses_device(void)
{
    const gemm_tuned *e;
    for (int i = 0; (e = gemm_tuning_next(own.by, &i));)
        if (gemm_is_on_device(e->choice.row)) return true;
    return false;
}

/* As gemm_auto_unfit. Where nothing is measured, nothing is compiled for the question. */
static const char *unfit_in_table(const gemm_variant *v)
{
    const bool compiles = v->device && v->device->limits && own.mode == GEMM_AUTO_READ;
    return compiles ? v->device->limits(v->params) : gemm_auto_unfit(v);
}

/* Whether all rows of the table can run here. Else it is not used. */
static bool rows_are_usable(void)
{
    const gemm_tuned *e;
    const char *why = NULL;
    char reason[1024];
    for (int i = 0; !why && (e = gemm_tuning_next(own.by, &i));) {
        why = unfit_in_table(e->choice.row);
        if (why)
            snprintf(reason, sizeof reason, "%s cannot run here: %s", e->choice.row->name, why);
    }
    if (why) gemm_tuning_refuse(reason);
    return !why;
}

/* Opens the device. */
static bool open_with_device(void)
{
    char *device = gemm_cl_identify();
    const bool used = gemm_tuning_open(device ? device : "none");
    free(device);
    return used;
}

/* The device is opened only where the table names a row that needs it, or where one is tuned. */
static table_state read_table(void)
{
    bool used = gemm_tuning_open(NULL);
    if (own.mode != GEMM_AUTO_READ || (used && uses_device()))
        used = open_with_device() && rows_are_usable();
    return used || own.mode != GEMM_AUTO_READ ? TABLE : NONE;
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

bool gemm_auto_uses_device(void)
{
    if (!has_table()) return false;
    if (uses_device()) return true;
    for (size_t i = 0; own.measures && i < own.row_count; ++i) {
        const gemm_variant *v = &own.rows[i];
        if (gemm_is_on_device(v) && !gemm_auto_unfit(v)) return true;
    }
    return false;
}

/* Packed, and the other rows that may compute the op. */
static bool enter(gemm_contest *t)
{
    double best = -1;
    for (size_t i = 0; i <= own.row_count && t->count < GEMM_CANDIDATES; ++i) {
        const gemm_variant *v = i ? &own.rows[i - 1] : t->usual.row;
        if (i && !is_candidate(t->op, t->from, v)) continue;
        gemm_candidate *p = &t->list[t->count++];
        gemm_try_out(t, p, &(gemm_choice){.row = v}, best);
        if (p->ms >= 0 && (best < 0 || p->ms < best)) best = p->ms;
    }
    return true;
}

/* The entry of the shape, which is measured unless another thread did so before. */
static const gemm_tuned *measure_once(const gemm_op *op, const gemm_shape *shape,
                                      const gemm_context *x)
{
    gemm_contest t = {.op = op, .from = x, .by = own.by, .usual.row = own.packed, .enter = enter,
                      .alloc = gemm_cl_alloc};
    return gemm_measure(&t, shape);
}

/* ---- recording ---- */

static const gemm_tuned *record(const gemm_op *op, const gemm_shape *shape)
{
    const gemm_variant *row = gemm_op_offered(op, own.recorded) ? own.recorded : own.packed;
    return gemm_tuning_put(own.by, shape, &(gemm_choice){.row = row}, "by whole passes");
}

void gemm_auto_record(const gemm_variant *row)
{
    const bool ends = own.recorded && !row;
    if (!has_table()) return;
    own.recorded = row;
    if (ends && !gemm_cl_is_of_parent()) gemm_tuning_keep();
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
    const gemm_tuned *e = gemm_tuning_find(own.by, &shape);
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
                                       : gemm_tuning_find(own.by, &shape);
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
    const char *later = own.mode == GEMM_AUTO_READ ? gemm_asks_later(chosen.row, op, x) : NULL;
    if (later) return run_on(&(choice){own.packed, later, ""}, op, x);
    const gemm_status status = run_on(&chosen, op, x);
    if (status != GEMM_DECLINED || chosen.row == own.packed || op->kind == GEMM_CHAIN ||
        gemm_op_pools(op))
        return status;
    gemm_clear_note(x->note);
    return run_on(&instead, op, x);
}
