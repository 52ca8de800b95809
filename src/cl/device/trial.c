/* SPDX-License-Identifier: MIT */
/* The trial of a program: see trial.h. */
#include "cl/device/trial.h"

#include "cl/device/trial_layers.h"
#include "cl/device/trial_multiply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All other kernels multiply. */
static const struct {
    const char *kernel;
    void (*run)(gemm_cl_kit *);
} trials[] = {
    {"cl_winograd_filter", gemm_cl_try_winograd_filter},
    {"cl_winograd_input", gemm_cl_try_winograd_input},
    {"cl_winograd", gemm_cl_try_winograd},
    {"cl_winograd_output", gemm_cl_try_winograd_output},
    {"cl_int8_input", gemm_cl_try_int8_input},
    {"cl_int8", gemm_cl_try_int8},
    {"cl_int8_wide", gemm_cl_try_int8_wide},
    {"cl_fill", gemm_cl_try_fill},
    {"cl_pack", gemm_cl_try_pack},
    {"cl_sum", gemm_cl_try_sum},
    {"cl_zero", gemm_cl_try_zero},
    {"cl_maxpool", gemm_cl_try_maxpool},
    {"cl_avgpool", gemm_cl_try_avgpool},
    {"cl_upsample", gemm_cl_try_upsample},
    {"cl_shortcut", gemm_cl_try_shortcut},
    {"cl_copy", gemm_cl_try_copy},
    {"cl_yolo", gemm_cl_try_yolo},
};

enum { TRIALS = sizeof trials / sizeof trials[0] };

/* Whether the device has room for the built kernel: its groups, as large as its options say, and
   its local memory. No row runs it otherwise. */
static bool has_room(const gemm_cl_kit *k)
{
    const int items = gemm_cl_kit_number(k, "-DWX", 1) * gemm_cl_kit_number(k, "-DWY", 1) *
                      gemm_cl_kit_number(k, "-DSLICES", 1);
    return k->p->local <= (cl_ulong)gemm_cl_opened()->traits.local &&
           (k->row->any_group || (size_t)items <= k->p->group_items);
}

gemm_cl_trial gemm_cl_try(const gemm_cl_program *p, char *reason, size_t bytes)
{
    gemm_cl_kit k = {.p = p, .row = gemm_cl_row_of(p->name),
                     .memory = malloc(GEMM_CL_KIT_ROOM * sizeof(float))};
    size_t i = 0;
    while (i < TRIALS && strcmp(trials[i].kernel, p->name)) ++i;
    if (!k.memory) gemm_cl_say("out of memory");
    else if (has_room(&k)) (i < TRIALS ? trials[i].run : gemm_cl_try_multiply)(&k);
    const bool finished = k.memory && !k.unfinished;
    free(k.memory);
    if (!finished) return GEMM_CL_TRIAL_UNFINISHED;
    if (k.wrong) snprintf(reason, bytes, "%s", k.reason);
    return k.wrong ? GEMM_CL_TRIAL_WRONG : GEMM_CL_TRIAL_RIGHT;
}
