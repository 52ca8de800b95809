/* The matrices of Winograd's algorithm, by rows: see winograd.h. */
#include "util/winograd.h"

#define P GEMM_WINOGRAD_P
#define Q GEMM_WINOGRAD_Q
#define GP GEMM_WINOGRAD_G(P, Q)
#define GQ GEMM_WINOGRAD_G(Q, P)

const float gemm_winograd_bt2[] = {1, 0, -1, 0,   0, 1, 1, 0,   0, -1, 1, 0,   0, 1, 0, -1};
const float gemm_winograd_g2[] = {1, 0, 0,   .5f, .5f, .5f,   .5f, -.5f, .5f,   0, 0, 1};
const float gemm_winograd_at2[] = {1, 1, 1, 0,   0, 1, -1, -1};

const float gemm_winograd_bt4[] = {
    P * P * Q * Q, 0, -(P * P + Q * Q), 0, 1, 0,
    0, -P * Q * Q, -Q * Q, P, 1, 0,
    0, P * Q * Q, -Q * Q, -P, 1, 0,
    0, -Q * P * P, -P * P, Q, 1, 0,
    0, Q * P * P, -P * P, -Q, 1, 0,
    0, P * P * Q * Q, 0, -(P * P + Q * Q), 0, 1,
};

const float gemm_winograd_g4[] = {
    1 / (P * P * Q * Q), 0, 0,
    GP, P * GP, P * P * GP,
    GP, -P * GP, P * P * GP,
    GQ, Q * GQ, Q * Q * GQ,
    GQ, -Q * GQ, Q * Q * GQ,
    0, 0, 1,
};

const float gemm_winograd_at4[] = {
    1, 1, 1, 1, 1, 0,
    0, P, -P, Q, -Q, 0,
    0, P * P, P * P, Q * Q, Q * Q, 0,
    0, P * P * P, -P * P * P, Q * Q * Q, -Q * Q * Q, 1,
};
