/* SPDX-License-Identifier: MIT */
/*
 * A library that stands in for oneDNN 3, as src/ref/onednn.c calls it: LD_LIBRARY_PATH names its
 * folder. It keeps operands in bfloat16 by rows. FAKE_ONEDNN says what it does: right; wrong, a
 * matmul that does not add to C; none, a processor without bfloat16; or crash.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, UNIMPLEMENTED = 3, QUERY_SRC = 129, ARG_DST = 17,
       ARG_WEIGHTS = 33, LINEAR = 0x26 };

typedef struct object {                 /* of any kind */
    int64_t sizes[2], strides[2];
    int type;
    float alpha;                        /* of the product */
    const struct object *desc[3];       /* A, B and C of a matmul; from and to of a reorder */
    char *data;
} object;

typedef struct argument {
    int arg;
    object *memory;
} argument;

static int is(const char *how)
{
    const char *wanted = getenv("FAKE_ONEDNN");
    return wanted && !strcmp(wanted, how);
}

static int make(object **to, object from)
{
    *to = malloc(sizeof **to);
    **to = from;
    return SUCCESS;
}

#define PUBLIC(name) int dnnl_##name
#define DESTROY(name) PUBLIC(name)(object *o); PUBLIC(name)(object *o) { free(o); return SUCCESS; }
#define CREATE(name, arguments, ...)                                                               \
    PUBLIC(name) arguments;                                                                        \
    PUBLIC(name) arguments { return make(to, (object){__VA_ARGS__}); }

DESTROY(memory_desc_destroy)
DESTROY(memory_destroy)
DESTROY(primitive_attr_destroy)
DESTROY(post_ops_destroy)
DESTROY(primitive_desc_destroy)
DESTROY(primitive_destroy)
CREATE(engine_create, (object **to, int kind, size_t index), .type = kind + (int)index)
CREATE(stream_create, (object **to, object *engine, unsigned flags), .type = (int)flags,
       .desc = {engine})
CREATE(primitive_attr_create, (object **to), .type = 0)
CREATE(post_ops_create, (object **to), .alpha = 1)
CREATE(memory_desc_create_with_strides,
       (object **to, int n, const int64_t *sizes, int type, const int64_t *strides),
       .sizes = {sizes[0], sizes[n - 1]}, .strides = {strides[0], strides[1]}, .type = type)
CREATE(memory_desc_create_with_tag,
       (object **to, int n, const int64_t *sizes, int type, int tag),
       .sizes = {sizes[0], sizes[n - 1]}, .strides = {sizes[1], tag}, .type = type)
CREATE(memory_create, (object **to, const object *desc, object *engine, void *data),
       .desc = {desc, engine}, .data = data)
CREATE(primitive_create, (object **to, const object *desc), .alpha = desc->alpha,
       .desc = {desc->desc[0], desc->desc[1], desc->desc[2]})
CREATE(reorder_primitive_desc_create,
       (object **to, const object *from, object *engine, const object *halves, object *other,
        const object *attr),
       .desc = {from, halves}, .type = engine == other && !attr ? 0 : -1)

int dnnl_matmul_primitive_desc_create(object **to, object *engine, const object *a,
                                      const object *b, const object *bias, const object *c,
                                      const object *attr);
int dnnl_matmul_primitive_desc_create(object **to, object *engine, const object *a,
                                      const object *b, const object *bias, const object *c,
                                      const object *attr)
{
    if (is("none") || bias || !attr || !engine) return UNIMPLEMENTED;
    object *halves[2];
    make(&halves[0], *a);               /* they live as long as the process */
    make(&halves[1], *b);
    return make(to, (object){.desc = {halves[0], halves[1], c}, .alpha = attr->alpha});
}

int dnnl_primitive_attr_set_post_ops(object *attr, const object *ops);
int dnnl_primitive_attr_set_post_ops(object *attr, const object *ops)
{
    attr->alpha = ops->alpha;
    return SUCCESS;
}

int dnnl_post_ops_append_sum(object *ops, float scale, int32_t zero, int type);
int dnnl_post_ops_append_sum(object *ops, float scale, int32_t zero, int type)
{
    ops->type = type + zero + (int)scale;
    return SUCCESS;
}

int dnnl_post_ops_append_eltwise(object *ops, int kind, float alpha, float beta);
int dnnl_post_ops_append_eltwise(object *ops, int kind, float alpha, float beta)
{
    ops->alpha = alpha + beta;
    return kind == LINEAR ? SUCCESS : UNIMPLEMENTED;
}

int dnnl_stream_wait(object *);
int dnnl_stream_wait(object *stream) { return stream ? SUCCESS : UNIMPLEMENTED; }

size_t dnnl_memory_desc_get_size(const object *);
size_t dnnl_memory_desc_get_size(const object *d)
{
    return (size_t)(d->sizes[0] * d->sizes[1]) * sizeof(uint16_t);
}

const object *dnnl_primitive_desc_query_md(const object *, int what, int index);
const object *dnnl_primitive_desc_query_md(const object *desc, int what, int index)
{
    return desc->desc[(what == QUERY_SRC ? 0 : 1) + index];
}

typedef struct version {
    int major, minor, patch;
} version;
const version *dnnl_version(void);
const version *dnnl_version(void)
{
    static const version v = {3, 99, 0};
    return &v;
}

void omp_set_num_threads(int);
void omp_set_num_threads(int threads) { (void)threads; }

/* ---- products ---- */

static float half_at(const object *m, int64_t row, int64_t column)
{
    uint16_t half;
    memcpy(&half, m->data + 2 * (row * m->desc[0]->sizes[1] + column), sizeof half);
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* To nearest; NaN is not rounded right. */
static void reorder(const object *from, const object *to)
{
    const object *d = from->desc[0];
    for (int64_t i = 0; i < d->sizes[0]; ++i) {
        for (int64_t j = 0; j < d->sizes[1]; ++j) {
            uint32_t bits;
            memcpy(&bits, from->data + 4 * (i * d->strides[0] + j * d->strides[1]), sizeof bits);
            const uint16_t half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
            memcpy(to->data + 2 * (i * d->sizes[1] + j), &half, sizeof half);
        }
    }
}

static void multiply(float alpha, const object *a, const object *b, const object *c)
{
    const int64_t *sizes = c->desc[0]->sizes, *strides = c->desc[0]->strides;
    for (int64_t i = 0; i < sizes[0]; ++i) {
        for (int64_t j = 0; j < sizes[1]; ++j) {
            float *const to = (float *)(void *)(c->data + 4 * (i * strides[0] + j * strides[1]));
            double sum = is("wrong") ? 0 : *to;
            for (int64_t p = 0; p < a->desc[0]->sizes[1]; ++p)
                sum += (double)alpha * half_at(a, i, p) * half_at(b, p, j);
            *to = (float)sum;
        }
    }
}

int dnnl_primitive_execute(const object *, object *stream, int count, const argument *);
int dnnl_primitive_execute(const object *primitive, object *stream, int count, const argument *args)
{
    static volatile int *const nowhere;
    const object *memory[ARG_WEIGHTS + 1] = {0};
    if (is("crash")) *nowhere = 1;
    if (!primitive || !stream) return UNIMPLEMENTED;
    for (int i = 0; i < count; ++i) memory[args[i].arg] = args[i].memory;
    if (count == 2) reorder(memory[1], memory[ARG_DST]);
    else multiply(primitive->alpha, memory[1], memory[ARG_WEIGHTS], memory[ARG_DST]);
    return SUCCESS;
}
