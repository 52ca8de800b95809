/* SPDX-License-Identifier: MIT */
/* The trial of a program: see trial.h. */
#include "cl/device/trial.h"

#include "cl/device/trial_layers.h"
#include "cl/device/trial_multiply.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether the device has room for the built kernel: its groups, as large as its options say, and
   its local memory. No row runs it otherwise. */
static bool has_room(const gemm_cl_kit *k)
{
    const int items = gemm_cl_kit_number(k, "-DWX", 1) * gemm_cl_kit_number(k, "-DWY", 1) *
                      gemm_cl_kit_number(k, "-DSLICES", 1);
    return k->p->local <= (cl_ulong)gemm_cl_opened()->traits.local &&
           (k->family->any_group || (size_t)items <= k->p->group_items);
}

gemm_cl_trial gemm_cl_try(const gemm_cl_program *p, char *reason, size_t bytes)
{
    gemm_cl_kit k = {.p = p, .family = gemm_cl_family_of(p->name),
                     .memory = malloc(GEMM_CL_KIT_ROOM * sizeof(float))};
    gemm_cl_layer_trial *run = gemm_cl_find_layer_trial(p->name);
    if (!k.memory) gemm_cl_say("out of memory");
    else if (has_room(&k)) (run ? run : gemm_cl_try_multiply)(&k);
    const bool finished = k.memory && !k.unfinished;
    free(k.memory);
    if (!finished) return GEMM_CL_TRIAL_UNFINISHED;
    if (k.wrong) snprintf(reason, bytes, "%s", k.reason);
    return k.wrong ? GEMM_CL_TRIAL_WRONG : GEMM_CL_TRIAL_RIGHT;
}
