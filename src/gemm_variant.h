/* SPDX-License-Identifier: MIT */
/*
 * The contract between the driver and the rows of the table of variants.
 *
 * A row only computes C += ALPHA * op(A) * op(B). Before the driver calls a row, BETA is settled
 * and empty sizes are gone. A row does not know the other rows, Darknet or the environment.
 * Everything that it needs is in the call, the context and its params.
 *
 * To add a variant, write a function of type gemm_row_multiply and a row in driver/table.c
 * (docs/development.md).
 */
#ifndef GEMM_VARIANT_H
#define GEMM_VARIANT_H

#include "../kernels/cl_activations.h"
#include "gemm_dispatch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct gemm_ukernel;
struct gemm_scale;
struct gemm_transform;

typedef enum gemm_status {
    GEMM_DONE,
    GEMM_DECLINED,              /* C is unchanged: the driver runs stock, and the trace shows it */
    GEMM_FAILED                 /* C is undefined: the driver ends the program with note->reason. A
                                   layer is left to the caller, who writes the whole output */
} gemm_status;

/* What a run reports beside its status. The driver clears it before every run. GEMM_TRACE prints
   it. */
typedef struct gemm_note {
    char ran[64];               /* the row or kernel that this row chose, else "" */
    char algorithm[48];         /* of a convolution, such as implicit or winograd4, else "" */
    char weighed[320];          /* why it went so: of a convolution the other ways that were asked,
                                   and why they did not run. Needed where context->timed */
    const struct gemm_transform *transform;     /* of Winograd's algorithm (util/winograd.h), or
                                   NULL */
    const struct gemm_scale *scale;     /* of a convolution in 8 bits: that of its input; else
                                   NULL */
    double kernel_ms;           /* device time by events; below 0: no device */
    size_t copied_a, copied_b, copied_c;    /* bytes copied to or from a device */
    char reason[160];           /* why the row returned GEMM_FAILED, in a few words */
    int decided;                /* decisions that were taken in this run, and not found in `kept` */
    const char *chosen, *why;   /* the row that `auto` took, and why; else NULL */
} gemm_note;

static inline void gemm_clear_note(gemm_note *note)
{
    note->ran[0] = note->algorithm[0] = note->weighed[0] = note->reason[0] = '\0';
    note->transform = NULL;
    note->scale = NULL;
    note->kernel_ms = -1;
    note->decided = 0;
    note->copied_a = note->copied_b = note->copied_c = 0;
    note->chosen = note->why = NULL;
}

/* For a row that asked another one: puts `reason` before what that row weighed. The trace parts its
   columns by commas, so none stays. */
static inline void gemm_weigh_before(gemm_note *note, const char *reason)
{
    enum { MOST = sizeof note->weighed - 1 };
    char all[MOST + 1] = "";
    strncat(all, reason, MOST);
    if (*note->weighed) strncat(all, "; ", MOST - strlen(all));
    strncat(all, note->weighed, MOST - strlen(all));
    for (char *c = all; (c = strchr(c, ','));) *c = ';';
    strcpy(note->weighed, all);
}

/* For a row that failed: the status, with the reason in the note. */
static inline gemm_status gemm_fail(gemm_note *note, const char *reason)
{
    snprintf(note->reason, sizeof note->reason, "%s", reason);
    return GEMM_FAILED;
}

/*
 * What a row decided for a layer at an earlier call. It stands as long as the facts are the same
 * that it was taken from: sizes and settings, no addresses. The row compares them, so nobody has to
 * tell it that one changed.
 */
typedef struct gemm_decision {
    const void *row;            /* an address that this row alone uses; NULL: nothing is decided */
    _Alignas(16) unsigned char facts[112], own[1008];
} gemm_decision;

/* Copies the decision to `own`. False: nothing was decided, or from other facts. The bytes of the
   facts are compared, those between their members too. */
static inline bool gemm_decision_stands(const gemm_decision *d, const void *row,
                                        const void *facts, size_t facts_bytes, void *own,
                                        size_t own_bytes)
{
    if (!d || d->row != row || memcmp(d->facts, facts, facts_bytes)) return false;
    memcpy(own, d->own, own_bytes);
    return true;
}

/* `d` may be NULL: the next call decides again. */
static inline void gemm_decide_once(gemm_decision *d, const void *row, const void *facts,
                                    size_t facts_bytes, const void *own, size_t own_bytes)
{
    assert(facts_bytes <= sizeof d->facts && own_bytes <= sizeof d->own);
    if (!d) return;
    d->row = row;
    memcpy(d->facts, facts, facts_bytes);
    memcpy(d->own, own, own_bytes);
}

/*
 * What a row keeps for one layer between its calls. The row finds here what it left. The driver
 * frees it when the weights or sizes of the layer change, and when another row takes the layer. A
 * row that replaces data frees the old data itself.
 */
typedef struct gemm_kept {
    void *data;                 /* NULL: nothing is kept */
    size_t bytes;               /* the size of data, counted against the room of all layers */
    void (*free)(void *data);
    bool lent;                  /* another plan frees data */
    size_t room;                /* data may have so many bytes at most */
    const struct gemm_variant *row;     /* of `auto` alone: the row that data is of */
    gemm_decision alone, chained;       /* for the convolution, and for a chain that begins with
                                           it. They last where data is replaced or dropped */
} gemm_kept;

/* What the owner of `free` keeps, or NULL: another way to compute the layer may have kept
   something else. */
static inline void *gemm_kept_data(const gemm_kept *kept, void (*free)(void *data))
{
    return kept && kept->free == free ? kept->data : NULL;
}

/* Keeps data of so many bytes where nothing is kept yet. Returns false without room, or where
   nothing can be kept: data then remains the caller's. */
static inline bool gemm_keep(gemm_kept *kept, void *data, size_t bytes, void (*free)(void *data))
{
    if (!kept || bytes > kept->room) return false;
    kept->data = data;
    kept->bytes = bytes;
    kept->free = free;
    kept->lent = false;
    return true;
}

/* Frees what is kept, if anything is and it is not lent. */
static inline void gemm_drop_kept(gemm_kept *kept)
{
    if (kept->data && !kept->lent) kept->free(kept->data);
    kept->data = NULL;
    kept->bytes = 0;
}

/* The taps of a filter: its weights over all channels that it sees. K of the product. */
static inline int gemm_conv_taps(const conv_call *c)
{
    return c->c / c->groups * c->size * c->size;
}

/* The places of a filter in one image. N of the product. */
static inline int gemm_conv_places(const conv_call *c)
{
    return c->out_h * c->out_w;
}

/* The outputs of a filter for one image: its places, or a maximum for each 2x2 block of them. */
static inline int gemm_conv_outputs(const conv_call *c)
{
    return gemm_conv_places(c) / (c->pool ? 4 : 1);
}

/* Whether filters are as large as the image, as those of connected layers are. An output is then
   the dot product of a filter and the channels that it sees. */
static inline bool gemm_conv_is_dots(const conv_call *c)
{
    return c->size == c->h && c->size == c->w && c->pad == 0;
}

/* Whether the convolution is 1x1 over all places. The channels of a group are B as they lie. */
static inline bool gemm_conv_is_pointwise(const conv_call *c)
{
    return c->size == 1 && c->stride == 1 && c->pad == 0;
}

/* The factor of the activation below 0: f(x) = x > 0 ? x : slope * x, which every kernel of a
   convolution applies. One that is applied behind the kernel has none, and gets 1. */
static inline float gemm_slope(conv_activation a)
{
#define SLOPE_OF(NAME, slope) case CONV_##NAME: return slope;
#define NO_SLOPE(NAME, f) case CONV_##NAME: break;
    switch (a) {
        CL_ACTIVATIONS(SLOPE_OF, NO_SLOPE)
    }
#undef SLOPE_OF
#undef NO_SLOPE
    return 1;
}

/* Whether it is applied behind the kernel: to the outputs of a call with CONV_LINEAR. No pool and
   no other layer goes between the two. */
static inline bool gemm_activation_is_behind(conv_activation a)
{
#define AT_ONCE(NAME, slope) case CONV_##NAME: return false;
#define BEHIND(NAME, f) case CONV_##NAME: break;
    switch (a) {
        CL_ACTIVATIONS(AT_ONCE, BEHIND)
    }
#undef AT_ONCE
#undef BEHIND
    return true;
}

/* Whether Winograd's algorithm can compute the convolution. */
static inline bool gemm_conv_can_transform(const conv_call *c)
{
    return c->size == 3 && c->stride == 1 && c->groups == 1 &&
           c->out_h == c->h + 2 * c->pad - 2 && c->out_w == c->w + 2 * c->pad - 2;
}

/* Whether the inputs of a shortcut have one size. */
static inline bool gemm_shortcut_is_equal(const layer_call *c)
{
    return c->c == c->out_c && c->h == c->out_h && c->w == c->out_w;
}

/* Whether rows of a shortcut's inputs are as far apart as columns. */
static inline bool gemm_shortcut_has_one_stride(const layer_call *c)
{
    return c->w / c->out_w == c->h / c->out_h && c->out_w / c->w == c->out_h / c->h;
}

/*
 * Maps of a chain that lie in nchwc, for the next chain of the same row: a vector holds channels of
 * one place (packed/isa/ukernel_nchwc_product.h). An image has gemm_lanes_floats. The shortcut of a
 * chain with such an input adds this input.
 */
typedef enum gemm_lanes {
    GEMM_LANES_IN = 1,
    GEMM_LANES_OUT = 2
} gemm_lanes;

static inline size_t gemm_lanes_floats(int channels, int places)
{
    enum { WIDEST = 16 };               /* each vector has this number of floats, or divides it */
    return (size_t)(channels + WIDEST - 1) / WIDEST * WIDEST * (size_t)places;
}

/* The settings that a row may use. The driver makes one for each call. */
typedef struct gemm_context {
    int threads;                /* at most so many threads; at least 1 */
    const struct gemm_ukernel *isa;     /* the micro-kernels of `packed` */
    bool direct;                /* no algorithm with fewer multiplications and larger errors */
    bool first;                 /* the first call of a layer: what pays only when it is called again
                                   is not prepared */
    bool at_once;               /* what is kept is prepared in this call, not in several ones */
    bool never_waits;           /* a row that gives ops to others does not wait for a compiler
                                   (gemm_device.later) */
    const char *way;            /* the way that a row with several shall go where it can, or NULL */
    struct gemm_cl_probe *probe;        /* of `cl`: a form that is measured (cl/form.h); or NULL */
    const struct gemm_scale *scale;     /* of a calibrated row: that of the layer's input
                                   (int8/scales.h), or NULL: it stays in single precision */
    const struct gemm_scale *const *chain_scales;   /* the same of a chain: one for each
                                   convolution; or NULL */
    gemm_lanes lanes;           /* of a chain */
    bool foresees;              /* nothing is computed: the row tells its device which programs the
                                   call will need, and whether it will decline */
    bool timed;                 /* the note is wanted in full, so a row on a device waits */
    gemm_kept *kept;            /* NULL: nothing can be kept */
    gemm_kept *const *chain_kept;   /* of a chain: one for each convolution, each may be NULL; or
                                   NULL */
    gemm_note *note;            /* never NULL */
} gemm_context;

/* M, N and K of a multiply that a row gets. So a row may round them up, and add two of them. */
enum { GEMM_MOST_SIZE = 1 << 29 };

typedef enum gemm_kind {
    GEMM_MULTIPLY,
    GEMM_CONVOLUTION,
    GEMM_CHAIN,
    GEMM_LAYER                  /* a layer without weights */
} gemm_kind;

/* As gemm_conv_chain defines it, which the driver has checked. Batch norm is folded. */
typedef struct chain_call {
    const conv_call *convs;
    int count;
    const layer_call *shortcut; /* or NULL */
    gemm_lanes lanes;
} chain_call;

/* One piece of work. It refers to a call, and owns nothing. */
typedef struct gemm_op {
    gemm_kind kind;
    union {
        const gemm_call *multiply;
        const conv_call *conv;
        const chain_call *chain;
        const layer_call *layer;
    };
} gemm_op;

/* One multiply. M, N and K are from 1 to GEMM_MOST_SIZE, and an int holds the index of each element
   of A, B and C. `params` is the member of the row. */
typedef gemm_status gemm_row_multiply(const gemm_call *, const gemm_context *, const void *params);

/* One op of any other kind. A convolution with `pool` has no activation behind the kernel. When it
   declines, the output is unchanged. */
typedef gemm_status gemm_row_run(const gemm_op *, const gemm_context *, const void *params);

/* A row's parts of these, where it has one function for each kind. */
typedef gemm_status gemm_row_conv(const conv_call *, const gemm_context *, const void *params);
typedef gemm_status gemm_row_chain(const conv_call *, int count, const layer_call *shortcut,
                                   const gemm_context *, const void *params);
typedef gemm_status gemm_row_layer(const layer_call *, const gemm_context *, const void *params);

static inline gemm_status gemm_run_by(gemm_row_conv *conv, gemm_row_chain *chain,
                                      gemm_row_layer *layer, const gemm_op *op,
                                      const gemm_context *x, const void *params)
{
    switch (op->kind) {
    case GEMM_CONVOLUTION: return conv(op->conv, x, params);
    case GEMM_CHAIN:
        return chain(op->chain->convs, op->chain->count, op->chain->shortcut, x, params);
    case GEMM_LAYER: return layer(op->layer, x, params);
    case GEMM_MULTIPLY: break;
    }
    return GEMM_DECLINED;
}

/*
 * A convolution with `pool` as two calls of a row: the convolution, and then the maxpool as a layer
 * that reads its output. `unpooled` has room for that output. When it declines, c->output is
 * unchanged.
 */
static inline gemm_status gemm_conv_then_pool(gemm_row_run *run, const void *params,
                                              const conv_call *c, float *unpooled,
                                              const gemm_context *context)
{
    const layer_input between = {unpooled, c->n * gemm_conv_places(c)};
    const layer_call pool = {.kind = LAYER_MAXPOOL, .batch = c->batch, .c = c->n, .h = c->out_h,
                             .w = c->out_w, .out_c = c->n, .out_h = c->out_h / 2,
                             .out_w = c->out_w / 2, .size = 2, .stride = 2, .inputs = 1,
                             .input = &between, .output = c->output};
    conv_call alone = *c;
    alone.pool = false;
    alone.output = unpooled;
    const gemm_op first = {GEMM_CONVOLUTION, {.conv = &alone}};
    const gemm_op second = {GEMM_LAYER, {.layer = &pool}};
    const gemm_status status = run(&first, context, params);
    gemm_context without = *context;
    without.kept = NULL;
    return status == GEMM_DONE ? run(&second, &without, params) : status;
}

/* NULL, or why the op should go elsewhere for now. */
typedef const char *gemm_row_later(const gemm_op *, const gemm_context *, const void *params);

/* How far apart the rows of a B of `columns` columns should be, so that the row copies nothing. */
typedef int gemm_row_b_ld(int columns, const void *params);

/*
 * How a row rounds beyond single precision. Each product a * b of a sum may be off by
 * product * |a * b| + a * |b| + b * |a| + sum. The last three are for numbers that are too small
 * for their format: an element of A, an element of B, a sum.
 */
typedef struct gemm_rounding {
    double product, a, b, sum;
} gemm_rounding;

/* Whether `auto` may take a row for a shape. */
typedef enum gemm_auto_use {
    GEMM_NOT_IN_AUTO,
    GEMM_IN_AUTO,
    GEMM_IN_AUTO_FIRST,         /* one variant: the usual one, where nothing was measured */
    GEMM_IN_AUTO_WITH_GPU,      /* not where the OpenCL device is the CPU */
    GEMM_IN_AUTO_16,            /* with GEMM_AUTO_BITS=16 only: its operands have 16 bits */
    GEMM_IN_AUTO_8              /* with GEMM_AUTO_BITS=8 only: convolutions that have a scale */
} gemm_auto_use;

/* What rows share that run in one place: on an OpenCL device, by a library, on some processors. */
typedef struct gemm_device {
    const char *(*unusable)(const void *params);    /* returns why the row cannot run here, or
                                   NULL; the pointer is NULL when the row can run everywhere */
    const char *(*limits)(const void *params);      /* the same as far as it is known without
                                   compiling anything; the pointer is NULL where `unusable`
                                   compiles nothing */
    gemm_row_later *later;      /* what a call needs is compiled meanwhile; NULL: calls wait for
                                   nothing */
    gemm_row_b_ld *b_ld;        /* NULL: rows of B may lie side by side */
    void (*make_foreseen)(void);    /* makes the programs that calls with `foresees` told; NULL: the
                                   row has no such calls */
    bool (*may_share)(void);    /* `shares` where it is not known at once, or NULL */
    bool shares;                /* Darknet's buffers should be memory that the device shares */
    bool leaves;                /* inputs of `run` may lie on the device, and outputs may stay
                                   there */
    bool foreign;               /* a library of other people: its crash is not ours */
    int warm_up;                /* multiplies of a shape until the row knows how to run it; 0: it
                                   knows at once. Measurements begin behind them */
} gemm_device;

/* For gemm_variant.kinds. */
enum {
    GEMM_CONVS = 1 << GEMM_CONVOLUTION,
    GEMM_CHAINS = 1 << GEMM_CHAIN,
    GEMM_LAYERS = 1 << GEMM_LAYER,
    GEMM_IN_LANES = 1 << (GEMM_LAYER + 1),      /* chains with gemm_lanes */
    GEMM_ALL_KINDS = GEMM_CONVS | GEMM_CHAINS | GEMM_LAYERS
};

typedef struct gemm_variant {
    const char *name;           /* the value of GEMM_IMPL */
    gemm_row_multiply *multiply;
    gemm_row_run *run;          /* of the kinds below */
    unsigned kinds;             /* 0: only multiplies. Without GEMM_CONVS Darknet runs im2col, then
                                   `multiply`; without GEMM_CHAINS convolutions run one by one;
                                   without GEMM_LAYERS Darknet's own code runs */
    const void *params;         /* what tells rows of the same functions apart: a kernel */
    const gemm_device *device;  /* NULL: any processor */
    const gemm_rounding *rounding;      /* GEMM_CHECK and tests allow it. NULL: single
                                   precision */
    bool calibrated;            /* its layers need the scales of GEMM_INT8, and thus it cannot run
                                   without */
    bool chooses;               /* gives each op to another row, which may be a calibrated one */
    const char *(*way)(int i);  /* the name of way i that context->way may have, or NULL behind the
                                   last one; the pointer is NULL: layers have one way */
    gemm_auto_use in_auto;
    const char *origin;         /* the article or project it comes from */
    const char *summary;
} gemm_variant;

/* Whether the row computes on a device whose memory it should share. */
static inline bool gemm_is_on_device(const gemm_variant *v)
{
    return v->device && v->device->shares;
}

/* Whether operands of `run` may lie on the device. */
static inline bool gemm_leaves_outputs(const gemm_variant *v)
{
    return v->device && v->device->leaves;
}

/* Whether it is somebody else's code. */
static inline bool gemm_is_reference(const gemm_variant *v)
{
    return v->device && v->device->foreign;
}

/* Calls gemm_device.unusable, where the row has one. */
static inline const char *gemm_device_lacks(const gemm_variant *v)
{
    return v->device && v->device->unusable ? v->device->unusable(v->params) : NULL;
}

/* Calls gemm_device.later, where the row has one and the context allows it. */
static inline const char *gemm_asks_later(const gemm_variant *v, const gemm_op *op,
                                          const gemm_context *x)
{
    const gemm_device *d = x->never_waits ? v->device : NULL;
    return d && d->later ? d->later(op, x, v->params) : NULL;
}

/* How far the outputs of a whole network may be off because of the row's rounding, as a part of the
   largest one. The layers of a network round one after the other, so this is a multiple of the
   rounding of one product (docs/log/opencl.md). A row that chooses may be off as far as those that
   it may take under the present settings. */
double gemm_network_rounding(const gemm_variant *);

/* The table. GEMM_IMPL, gemm-bench --list, tests and benchmarks all use it. */
extern const gemm_variant gemm_variants[];
extern const size_t gemm_variant_count;

/* The row called `name`, or NULL. */
const gemm_variant *gemm_find(const char *name);

/* Appends to a message which rows have a name like this one: up to 3 that are at most 2 characters
   away, the nearest first. It ends with the command that lists all rows. */
void gemm_append_like(char *text, size_t size, const char *name);

/* The row `stock`. It runs every call that another row declines. */
const gemm_variant *gemm_stock_row(void);

#endif
