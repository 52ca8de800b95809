/* SPDX-License-Identifier: MIT */
/*
 * The tile of a kernel for devices that are CPUs: ROWS x COLS of C. COLS is in vectors of the
 * device's own width. A packed strip of B has KC rows. Vectors of one float are for other devices,
 * whose items are lanes themselves.
 */
#include "cl_strip.h"

#define KC CL_KC
#ifndef VECTOR
#define VECTOR 16
#endif
#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLS
#define COLS 32
#endif
#define VECTORS (COLS / VECTOR)
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#if VECTOR == 1
#define VLOAD(p) (*(p))
#define VSTORE(v, p) (*(p) = (v))
typedef float wide;
#define ONE_ITEM
#else
#define VLOAD(p) PASTE(vload, VECTOR)(0, p)
#define VSTORE(v, p) PASTE(vstore, VECTOR)(v, 0, p)
typedef PASTE(float, VECTOR) wide;
#define ONE_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))     /* a group */
#endif
#if COLS % VECTOR
#error "COLS is a multiple of VECTOR"
#endif
