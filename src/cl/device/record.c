/* SPDX-License-Identifier: MIT */
/*
 * Launches that come again and again: see record.h.
 */
#include "cl/device/record.h"

#include "cl/device/pending.h"
#include "cl/device/recorder.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEQUENCES = 8,              /* of several networks, or of parts of a pass */
    SHORTEST = 4, LONGEST = 4096,       /* launches of one */
    STANDS = 2                  /* it came so often: it is recorded */
};

typedef struct launch {
    const gemm_cl_program *program;
    size_t global[3], local[3];
    unsigned char bytes[GEMM_CL_MOST_ARGS];
    unsigned char values[GEMM_CL_MOST_BYTES];   /* one behind the other */
} launch;

typedef struct sequence {
    launch *list;
    size_t count, room;
    bool lost;                  /* it has more launches than the list */
    int seen;
    unsigned long used;         /* the number of the sequence that was it last */
    gemm_cl_fixed *fixed;       /* the launches with kernels of their own, or NULL */
    gemm_cl_recorded *recorded; /* NULL: it is not */
} sequence;

static sequence now;            /* launches that are enqueued, since it began */
static sequence known[SEQUENCES];
static sequence *replayed;      /* the recorded one that the launches follow, or NULL */
static size_t followed;         /* so many of its launches came; whole parts are enqueued */
static unsigned long sequences;
static unsigned long released;  /* memory objects */
static bool in_flight;          /* a recording may be in the queue */

/* ---- launches ---- */

static bool is_same(const launch *l, const gemm_cl_program *p, const gemm_cl_arguments *args,
                    const size_t *global, const size_t *local)
{
    if (l->program != p || memcmp(l->global, global, sizeof l->global) ||
        memcmp(l->local, local, sizeof l->local))
        return false;
    const unsigned char *at = l->values;
    for (cl_uint i = 0; i < p->args; at += l->bytes[i++])
        if (l->bytes[i] != args->of[i].bytes || memcmp(at, args->of[i].value, l->bytes[i]))
            return false;
    return true;
}

/* Room for one more. NULL: there is none, and the sequence is not kept. */
static launch *add(sequence *s)
{
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        launch *list = room > LONGEST ? NULL : realloc(s->list, room * sizeof *list);
        if (!list) {
            s->lost = true;
            return NULL;
        }
        s->list = list;
        s->room = room;
    }
    return &s->list[s->count++];
}

static void note(const gemm_cl_program *p, const gemm_cl_arguments *args, const size_t *global,
                 const size_t *local)
{
    launch *l = now.lost ? NULL : add(&now);
    if (!l) return;
    memset(l, 0, sizeof *l);
    l->program = p;
    memcpy(l->global, global, sizeof l->global);
    memcpy(l->local, local, sizeof l->local);
    unsigned char *at = l->values;
    for (cl_uint i = 0; i < p->args; at += l->bytes[i++]) {
        l->bytes[i] = (unsigned char)args->of[i].bytes;
        memcpy(at, args->of[i].value, args->of[i].bytes);
    }
}

/* ---- one sequence ---- */

static void free_fixed(sequence *s)
{
    for (size_t i = 0; s->fixed && i < s->count; ++i)
        CL_RELEASE(clReleaseKernel, s->fixed[i].kernel);
    free(s->fixed);
    s->fixed = NULL;
}

/* Empties it. The list stays for the next one. */
static void clear(sequence *s)
{
    gemm_cl_release_recorded(s->recorded);
    free_fixed(s);
    *s = (sequence){.list = s->list, .room = s->room};
}

/* A kernel object that nobody else sets arguments of. */
static int fix(const launch *l, gemm_cl_fixed *f)
{
    memcpy(f->global, l->global, sizeof f->global);
    memcpy(f->local, l->local, sizeof f->local);
    CL_MAKE(f->kernel, clCreateKernel(l->program->program, l->program->name, &error));
    const unsigned char *at = l->values;
    for (cl_uint i = 0; i < l->program->args; at += l->bytes[i++])
        CL_TRY(clSetKernelArg(f->kernel, i, l->bytes[i], at));
    return 0;
fail:
    return -1;
}

/* Where that is refused, the sequence stays as it is, and is tried again when it comes again. */
static void record(sequence *s)
{
    s->fixed = calloc(s->count, sizeof *s->fixed);
    bool made = s->fixed;
    for (size_t i = 0; made && i < s->count; ++i) made = fix(&s->list[i], &s->fixed[i]) == 0;
    if (made && (s->recorded = gemm_cl_record(s->fixed, s->count))) return;
    free_fixed(s);
    s->seen = 0;
}

static bool is_same_sequence(const sequence *a, const sequence *b)
{
    return a->count == b->count && !memcmp(a->list, b->list, a->count * sizeof *a->list);
}

/* The one that `now` is, or the place for it. */
static sequence *find_known(void)
{
    sequence *oldest = &known[0];
    for (sequence *s = known; s < known + SEQUENCES; ++s) {
        if (s->count && is_same_sequence(s, &now)) return s;
        if (s->used < oldest->used) oldest = s;
    }
    return oldest;
}

/* All launches of `now` are enqueued. */
static void learn(void)
{
    sequence *s = find_known();
    if (!s->count || !is_same_sequence(s, &now)) {
        clear(s);
        const sequence empty = *s;
        *s = now;
        now = empty;
    }
    s->used = ++sequences;
    if (++s->seen >= STANDS && !s->recorded) record(s);
}

/* ---- a sequence that comes again ---- */

/* Enqueues launches one by one. */
static void enqueue_each(const sequence *s, size_t from, size_t end)
{
    for (size_t i = from; i < end; ++i) {
        const gemm_cl_fixed *f = &s->fixed[i];
        CL_TRY(gemm_cl_function.EnqueueNDRangeKernel(gemm_cl_opened()->queue, f->kernel, 3, NULL,
                                                     f->global, f->local, 0, NULL, NULL));
    }
    return;
fail:
    gemm_cl_lose();
}

/* The launches do not follow the sequence: those that came are enqueued and noted. */
static void leave(void)
{
    const sequence *s = replayed;
    const size_t count = followed, part = gemm_cl_part_of(s->recorded);
    replayed = NULL;
    if (count < s->count) enqueue_each(s, count - count % part, count);
    for (size_t i = 0; i < count; ++i) {
        launch *l = now.lost ? NULL : add(&now);
        if (l) *l = s->list[i];
    }
}

/* One more launch of the sequence came. The last one of a part sends the part. */
static void follow(void)
{
    const sequence *s = replayed;
    const size_t part = gemm_cl_part_of(s->recorded), from = followed - followed % part;
    ++followed;
    if (followed % part && followed < s->count) return;
    in_flight = true;
    if (gemm_cl_enqueue_recorded(s->recorded, from / part) == 0) ++gemm_cl_counters.replays;
    else enqueue_each(s, from, followed);
}

/* The recorded sequence that begins with this launch and came last, or NULL. */
static sequence *find_first(const gemm_cl_program *p, const gemm_cl_arguments *args,
                            const size_t *global, const size_t *local)
{
    sequence *found = NULL;
    for (sequence *s = known; s < known + SEQUENCES; ++s)
        if (s->recorded && (!found || s->used > found->used) &&
            is_same(&s->list[0], p, args, global, local))
            found = s;
    return found;
}

bool gemm_cl_is_recorded(const gemm_cl_program *p, const gemm_cl_arguments *args,
                         const size_t *global, const size_t *local)
{
    if (!gemm_cl_can_record()) return false;
    if (!replayed && !now.count) {
        replayed = find_first(p, args, global, local);
        followed = 0;
    }
    if (!replayed) return false;
    if (followed < replayed->count &&
        is_same(&replayed->list[followed], p, args, global, local)) {
        follow();
        return true;
    }
    leave();
    return false;
}

int gemm_cl_enqueue_noted(cl_kernel kernel, const gemm_cl_program *p, const gemm_cl_arguments *args,
                          const size_t *global, const size_t *local)
{
    CL_TRY(gemm_cl_function.EnqueueNDRangeKernel(gemm_cl_opened()->queue, kernel, 3, NULL, global,
                                                 local, 0, NULL, NULL));
    if (gemm_cl_can_record()) note(p, args, global, local);
    return 0;
fail:
    return -1;
}

/* ---- the end of a sequence ---- */

/* Enqueues what came of a recorded one and is not enqueued. */
static void send(void)
{
    if (!replayed) return;
    if (followed < replayed->count) {
        leave();
    } else {
        replayed->used = ++sequences;
        replayed = NULL;
    }
}

static void begin(void)
{
    now.count = 0;
    now.lost = false;
}

void gemm_cl_end_sequence(void)
{
    if (!replayed && !now.count) return;
    send();
    if (now.count >= SHORTEST && !now.lost) learn();
    begin();
}

static void drop_all(void)
{
    for (sequence *s = known; s < known + SEQUENCES; ++s) clear(s);
}

/* Memory that the sequences name is released. */
static void forget(void)
{
    bool any = false;
    send();
    begin();
    for (int i = 0; i < SEQUENCES; ++i) any = any || known[i].count;
    if (!any) return;
    if (in_flight) CL_TRY(gemm_cl_function.Finish(gemm_cl_opened()->queue));
fail:
    in_flight = false;
    drop_all();
}

cl_int gemm_cl_release_memory(cl_mem mem)
{
    forget();
    ++released;
    return gemm_cl_function.ReleaseMemObject(mem);
}

unsigned long gemm_cl_released_memory(void)
{
    return released;
}

void gemm_cl_release_sequences(void)
{
    drop_all();
    for (int i = 0; i < SEQUENCES; ++i) {
        free(known[i].list);
        known[i] = (sequence){0};
    }
    free(now.list);
    now = (sequence){0};
    gemm_cl_end_recorder();
}
