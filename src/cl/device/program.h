/* SPDX-License-Identifier: MIT */
/*
 * OpenCL programs: each is built once per set of options, and tried once on its device
 * (cl/trial/trial.h). For the OpenCL files only; called with gemm_cl_lock held, while the device is
 * open.
 */
#ifndef GEMM_CL_PROGRAM_H
#define GEMM_CL_PROGRAM_H

#include "cl/device/builders.h"
#include "cl/device/built.h"

typedef enum gemm_cl_verdict {
    GEMM_CL_RIGHT,
    GEMM_CL_WRONG,              /* with a reason */
    GEMM_CL_UNFINISHED          /* a call of OpenCL's failed, and that was said */
} gemm_cl_verdict;

/* Runs a built program whose kernel and its limits are known. Meanwhile gemm_cl_build gives this
   one for its kernel, whatever the options are. */
typedef gemm_cl_verdict gemm_cl_trial(const gemm_cl_program *, char *reason, size_t bytes);

/* How programs are tried: before any is built. */
void gemm_cl_set_trial(gemm_cl_trial *);

/* kernels/<name>.cl built with these options, or NULL and the reason. A program is left out for
   good where it does not build, or where its results are wrong. No options, NULL: there was no
   memory for them. */
const gemm_cl_program *gemm_cl_build(const char *name, const char *options, const char **why);

/* The same for a caller that cannot do without. NULL: it is left out, and that was said. */
const gemm_cl_program *gemm_cl_need(const char *name, const char *options);

/* NULL where the program can be used, or why it is left out. */
const char *gemm_cl_why_left_out(const char *name, const char *options);

/* Whether this is the reason of a program that can never be used on this device. */
bool gemm_cl_is_faulty(const char *why);

/*
 * Until gemm_cl_end_postponing, calls of this thread only ask for their programs, and are declined.
 * gemm_cl_build compiles nothing then: it wants what is neither built nor in the cache, and gives a
 * reason that is not said. These need no lock.
 */
typedef enum gemm_cl_lack {
    GEMM_CL_LACKS_NOTHING,
    GEMM_CL_LACKS,              /* only what was wanted before */
    GEMM_CL_LACKS_MORE
} gemm_cl_lack;
void gemm_cl_postpone(void);
gemm_cl_lack gemm_cl_end_postponing(void);
bool gemm_cl_postpones(void);
bool gemm_cl_lacks(void);

/* Builds a program that is wanted, or leaves it out. Whether there was one. */
bool gemm_cl_build_wanted(void);

/* Says a reason that gemm_cl_build gave, once for each program. */
void gemm_cl_say_left_out(const char *why);

/*
 * While this is on, a program that the cache has not is not built. gemm_cl_build gives it without a
 * kernel, as if it were right and had the limits of the device. So a walk over the layers of a
 * network finds what is missing.
 */
void gemm_cl_foresee(bool);
bool gemm_cl_foresees(void);

/* Ends that. Builds what was foreseen, if further processes can help (cl/device/builders.h). */
void gemm_cl_build_foreseen(void);
gemm_cl_build_one gemm_cl_build_order;

/* Releases all programs. */
void gemm_cl_release_programs(void);

/* kernels/ as text, made by kernels/embed.sh. */
typedef struct gemm_cl_source {
    const char *name, *text;
} gemm_cl_source;

extern const gemm_cl_source gemm_cl_sources[];
extern const size_t gemm_cl_source_count;

#endif
