/* SPDX-License-Identifier: MIT */
/*
 * The state of the driver: the settings with their names looked up in the tables.
 *
 * Names become rows and micro-kernels, and packed, cl and ref get their part of the environment.
 * This happens once, at the first call that needs it.
 */
#ifndef GEMM_START_H
#define GEMM_START_H

#include "driver/settings.h"
#include "gemm_variant.h"
#include "int8/scales.h"

typedef struct gemm_state {
    const gemm_variant *impl;           /* the row of GEMM_IMPL */
    int threads;                        /* at least 1 */
    const char *threads_by;             /* what gave this number, in a few words */
    const struct gemm_ukernel *isa;     /* of GEMM_ISA, or the best of this processor */
    gemm_conv_mode conv;                /* of GEMM_CONV */
    bool prepare_first;                 /* of GEMM_PREPARE */
    bool never_waits;                   /* gemm_context.never_waits; not with GEMM_TUNE=1 */
    bool reproducible;                  /* of GEMM_REPRODUCIBLE: isa is so, and impl is packed */
    const char *way;                    /* of GEMM_WAY, or NULL */
    const gemm_scales *scales;          /* of the file GEMM_INT8, or NULL */
    const char *scales_path;            /* its name */
    int auto_bits;                      /* of GEMM_AUTO_BITS */
    bool auto_scales;                   /* they are 8: `auto` gets the scales */
    size_t keep;                        /* of GEMM_KEEP; SIZE_MAX: plan.h has the default */
    bool check, trace, calibrate;       /* GEMM_CHECK=1, GEMM_TRACE and GEMM_CALIBRATE are set */
    bool summary;                       /* GEMM_TRACE=summary: no row for each call */
} gemm_state;

/* The present state. The first call reads the environment, and ends the program when a variable has
   a bad value. While the program is being ended, calls run on stock, without trace and check. */
const gemm_state *gemm_get_state(void);

/* Whether the programs of a network are told before its first pass: gemm_foresee. */
static inline bool gemm_state_foresees(const gemm_state *s)
{
    const gemm_device *d = s->impl->device;
    return d && d->make_foreseen && !s->calibrate && s->conv != GEMM_IM2COL;
}

/* Clears the note and returns the context of one call. */
static inline gemm_context gemm_state_context(const gemm_state *s, gemm_note *note)
{
    gemm_clear_note(note);
    return (gemm_context){.threads = s->threads, .isa = s->isa, .direct = s->conv != GEMM_HOOK,
                          .way = s->way, .timed = s->trace, .note = note};
}

#endif
