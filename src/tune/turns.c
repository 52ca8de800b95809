/* SPDX-License-Identifier: MIT */
/* Candidates in turns: see turns.h. */
#include "tune/turns.h"

#include "cl/configure.h"
#include "util/budget.h"
#include "util/caches.h"
#include "util/clock.h"
#include "util/forked.h"
#include "util/text.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15, LEAST_ROUNDS = 3, LAST_ROUNDS = 7, FLUSH_BYTES = 64 << 20 };
static const double LEAST_GAIN = .01,
                    TURN_MS = 1,        /* shorter calls are timed several at once */
                    ENOUGH_MS = 300,    /* all turns together, after some rounds */
                    HOPELESS = 3;       /* who takes so many times the best has no turn */

typedef gemm_contest contest;
typedef gemm_candidate candidate;

static bool has_forms(const contest *t)
{
    return t->by == GEMM_BY_CL;
}

/* ---- what lies on a device ---- */

/* The driver has given the operands of a multiply to the CPU. */
static int spans_of(const gemm_op *op)
{
    return op->kind == GEMM_MULTIPLY ? 0 : gemm_op_spans(op);
}

static const char *take_span(const gemm_op *op, int i, gemm_cl_cpu_use use)
{
    const gemm_span s = gemm_op_span(op, i);
    return gemm_cl_give_to_cpu(s.data, s.bytes, use);
}

/* Gives the inputs to the CPU. After GEMM_CL_CPU_WRITES no device has a copy of them. */
static const char *take_inputs(const gemm_op *op, gemm_cl_cpu_use use)
{
    const char *why = NULL;
    for (int i = 0, count = spans_of(op); i < count - 1 && !why; ++i) why = take_span(op, i, use);
    return why;
}

static const char *take_output(const gemm_op *op, gemm_cl_cpu_use use)
{
    return spans_of(op) ? take_span(op, spans_of(op) - 1, use) : NULL;
}

const char *gemm_op_to_cpu(const gemm_op *op)
{
    const char *why = take_inputs(op, GEMM_CL_CPU_READS);
    return why ? why : take_output(op, GEMM_CL_CPU_WRITES);
}

/* ---- one call ---- */

static candidate begin(const contest *t, const gemm_choice *choice)
{
    candidate p = {.choice = *choice, .calls = 1, .ms = -1, .probe.form = choice->form};
    if (t->from->kept) p.kept.room = t->from->kept->room;
    return p;
}

/* Whether what ran is what shall run: a form that cannot run is replaced by another one. */
static bool ran_as_wanted(const candidate *p)
{
    const gemm_cl_form *form = &p->choice.form;
    return !form->row || (p->probe.measured && p->probe.ran.parts == form->parts);
}

/* Whether the result is there, of a row in memory of the CPU. */
static bool run(contest *t, candidate *p, const gemm_op *op)
{
    const gemm_variant *v = p->choice.row;
    const bool stays = has_forms(t);
    gemm_context *x = &t->context;
    gemm_clear_note(&t->note);
    x->kept = t->from->kept ? &p->kept : NULL;
    x->probe = stays ? &p->probe : NULL;
    if (!stays && (gemm_leaves_outputs(v) ? take_inputs(op, GEMM_CL_CPU_WRITES)
                                          : gemm_op_to_cpu(op)))
        return false;
    const gemm_status status =
        p->unpooled ? gemm_conv_then_pool(v->run, v->params, op->conv, p->unpooled, x)
                    : gemm_op_call(op, v, x);
    if (status != GEMM_DONE) return false;
    return stays ? ran_as_wanted(p) : !take_output(op, GEMM_CL_CPU_READS);
}

/* Milliseconds of one call in a turn, or -1. */
static double take_turn(contest *t, candidate *p)
{
    const bool repeats = has_forms(t) && t->op->kind == GEMM_MULTIPLY;
    double ms;
    if (repeats) return t->repeat(t, p, &ms) ? ms / p->calls : -1;
    bool done = !t->wait || t->wait();
    const double start = gemm_now_ms();
    for (int i = 0; i < p->calls && done; ++i) done = run(t, p, t->op);
    done = done && (!t->wait || t->wait());
    return done ? (gemm_now_ms() - start) / p->calls : -1;
}

/* ---- results ---- */

static bool has_result(const contest *t)
{
    return t->op->kind != GEMM_LAYER;
}

/* Before a call whose result is looked at. No element has a value that a right result has. */
static bool begin_result(contest *t)
{
    if (t->op->kind == GEMM_MULTIPLY) gemm_copy_c(t->op->multiply, t->before, true);
    if (t->op->kind != GEMM_CONVOLUTION) return true;
    if (take_output(t->op, GEMM_CL_CPU_WRITES)) return false;
    for (size_t i = 0; i < t->elements; ++i) t->op->conv->output[i] = NAN;
    return true;
}

static bool copy_result(contest *t, float *to)
{
    if (t->op->kind == GEMM_MULTIPLY) gemm_copy_c(t->op->multiply, to, false);
    if (t->op->kind != GEMM_CONVOLUTION) return true;
    if (take_output(t->op, GEMM_CL_CPU_READS)) return false;
    memcpy(to, t->op->conv->output, t->elements * sizeof *to);
    return true;
}

/* Whether two results are the same but for roundings: those of Winograd's algorithm are far below
   this. Of a row that rounds, each element is at most as far off as the largest one. Of a
   calibrated one it is a number. Where one is not finite, nothing is known of the other. */
static bool is_close(const contest *t, const gemm_variant *v, const float *a)
{
    const float *wanted = t->wanted;
    float largest = 0;
    for (size_t i = 0; i < t->elements; ++i)
        if (isfinite(wanted[i]) && fabsf(wanted[i]) > largest) largest = fabsf(wanted[i]);
    const float most = v->calibrated ? FLT_MAX : (v->rounding ? 1 : 0x1p-9f) * largest;
    for (size_t i = 0; i < t->elements; ++i)
        if (isfinite(wanted[i]) && !(fabsf(a[i] - wanted[i]) <= most)) return false;
    return true;
}

/* The usual choice computes another result where a form shall compute the right one: a buffer of
   the device may still have that of an earlier call, and a kernel that writes nothing would seem
   right. */
static bool spoil(contest *t)
{
    gemm_call other;
    conv_call shifted;
    gemm_op op = *t->op;
    float largest = 0;
    if (op.kind == GEMM_MULTIPLY) {
        other = *op.multiply;
        other.ALPHA = 1 - 2 * other.ALPHA;
        op.multiply = &other;
        return run(t, &t->spoiler, &op);
    }
    shifted = *op.conv;
    for (size_t i = 0; i < t->elements; ++i)
        if (isfinite(t->wanted[i])) largest = fmaxf(largest, fabsf(t->wanted[i]));
    for (int i = 0; i < shifted.n; ++i) t->shift[i] = op.conv->shift[i] + 4 * (1 + largest);
    shifted.shift = t->shift;
    op.conv = &shifted;
    return run(t, &t->spoiler, &op);
}

/* Whether the candidate runs and gives what the usual one gives. That one sets it. ms becomes the
   time of the call. */
static bool is_right(contest *t, candidate *p)
{
    const bool usual = p == t->list;
    if (!usual && has_forms(t) && !spoil(t)) return false;
    if (!begin_result(t)) return false;
    const double start = gemm_now_ms();
    if (!run(t, p, t->op)) return false;
    p->ms = gemm_now_ms() - start;
    if (usual || !has_result(t)) return copy_result(t, t->wanted);
    float *result = malloc(t->elements * sizeof *result);
    const bool right = result && copy_result(t, result) &&
                       (t->list->ms < 0 || is_close(t, p->choice.row, result));
    free(result);
    return right;
}

/* ---- candidates ---- */

static bool begin_contest(contest *t)
{
    const gemm_op *op = t->op;
    t->elements = gemm_op_output_bytes(op) / sizeof(float);
    t->context = *t->from;
    t->context.note = &t->note;
    t->context.first = false;       /* the steady state is measured */
    t->context.at_once = true;
    t->context.timed = false;
    t->context.never_waits = false;
    if (!has_forms(t) && take_inputs(op, GEMM_CL_CPU_READS)) return false;
    const bool shifts = has_forms(t) && op->kind == GEMM_CONVOLUTION;
    if (shifts && !(t->shift = malloc((size_t)op->conv->n * sizeof(float)))) return false;
    if (has_result(t) && !(t->wanted = malloc(t->elements * sizeof(float)))) return false;
    if (op->kind != GEMM_MULTIPLY) return true;
    t->before = malloc(t->elements * sizeof(float));
    if (t->before) gemm_copy_c(op->multiply, t->before, false);
    return t->before;
}

static void end_contest(contest *t)
{
    if (t->before) gemm_copy_c(t->op->multiply, t->before, true);
    for (int i = 0; i < t->count; ++i) gemm_candidate_end(&t->list[i]);
    gemm_candidate_end(&t->spoiler);
    free(t->shift);
    free(t->before);
    free(t->wanted);
}

void gemm_candidate_end(candidate *p)
{
    gemm_drop_kept(&p->kept);
    if (p->unpooled && !gemm_cl_free(p->unpooled)) free(p->unpooled);
}

/* Memory of the kind that Darknet's buffers have under this row. */
static float *take_unpooled(const contest *t, const candidate *p)
{
    const size_t bytes = gemm_unpooled_bytes(t->op->conv);
    float *shared = gemm_is_on_device(p->choice.row) ? t->alloc(bytes) : NULL;
    return shared ? shared : malloc(bytes);
}

static bool runs_right(contest *t, candidate *p)
{
    if (is_right(t, p)) return true;
    const bool pools = !has_forms(t) && gemm_op_pools(t->op);
    if (!pools || !(p->choice.row->kinds & GEMM_LAYERS)) return false;
    p->unpooled = take_unpooled(t, p);
    return p->unpooled && is_right(t, p);
}

/* The first call has no turn, because threads wake up, kernels are compiled and weights are
   transformed then. A row that learns from its calls runs more often (gemm_device.warm_up). */
void gemm_try_out(contest *t, candidate *p, const gemm_choice *choice, double best)
{
    const gemm_variant *v = choice->row;
    *p = begin(t, choice);
    if (p == t->list) t->spoiler = *p;
    if (!runs_right(t, p)) {
        p->ms = -1;
        return;
    }
    if (!gemm_is_on_device(v) && best >= 0 && p->ms > HOPELESS * best) return;
    const int learns = t->op->kind == GEMM_MULTIPLY && v->device ? v->device->warm_up : 0;
    for (int i = 0; i <= learns && p->ms >= 0; ++i) p->ms = take_turn(t, p);
    if (p->ms < 0 || p->ms >= TURN_MS) return;
    p->calls = (int)(TURN_MS / (p->ms + 1e-3)) + 1;
    p->ms = take_turn(t, p);
}

/* ---- the race ---- */

static double best_of(const candidate *list, int count)
{
    double best = -1;
    for (int i = 0; i < count; ++i)
        if (list[i].ms >= 0 && (best < 0 || list[i].ms < best)) best = list[i].ms;
    return best;
}

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns by which part the turns of the usual one differ: their median from the shortest. */
static double race(contest *t)
{
    double first[ROUNDS];
    int turns = 0;
    const double start = gemm_now_ms();
    for (int round = 0; round < ROUNDS;) {
        const double best = best_of(t->list, t->count);
        for (int i = 0; i < t->count; ++i) {
            candidate *p = &t->list[(i + round) % t->count];   /* nobody always follows the same */
            if (p->ms < 0 || p->ms > HOPELESS * best) continue;
            const double now = take_turn(t, p);
            if (p == t->list) first[turns++] = now;
            if (now < p->ms) p->ms = now;
        }
        if (++round >= LEAST_ROUNDS && gemm_now_ms() - start > ENOUGH_MS) break;
    }
    qsort(first, (size_t)turns, sizeof *first, compare_numbers);
    return turns && first[0] > 0 ? first[turns / 2] / first[0] - 1 : 0;
}

/* Lets the list race. Returns the index of the winner, and "packed 4.112 ms, stock 61.020 ms". */
static int take_fastest(contest *t, char times[GEMM_TIMES_TEXT])
{
    double ms[GEMM_CANDIDATES];
    const double spread = t->count > 1 ? race(t) : 0;
    char name[GEMM_CHOICE_TEXT];
    times[0] = '\0';
    for (int i = 0; i < t->count; ++i) {
        ms[i] = t->list[i].ms;
        gemm_choice_print(&t->list[i].choice, name);
        if (ms[i] >= 0)
            gemm_append(times, GEMM_TIMES_TEXT, "%s%s %.3f ms", *times ? ", " : "", name, ms[i]);
    }
    return gemm_decide(ms, t->count, has_forms(t) ? spread : 0);
}

int gemm_decide(const double *ms, int count, double spread)
{
    const double margin = spread > LEAST_GAIN ? spread : LEAST_GAIN;
    int best = 0;
    for (int i = 1; i < count; ++i)
        if (ms[i] >= 0 && (ms[best] < 0 || ms[i] < ms[best])) best = i;
    const bool usual_is_close = ms[0] >= 0 && ms[best] >= ms[0] * (1 - margin);
    return usual_is_close ? 0 : best;
}

bool gemm_confirm(double *parts, int count)
{
    qsort(parts, (size_t)count, sizeof *parts, compare_numbers);
    return parts[0] >= 0 && parts[count - 2] < 1 - LEAST_GAIN;
}

/* Writes more than most caches hold. Between two passes over a layer a network does so too. */
static void flush_caches(volatile char *memory)
{
    for (size_t i = 0; memory && i < FLUSH_BYTES; i += CACHE_LINE) memory[i] = 1;
}

/* Lets a form and the usual one take turns again, A B B A. Returns the median of its parts of the
   usual one's time. On a CPU each call finds its operands in memory. Another device has caches of
   its own. */
static double run_off(contest *t, int winner, bool *confirmed)
{
    char *memory = t->cold ? malloc(FLUSH_BYTES) : NULL;
    double parts[LAST_ROUNDS];
    for (int round = 0; round < LAST_ROUNDS; ++round) {
        double ms[4];
        bool failed = false;
        for (int i = 0; i < 4; ++i) {
            candidate *p = &t->list[i == 1 || i == 2 ? winner : 0];
            if (memory) p->calls = 1;
            flush_caches(memory);
            ms[i] = take_turn(t, p);
            failed |= ms[i] < 0;
        }
        parts[round] = failed ? -1 : (ms[1] + ms[2]) / (ms[0] + ms[3]);
    }
    free(memory);
    *confirmed = gemm_confirm(parts, LAST_ROUNDS);
    return parts[LAST_ROUNDS / 2];
}

/* One line for each shape. A part below 0: there is no other candidate. */
static void show(const gemm_tuned *e, double part, const gemm_choice *other)
{
    char text[GEMM_SHAPE_TEXT], name[GEMM_CHOICE_TEXT];
    char line[GEMM_SHAPE_TEXT + 2 * GEMM_CHOICE_TEXT + 64] = "";
    gemm_shape_print(&e->shape, text);
    gemm_choice_print(&e->choice, name);
    gemm_append(line, sizeof line, "gemm: %stuned %s: %s", e->by == GEMM_BY_CL ? "cl " : "", text,
                name);
    if (part >= 0) {
        gemm_choice_print(other, name);
        gemm_append(line, sizeof line, ", %.2f of %s", part, name);
    }
    fprintf(stderr, "%s (%s)\n", line, e->times);
}

/* The fastest one but the winner, or the winner where it is alone. */
static const candidate *second(const contest *t, int winner)
{
    const candidate *first = &t->list[winner], *other = first;
    for (const candidate *p = t->list; p < t->list + t->count; ++p)
        if (p != first && p->ms >= 0 && (other == first || p->ms < other->ms)) other = p;
    return other;
}

/* The list has run. A form that wins is shown beside the usual one, a row beside the next one. */
static const gemm_tuned *decide(contest *t, const gemm_shape *shape)
{
    char times[GEMM_TIMES_TEXT];
    int winner = take_fastest(t, times);
    const candidate *other = second(t, winner);
    double part = other == &t->list[winner] ? -1 : t->list[winner].ms / other->ms;
    if (has_forms(t)) {
        bool confirmed = false;
        other = t->list;
        part = winner ? run_off(t, winner, &confirmed) : -1;
        if (winner) gemm_append(times, sizeof times, "; then %.2f of default", part);
        if (!confirmed) winner = 0, part = -1;
    }
    gemm_choice kept = t->list[winner].choice;
    if (has_forms(t)) kept.row = NULL;      /* it lasts as long as the call */
    const gemm_tuned *e = gemm_tuning_put(t->by, shape, &kept, times);
    if (e) show(e, part, &other->choice);
    /* A child that cannot use the device must not replace the table of those that can. */
    if (e && !gemm_cl_is_of_parent()) gemm_tuning_keep();
    return e;
}

/* `cl` may have left the shape, because the time was over: then the others wait for it. */
static const gemm_tuned *measure(contest *t, const gemm_shape *shape)
{
    const gemm_tuned *e = NULL;
    const int left = gemm_budget_left();
    gemm_budget_begin();
    if (!gemm_tuning_is_full() && begin_contest(t) && t->enter(t))
        e = !has_forms(t) && gemm_budget_left() > left
                ? gemm_tuning_leave(t->by, shape, &t->usual) : decide(t, shape);
    end_contest(t);
    gemm_budget_end(e && !e->left);
    return e;
}

/* One op of a chooser at a time: `auto` measures `cl`, which measures its forms. */
static pthread_mutex_t locks[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void after_fork(void)
{
    for (int i = 0; i < 2; ++i) pthread_mutex_init(&locks[i], NULL);
}
GEMM_IN_CHILD(after_fork)

const gemm_tuned *gemm_measure(contest *t, const gemm_shape *shape)
{
    pthread_mutex_t *const lock = &locks[has_forms(t)];
    pthread_mutex_lock(lock);
    const gemm_tuned *e = gemm_tuning_find(t->by, shape);
    const bool over = !e && gemm_budget_is_over();
    if (over && !has_forms(t)) e = gemm_leave(t->by, shape, &t->usual);
    if (!e && !over) e = measure(t, shape);
    pthread_mutex_unlock(lock);
    return e;
}

const gemm_tuned *gemm_leave(gemm_chooser by, const gemm_shape *shape, const gemm_choice *usual)
{
    const gemm_tuned *e = gemm_tuning_leave(by, shape, usual);
    if (e) gemm_budget_leave();
    return e;
}
