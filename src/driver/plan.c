/* SPDX-License-Identifier: MIT */
/* The plans of layers: see plan.h. */
#include "driver/plan.h"

#include "driver/driver.h"
#include "driver/start.h"
#include "util/forked.h"
#include "util/limits.h"
#include "util/threads.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a plan depends on. The contents of the arrays are not compared: gemm_plan_drop is the way to
   tell that they changed. */
typedef struct layer_key {
    const gemm_variant *row;
    const float *weights, *shift;
    conv_norm norm;
    int groups, c, h, w, n, size, stride, pad;
} layer_key;

struct gemm_plan {
    layer_key key;
    float *norm;                /* folded, or NULL */
    gemm_kept kept;
    size_t counted;             /* of `norm` and of kept.bytes, in the sum below */
    const float *lent_norm;     /* `norm` of the plan that lent it, or NULL: that one counts it */
    bool used;                  /* a call with it was done */
    bool apart;                 /* the last call prepared all, in one thread (gemm_apart) */
    gemm_step step;             /* of the host, and its network then */
    unsigned network;
    const gemm_scale *scale;    /* what the scales say of the weights */
    bool scale_known;           /* they were asked */
    uint64_t weights;           /* their fingerprint, under GEMM_CHECK; else 0 */
};

/* The bytes that all plans keep, and their limit. */
static _Atomic size_t kept_bytes, limit = SIZE_MAX;
static atomic_bool forced;      /* the limit is that of gemm_set_plan_limit */
static size_t most, group;      /* GEMM_KEEP or a share of the memory, and the group's memory */

static void find_memory(void)
{
    enum { SHARE = 4 };
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t keep = gemm_get_state()->keep;
    most = pages > 0 && page > 0 ? (size_t)pages / SHARE * (size_t)page : SIZE_MAX / SHARE;
    group = gemm_group_memory("");
    if (group / SHARE < most) most = group / SHARE;
    if (keep < SIZE_MAX) most = keep;
}
GEMM_ONCE(find_memory)

/* For each new plan, because the process may take more memory than it did at the last one. */
static void find_limit(void)
{
    once_find_memory();
    if (atomic_load(&forced)) return;
    const size_t spare = gemm_spare_memory("", group), kept = atomic_load(&kept_bytes);
    atomic_store(&limit, kept < most && spare < most - kept ? kept + spare : most);
}

void gemm_set_plan_limit(size_t bytes)
{
    atomic_store(&forced, true);
    atomic_store(&limit, bytes);
}

size_t gemm_planned_bytes(void)
{
    return atomic_load(&kept_bytes);
}

static layer_key key_of(const gemm_variant *row, const conv_call *c, const conv_norm *norm)
{
    layer_key key;
    memset(&key, 0, sizeof key);        /* padding too, because keys are compared by memcmp */
    key.row = row;
    key.weights = c->weights;
    key.shift = c->shift;
    if (norm) key.norm = *norm;
    key.groups = c->groups, key.c = c->c, key.h = c->h, key.w = c->w;
    key.n = c->n, key.size = c->size, key.stride = c->stride, key.pad = c->pad;
    return key;
}

static void free_plan(gemm_plan *plan)
{
    gemm_drop_kept(&plan->kept);
    atomic_fetch_sub(&kept_bytes, plan->counted);
    if (plan->norm != plan->lent_norm) free(plan->norm);
    free(plan);
}

void gemm_plan_drop(gemm_plan **slot)
{
    const int before = errno;
    if (*slot) free_plan(*slot);
    *slot = NULL;
    errno = before;
}

static gemm_plan *make_plan(const layer_key *key)
{
    find_limit();
    gemm_plan *plan = calloc(1, sizeof *plan);
    if (plan) memcpy(&plan->key, key, sizeof *key);
    return plan;
}

gemm_plan *gemm_plan_get(gemm_plan **slot, const gemm_variant *row, const conv_call *c,
                         const conv_norm *norm)
{
    if (!slot) return NULL;
    const layer_key key = key_of(row, c, norm);
    if (*slot && memcmp(&(*slot)->key, &key, sizeof key)) gemm_plan_drop(slot);
    if (!*slot) *slot = make_plan(&key);
    return *slot;
}

float *gemm_fold_norm(const conv_call *c, const conv_norm *norm)
{
    float *folded = malloc(2 * (size_t)c->n * sizeof *folded);
    for (int i = 0; folded && i < c->n; ++i) {
        const double scale = norm->scales[i] / (sqrt((double)norm->variance[i]) + .000001);
        folded[i] = (float)scale;
        folded[c->n + i] = (float)(c->shift[i] - norm->mean[i] * scale);
    }
    return folded;
}

/* What the plan may keep, with what it keeps already. */
static size_t room_of(const gemm_plan *plan)
{
    const size_t others = atomic_load(&kept_bytes) - plan->counted, all = atomic_load(&limit);
    return others < all ? all - others : 0;
}

static size_t norm_bytes(const gemm_plan *plan)
{
    return plan->norm ? 2 * (size_t)plan->key.n * sizeof *plan->norm : 0;
}

static void count_kept(gemm_plan *plan)
{
    const bool own_data = plan->kept.data && !plan->kept.lent;
    const size_t norm = plan->norm != plan->lent_norm ? norm_bytes(plan) : 0;
    const size_t now = norm + (own_data ? plan->kept.bytes : 0);
    atomic_fetch_add(&kept_bytes, now - plan->counted);
    plan->counted = now;
}

const float *gemm_plan_norm(gemm_plan *plan, const conv_call *c, const conv_norm *norm)
{
    const size_t bytes = 2 * (size_t)c->n * sizeof *plan->norm;
    if (plan->norm || bytes > room_of(plan)) return plan->norm;
    plan->norm = gemm_fold_norm(c, norm);
    count_kept(plan);
    return plan->norm;
}

bool gemm_plan_is_old(gemm_plan *plan, const conv_call *c)
{
    const uint64_t before = plan->weights;
    plan->weights = gemm_scales_fingerprint(c);
    return before && before != plan->weights;
}

gemm_step gemm_plan_step(gemm_plan *const *slot)
{
    const bool stands = *slot && (*slot)->key.row == gemm_chosen();
    return stands ? (*slot)->step : (gemm_step){0, 0};
}

unsigned gemm_plan_network(gemm_plan *const *slot) { return *slot ? (*slot)->network : 0; }

void gemm_plan_set_step(gemm_plan *const *slot, gemm_step step)
{
    if (*slot && (*slot)->used) (*slot)->step = step;
}

void gemm_plan_set_network(gemm_plan *const *slot, unsigned network)
{
    if (*slot) (*slot)->network = network;
}

const gemm_scale *gemm_plan_scale(const gemm_plan *plan, bool *known)
{
    *known = plan->scale_known;
    return plan->scale;
}

void gemm_plan_set_scale(gemm_plan *plan, const gemm_scale *scale)
{
    plan->scale = scale;
    plan->scale_known = true;
}

bool gemm_plan_is_new(const gemm_plan *plan)
{
    return !plan->used;
}

gemm_kept *gemm_plan_kept(gemm_plan *plan)
{
    const size_t room = room_of(plan), norm = norm_bytes(plan);
    plan->kept.room = norm < room ? room - norm : 0;
    return &plan->kept;
}

void gemm_plan_count(gemm_plan *plan, bool done, bool first)
{
    plan->used = plan->used || done;
    if (done || !plan->used) plan->apart = gemm_is_apart() && !first;
    count_kept(plan);
}

bool gemm_plan_lend(gemm_plan **to, gemm_plan *const *from)
{
    const int before = errno;
    const bool ready = *from && (*from)->apart;
    gemm_plan *plan = ready ? malloc(sizeof *plan) : NULL;
    errno = before;
    if (!plan) return false;
    *plan = **from;
    plan->counted = 0;
    plan->lent_norm = plan->norm;
    plan->kept.lent = plan->kept.data;
    *to = plan;
    return true;
}
