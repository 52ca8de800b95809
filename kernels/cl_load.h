/* SPDX-License-Identifier: MIT */
/*
 * How a kernel loads A along its rows: one element, or four where a float4 is wanted.
 *
 *   ELEMENT                 of A: float, or half with HALF_A. Include this before cl_conv.h
 *   LOAD_A4(p) LOAD_A(p)    as float4, as float
 *
 * ALIGNED_A says that A's rows start at multiples of 16 bytes: then a float4 is one load.
 */
#ifdef HALF_A
#define ELEMENT half
#define LOAD_A4(p) vload_half4(0, p)
#define LOAD_A(p) vload_half(0, p)
#else
#define ELEMENT float
#ifdef ALIGNED_A
#define LOAD_A4(p) (*(__global const float4 *)(p))
#else
#define LOAD_A4(p) vload4(0, p)
#endif
#define LOAD_A(p) (*(p))
#endif
#define A_TYPE __global const ELEMENT *
