/* SPDX-License-Identifier: MIT */
/*
 * Vectors of NEON and the order of a step, for aarch64 and armv7. The file that includes this one
 * defines the other operations of ukernel_body.h. Before that it defines
 *
 *   element                 the type of a register that a float of A is loaded into
 *   load_element(x, p)      loads the float at p into x
 *   multiply_add(c, x, b)   c += x * b; x is an element
 *   AHEAD(nv)               see outer_product()
 *
 * The compiler keeps these statements in order.
 */
#include <arm_neon.h>
#include <stddef.h>
#include <string.h>

typedef float32x4_t vec;
typedef float vec_u __attribute__((vector_size(16), aligned(4), may_alias));
#define vzero() vdupq_n_f32(0.0f)
#define vset1(x) vdupq_n_f32(x)
#define vload(p) vld1q_f32(p)
#define vstore(p, v) vst1q_f32(p, v)
/* vmaxq_f32 is no such maximum, because a NaN on either side makes it NaN. */
#define vmax(x, m) vbslq_f32(vcgtq_f32(x, m), x, m)
#define vmax_alike(x, m) vmaxq_f32(x, m)

/*
 * acc[i * ld + v] += *a[i] * (the vector at b[v]), i < rows and v < nv, which are constants.
 *
 * NEON multiplies by an element of a register, so a float of A need not be spread. The statements
 * are volatile, so that the compiler keeps their order: it would load early, and so need more
 * registers than there are. A processor that executes in order wants each load some FMAs before
 * its use. So floats of A are loaded AHEAD(nv) rows before theirs.
 */
#define load_vector(v, p) ((v) = *(const volatile vec_u *)(p))
#define outer_product outer_product
INLINE void outer_product(const int rows, const int nv, const float *const *a,
                          const float *const *b, vec *acc, const int ld)
{
    enum { MOST_ROWS = 16, MOST_VECS = 4 };
    const int ahead = rows < AHEAD(nv) ? rows : AHEAD(nv);
    element x[MOST_ROWS];
    vec row[MOST_VECS];
    load_vector(row[0], b[0]);
    load_element(x[0], a[0]);
    _Pragma("GCC unroll 16")
    for (int v = 1; v < nv; ++v) load_vector(row[v], b[v]);
    _Pragma("GCC unroll 16")
    for (int i = 1; i < ahead; ++i) load_element(x[i], a[i]);
    _Pragma("GCC unroll 16")
    for (int i = 0; i < rows; ++i) {
        _Pragma("GCC unroll 16")
        for (int v = 0; v < nv; ++v) multiply_add(acc[i * ld + v], x[i], row[v]);
        if (i + ahead < rows) load_element(x[i + ahead], a[i + ahead]);
    }
}

static inline vec vload_part(const float *p, int n)
{
    float buffer[VL] = {0};
    memcpy(buffer, p, n * sizeof *p);
    return vld1q_f32(buffer);
}

static inline void vstore_part(float *p, int n, vec v)
{
    float buffer[VL];
    vst1q_f32(buffer, v);
    memcpy(p, buffer, n * sizeof *p);
}

/* Depthwise tiles, see ukernel_depthwise.h. */
#define DEPTHWISE_IN_ORDER
#define step_pointer(p, floats)                                                                    \
    do {                                                                                           \
        (p) += (floats);                                                                           \
        __asm__ volatile("" : "+r"(p));                                                            \
    } while (0)

static inline void transpose_block(const float *src, size_t ld, float *dst, int width)
{
    const float32x4x2_t a = vtrnq_f32(vload(src), vload(src + ld));
    const float32x4x2_t b = vtrnq_f32(vload(src + 2 * ld), vload(src + 3 * ld));
    vstore(dst, vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0])));
    vstore(dst + width, vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1])));
    vstore(dst + 2 * width, vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0])));
    vstore(dst + 3 * width, vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1])));
}
