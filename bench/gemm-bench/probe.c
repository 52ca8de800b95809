/* What can run here, asked in a child process: see probe.h. */
#include "gemm-bench/probe.h"

#include "common/apart.h"
#include "driver/driver.h"
#include "ref/ref.h"

#include <stdlib.h>
#include <string.h>

/* In the child: a probe for each row from *first on, each written before the next row is asked. */
static void ask_rows(void *first, FILE *out)
{
    for (size_t i = *(const size_t *)first; i < gemm_variant_count; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        const char *reason = gemm_unusable(v);
        const char *version = v->run == gemm_ref_run ? gemm_ref_version(v->params) : NULL;
        probe p = {{0}, {0}};
        snprintf(p.reason, sizeof p.reason, "%s", reason ? reason : "");
        snprintf(p.version, sizeof p.version, "%s", version ? version : "");
        fwrite(&p, sizeof p, 1, out);
        fflush(out);
    }
}

probe *probe_rows(void)
{
    probe *all = calloc(gemm_variant_count, sizeof *all);
    for (size_t i = 0; all && i < gemm_variant_count;) {
        apart_result r;
        const bool finished = apart_run(ask_rows, &i, &r);
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
        fprintf(out, "%s\t%s%s\t%s\t%s\n", v->name, *p[i].reason ? "unusable: " : "usable",
                p[i].reason, v->origin, v->summary);
    }
}
