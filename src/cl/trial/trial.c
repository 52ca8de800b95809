/* SPDX-License-Identifier: MIT */
/* The trial of a program: see trial.h. */
#include "cl/trial/trial.h"

#include "cl/device/pending.h"
#include "cl/op/launch.h"
#include "cl/trial/kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The row that such a program is of, as far as its options tell. */
static void set_row(gemm_cl_kit *k)
{
    const bool halves = gemm_cl_kit_has(k, "-DHALF_SUMS") || gemm_cl_kit_has(k, "-DHALF_A");
    const int tile = strncmp(k->p->name, "cl_winograd", 11) ? 0 : 4;     /* where none is said */
    snprintf(k->defines, sizeof k->defines, "-DVECTOR=%d", gemm_cl_kit_number(k, "-DVECTOR", 1));
    k->row = (gemm_cl_row){
        .family = gemm_cl_family_of(k->p->name), .defines = k->defines,
        .rows = gemm_cl_kit_number(k, "-DROWS", 1), .cols = gemm_cl_kit_number(k, "-DCOLS", 1),
        .wx = gemm_cl_kit_number(k, "-DWX", 0), .wy = gemm_cl_kit_number(k, "-DWY", 0),
        .depth = gemm_cl_kit_number(k, "-DBK", 0), .slices = gemm_cl_kit_number(k, "-DSLICES", 0),
        .half = halves ? GEMM_CL_HALF_SUMS : GEMM_CL_SINGLE,
        .texture = gemm_cl_kit_has(k, "-DTEXTURE"),
        .winograd = gemm_cl_kit_number(k, "-DTILE", gemm_cl_kit_has(k, "-DWINOGRAD") ? 2 : tile)};
}

static void run(gemm_cl_kit *k)
{
    for (const gemm_cl_kit_trial *t = gemm_cl_helper_trials; t->kernel; ++t) {
        if (strcmp(t->kernel, k->p->name)) continue;
        t->run(k);
        return;
    }
    gemm_cl_try_op(k);
}

/* What a trial counts, nobody asked for. A trial of an op builds other programs, whose trials run
   inside of it. */
gemm_cl_verdict gemm_cl_try(const gemm_cl_program *p, char *reason, size_t bytes)
{
    static int depth;
    const gemm_cl_counts counts = gemm_cl_counters;
    gemm_cl_kit k = {.p = p, .inner = depth++ > 0,
                     .memory = malloc(GEMM_CL_KIT_ROOM * sizeof(float))};
    set_row(&k);
    const gemm_cl_work w = {.device = gemm_cl_opened(), .row = &k.row, .program = p};
    if (!k.memory) gemm_cl_say("out of memory");
    else if (!gemm_cl_why_no_room(&w)) run(&k);     /* else no row runs it */
    const bool finished = k.memory && !k.unfinished;
    free(k.memory);
    --depth;
    gemm_cl_counters = counts;
    if (!finished) return GEMM_CL_UNFINISHED;
    if (k.wrong) snprintf(reason, bytes, "%s", k.reason);
    return k.wrong ? GEMM_CL_WRONG : GEMM_CL_RIGHT;
}
