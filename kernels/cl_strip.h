/* SPDX-License-Identifier: MIT */
/*
 * The rows of a packed strip of B, on devices that are CPUs: for the kernels (cl_vector.h) and for
 * the host, which asks whether a K is one strip.
 */
#ifndef CL_STRIP_H
#define CL_STRIP_H

#define CL_KC 256

#endif
