/* SPDX-License-Identifier: MIT */
/* What can run here, asked in a child process: see probe.h. */
#include "gemm-bench/probe.h"

#include "cl/configure.h"
#include "common/apart.h"
#include "driver/driver.h"
#include "ref/ref.h"

#include <stdlib.h>
#include <string.h>

/* Copies a text; NULL is "". One that is too long ends with dots. */
static void keep(char *to, size_t size, const char *text)
{
    if (snprintf(to, size, "%s", text ? text : "") >= (int)size) strcpy(to + size - 4, "...");
}

typedef struct question {
    size_t first;               /* row */
    probe_depth depth;
} question;

/* The texts and limits of the OpenCL device, for the first row that opens it. */
static void say_device(void)
{
    static bool said;
    const char *text = said ? NULL : gemm_cl_describe();
    if (!text) return;
    fprintf(stderr, "gemm-bench: device %s\n", text);
    said = true;
}

/* In the child: a probe for each row from q->first on, each written before the next is asked. */
static void ask_rows(void *asked, FILE *out)
{
    const question *q = asked;
    for (size_t i = q->first; i < gemm_variant_count; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        const char *reason = q->depth == PROBE_LIMITS ? gemm_limits(v) : gemm_unusable(v);
        const char *version = v->multiply == gemm_ref_run ? gemm_ref_version(v->params) : NULL;
        char *device = gemm_is_on_device(v) && !reason ? gemm_cl_identify() : NULL;
        probe p = {{0}, {0}, {0}};
        if (q->depth == PROBE_LIMITS) say_device();
        keep(p.reason, sizeof p.reason, reason);
        keep(p.version, sizeof p.version, version);
        keep(p.device, sizeof p.device, device);
        free(device);
        fwrite(&p, sizeof p, 1, out);
        fflush(out);
    }
}

probe *probe_rows(probe_depth depth)
{
    probe *all = calloc(gemm_variant_count, sizeof *all);
    for (size_t i = 0; all && i < gemm_variant_count;) {
        apart_result r;
        question q = {i, depth};
        const bool finished = apart_run(ask_rows, &q, &r);
        const size_t count = r.size / sizeof *all;
        memcpy(&all[i], r.text, count * sizeof *all);
        i += count;
        if (!finished && i < gemm_variant_count) {
            snprintf(all[i].reason, sizeof all[i].reason, "a process that loads it %s", r.why);
            ++i;
        }
        free(r.text);
    }
    return all;
}

void probe_list(const probe *p, FILE *out)
{
    for (size_t i = 0; i < gemm_variant_count; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        fprintf(out, "%s\t%s%s\t%s\t%s%s%s\n", v->name, *p[i].reason ? "unusable: " : "usable",
                p[i].reason, v->origin, v->summary, *p[i].device ? "; on " : "", p[i].device);
    }
}
