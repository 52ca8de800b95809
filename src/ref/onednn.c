/* SPDX-License-Identifier: MIT */
/*
 * Interface: oneapi/dnnl/dnnl.h (3). Objects are pointers, and all functions but two return a
 * status, 0 is success.
 */
#include "ref/onednn.h"

#include "util/forked.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CPU = 1, IN_ORDER = 1, TAG_ANY = 1, BF16 = 2, F32 = 3, ARG_SRC = 1, ARG_DST = 17,
       ARG_WEIGHTS = 33, QUERY_SRC = 129, QUERY_WEIGHTS = 131, UNIMPLEMENTED = 3, NO_MEMORY = 1,
       LINEAR = 0x26 };

typedef struct dnnl_arg {               /* dnnl_exec_arg_t */
    int arg;
    void *memory;
} dnnl_arg;

/* F(result, name behind dnnl_, arguments) */
#define CALLS(F)                                                                                   \
    F(int, engine_create, (void **, int kind, size_t index))                                       \
    F(int, stream_create, (void **, void *engine, unsigned flags))                                 \
    F(int, stream_wait, (void *))                                                                  \
    F(int, memory_desc_create_with_strides,                                                        \
      (void **, int count, const int64_t *sizes, int type, const int64_t *strides))                \
    F(int, memory_desc_create_with_tag,                                                            \
      (void **, int count, const int64_t *sizes, int type, int tag))                               \
    F(size_t, memory_desc_get_size, (const void *))                                                \
    F(int, memory_desc_destroy, (void *))                                                          \
    F(int, memory_create, (void **, const void *desc, void *engine, void *data))                   \
    F(int, memory_destroy, (void *))                                                               \
    F(int, primitive_attr_create, (void **))                                                       \
    F(int, primitive_attr_destroy, (void *))                                                       \
    F(int, primitive_attr_set_post_ops, (void *, const void *))                                    \
    F(int, post_ops_create, (void **))                                                             \
    F(int, post_ops_destroy, (void *))                                                             \
    F(int, post_ops_append_sum, (void *, float scale, int32_t zero, int type))                     \
    F(int, post_ops_append_eltwise, (void *, int kind, float alpha, float beta))                   \
    F(int, matmul_primitive_desc_create,                                                           \
      (void **, void *engine, const void *src, const void *weights, const void *bias,              \
       const void *dst, const void *attr))                                                         \
    F(int, reorder_primitive_desc_create,                                                          \
      (void **, const void *src, void *src_engine, const void *dst, void *dst_engine,              \
       const void *attr))                                                                          \
    F(const void *, primitive_desc_query_md, (const void *, int what, int index))                  \
    F(int, primitive_desc_destroy, (void *))                                                       \
    F(int, primitive_create, (void **, const void *desc))                                          \
    F(int, primitive_destroy, (void *))                                                            \
    F(int, primitive_execute, (const void *, void *stream, int count, const dnnl_arg *))

#define MEMBER(result, name, arguments) result (*name) arguments;

/* What all that is kept depends on. */
typedef struct shape {
    int TA, TB, M, N, K, lda, ldb, ldc, threads;
    float alpha;
} shape;

/* An operand: floats as the call has them, and bfloat16 as the matmul wants them. */
typedef struct operand {
    void *floats, *round;       /* a descriptor, and a primitive */
    const void *halves;         /* a descriptor, of the matmul's */
    void *data;
    size_t bytes;
} operand;

static struct matmul {
    struct {
        CALLS(MEMBER)
    } dnnl;
    void *engine, *stream;
    shape of;                   /* M = 0: none */
    operand a, b;
    void *c, *desc, *multiply;  /* the descriptors of C and of the matmul; the matmul */
} m;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What another thread was making is no matmul. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    m.of = (shape){0};
}
GEMM_IN_CHILD(after_fork)

/* ---- What is kept ---- */

static void drop_operand(operand *o)
{
    if (o->round) m.dnnl.primitive_destroy(o->round);
    if (o->floats) m.dnnl.memory_desc_destroy(o->floats);
    free(o->data);
    *o = (operand){0};
}

static void drop(void)
{
    drop_operand(&m.a);
    drop_operand(&m.b);
    if (m.multiply) m.dnnl.primitive_destroy(m.multiply);
    if (m.desc) m.dnnl.primitive_desc_destroy(m.desc);
    if (m.c) m.dnnl.memory_desc_destroy(m.c);
    m.multiply = m.desc = m.c = NULL;
    m.of = (shape){0};
}

/* At the end the library may be gone, and its objects with it. */
__attribute__((destructor)) static void free_data(void)
{
    free(m.a.data);
    free(m.b.data);
}

/* The descriptor of a matrix of floats. */
static int describe(int rows, int columns, int ld, bool transposed, void **desc)
{
    const int64_t sizes[] = {rows, columns};
    const int64_t strides[] = {transposed ? 1 : ld, transposed ? ld : 1};
    return m.dnnl.memory_desc_create_with_strides(desc, 2, sizes, F32, strides);
}

/* The matmul adds to C. A factor of 1 is left out, because it is another program for oneDNN. */
static int make_matmul(const shape *s)
{
    const int64_t a[] = {s->M, s->K}, b[] = {s->K, s->N};
    void *src = NULL, *weights = NULL, *ops = NULL, *attr = NULL;
    int error = m.dnnl.memory_desc_create_with_tag(&src, 2, a, BF16, TAG_ANY);
    if (!error) error = m.dnnl.memory_desc_create_with_tag(&weights, 2, b, BF16, TAG_ANY);
    if (!error) error = m.dnnl.post_ops_create(&ops);
    if (!error && s->alpha != 1)
        error = m.dnnl.post_ops_append_eltwise(ops, LINEAR, s->alpha, 0);
    if (!error) error = m.dnnl.post_ops_append_sum(ops, 1, 0, F32);
    if (!error) error = m.dnnl.primitive_attr_create(&attr);
    if (!error) error = m.dnnl.primitive_attr_set_post_ops(attr, ops);
    if (!error)
        error = m.dnnl.matmul_primitive_desc_create(&m.desc, m.engine, src, weights, NULL, m.c,
                                                    attr);
    if (!error) error = m.dnnl.primitive_create(&m.multiply, m.desc);
    if (attr) m.dnnl.primitive_attr_destroy(attr);
    if (ops) m.dnnl.post_ops_destroy(ops);
    if (weights) m.dnnl.memory_desc_destroy(weights);
    if (src) m.dnnl.memory_desc_destroy(src);
    return error;
}

static int make_operand(operand *o, int query)
{
    enum { ALIGNMENT = 64 };
    void *desc = NULL;
    o->halves = m.dnnl.primitive_desc_query_md(m.desc, query, 0);
    o->bytes = (m.dnnl.memory_desc_get_size(o->halves) + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    o->data = aligned_alloc(ALIGNMENT, o->bytes);
    if (!o->data) return NO_MEMORY;
    int error = m.dnnl.reorder_primitive_desc_create(&desc, o->floats, m.engine, o->halves,
                                                     m.engine, NULL);
    if (!error) error = m.dnnl.primitive_create(&o->round, desc);
    if (desc) m.dnnl.primitive_desc_destroy(desc);
    return error;
}

static int make(const shape *s)
{
    drop();
    int error = describe(s->M, s->K, s->lda, s->TA, &m.a.floats);
    if (!error) error = describe(s->K, s->N, s->ldb, s->TB, &m.b.floats);
    if (!error) error = describe(s->M, s->N, s->ldc, false, &m.c);
    if (!error) error = make_matmul(s);
    if (!error) error = make_operand(&m.a, QUERY_SRC);
    if (!error) error = make_operand(&m.b, QUERY_WEIGHTS);
    if (error) drop();
    else m.of = *s;
    return error;
}

/* ---- A call ---- */

/* Memory for a primitive's argument. */
static int bind(dnnl_arg *to, int arg, const void *desc, const void *data)
{
    to->arg = arg;
    return m.dnnl.memory_create(&to->memory, desc, m.engine, (void *)(uintptr_t)data);
}

static int execute(void *primitive, dnnl_arg *args, int count, int error)
{
    if (!error) error = m.dnnl.primitive_execute(primitive, m.stream, count, args);
    if (!error) error = m.dnnl.stream_wait(m.stream);
    for (int i = 0; i < count; ++i)
        if (args[i].memory) m.dnnl.memory_destroy(args[i].memory);
    return error;
}

static int round_operand(const operand *o, const float *floats)
{
    dnnl_arg args[2] = {{0}};
    int error = bind(&args[0], ARG_SRC, o->floats, floats);
    if (!error) error = bind(&args[1], ARG_DST, o->halves, o->data);
    return execute(o->round, args, 2, error);
}

static int multiply(float *c)
{
    dnnl_arg args[3] = {{0}};
    int error = bind(&args[0], ARG_SRC, m.a.halves, m.a.data);
    if (!error) error = bind(&args[1], ARG_WEIGHTS, m.b.halves, m.b.data);
    if (!error) error = bind(&args[2], ARG_DST, m.c, c);
    return execute(m.multiply, args, 3, error);
}

int gemm_ref_matmul(const gemm_call *c, int threads)
{
    const shape s = {c->TA, c->TB, c->M, c->N, c->K, c->lda, c->ldb, c->ldc, threads,
                     c->ALPHA};
    pthread_mutex_lock(&lock);
    int error = memcmp(&s, &m.of, sizeof s) ? make(&s) : 0;
    if (!error) error = round_operand(&m.a, c->A);
    if (!error) error = round_operand(&m.b, c->B);
    if (!error) error = multiply(c->C);
    pthread_mutex_unlock(&lock);
    return error;
}

/* ---- The library ---- */

#define FIND(result, name, arguments)                                                              \
    symbol.data = dlsym(library, "dnnl_" #name);                                                   \
    if (!symbol.data) return "it has no dnnl_" #name;                                              \
    m.dnnl.name = symbol.name;

const char *gemm_ref_try_matmul(void *library)
{
    const shape small = {0, 0, 16, 16, 16, 16, 16, 16, 1, 1};
    union {
        void *data;
        CALLS(MEMBER)
    } symbol;
    CALLS(FIND)
    if (m.dnnl.engine_create(&m.engine, CPU, 0) ||
        m.dnnl.stream_create(&m.stream, m.engine, IN_ORDER))
        return "it makes no engine";
    const int error = make(&small);
    return error == UNIMPLEMENTED ? "it multiplies no bfloat16 on this processor"
         : error                  ? "it makes no matmul"
                                  : NULL;
}
