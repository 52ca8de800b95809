/* SPDX-License-Identifier: MIT */
/* The tests of each instruction set of `packed`. */
#ifndef TEST_ISAS_H
#define TEST_ISAS_H

#include "packed/isa/ukernel.h"
#include "support/options.h"
#include "support/report.h"

/* Of this processor's ones: all, or that of --isa. */
static inline void test_isas(const test_options *o,
                             void (*test)(const gemm_ukernel *, const test_options *))
{
    int known = 0;
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u) {
        if (o->isa && strcmp(o->isa, (*u)->name)) continue;
        ++known;
        if ((*u)->supported()) test(*u, o);
        else report_skip_machine((*u)->name, "this processor has no %s", (*u)->name);
    }
    if (!known) report_fail("isa", "this build has no micro-kernels for --isa %s", o->isa);
}

#endif
