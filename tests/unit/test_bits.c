/* SPDX-License-Identifier: MIT */
/*
 * The bits of what row `packed` computes: a hash for each network and instruction set, and for the
 * 13 multiplies of yolov3-tiny. A change that shall not change results leaves the file of hashes as
 * it is.
 *
 *   test_bits [--reproducible] [--update] FILE CFG... [--vectors CFG...]
 *
 * FILE begins with a line about the machine. The bits depend on the compiler and its flags, because
 * Darknet's own code is compiled with -Ofast. They depend on the C library, because Darknet calls
 * expf, and on the processor, because its caches set block sizes. Where that line differs, the
 * hashes are not compared.
 *
 * The hash of a line is that of 1 thread. 2 and 3 threads must give the same, on every machine.
 * --update writes FILE. The CFGs behind --vectors are left out for `generic`, which is slow.
 *
 * --reproducible: under GEMM_REPRODUCIBLE=1. Then a line of FILE is for all processors, compilers
 * and instruction sets. Layers of Darknet's own code are not hashed. Two images are two passes with
 * 2 threads, and one pass with 1 and 3, where the CFG has room for that.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"
#include "common/machine.h"
#include "common/random.h"
#include "common/shapes.h"
#include "driver/driver.h"
#include "packed/isa/ukernel.h"
#include "support/child.h"
#include "support/network.h"
#include "support/report.h"
#include "util/soft_fma.h"

enum { SEED = 5, MOST_THREADS = 3, MOST_BATCH = 8, PASSES = 2, MOST_LINES = 1000 };

static const char MULTIPLIES[] = "yolov3-tiny-multiplies", ALL[] = "all";
static bool reproducible;       /* --reproducible */

/* ---- hashes ---- */

typedef uint64_t hash;

/* FNV-1a, of whole numbers instead of bytes. */
static hash add_floats(hash h, const float *v, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        uint32_t bits;
        memcpy(&bits, v + i, sizeof bits);
        h = (h ^ bits) * 0x100000001b3;
    }
    return h;
}

/* Layers in the middle too, because a softmax at the end hides bits. What a fusion may leave
   unwritten is left out. */
static bool is_hashed(const network *net, int i)
{
    const layer *l = &net->layers[i];
    if (!l->output) return false;
    return network_is_output(net, i) || (l->type != CONVOLUTIONAL && l->type != DROPOUT);
}

static hash network_hash(const char *cfg)
{
    hash h = 0xcbf29ce484222325;
    network *net = network_make(cfg, SEED);
    if (net->batch > MOST_BATCH) set_batch_network(net, 1);     /* as for detect */
    rng r = rng_make(SEED, 2);
    const size_t inputs = (size_t)net->inputs * (size_t)net->batch;
    float *input = malloc(inputs * sizeof *input);
    for (int pass = 0; pass < PASSES; ++pass) {
        network_fill(input, inputs, &r);
        network_predict(net, input);
        for (int i = 0; i < net->n; ++i) {
            const layer *l = &net->layers[i];
            if (is_hashed(net, i))
                h = add_floats(h, l->output, (size_t)l->outputs * (size_t)l->batch);
        }
    }
    free(input);
    free_network(net);
    return h;
}

/* What GEMM_REPRODUCIBLE=1 promises. What a fusion may leave unwritten is left out here too. */
static bool is_promised(const network *net, int i)
{
    const layer *l = &net->layers[i];
    switch (l->type) {
    case CONVOLUTIONAL: return i == net->n - 1;
    case CONNECTED: return net->batch == 1;     /* else it is Darknet's layer, with a multiply */
    case MAXPOOL: case AVGPOOL: case UPSAMPLE: case ROUTE: case SHORTCUT: case YOLO: return true;
    /* Darknet's own, in double, or a product of two numbers */
    case SAM: case SCALE_CHANNELS: case LOCAL_AVGPOOL: case REORG3D: case GAUSSIAN_YOLO:
        return true;
    default: return false;
    }
}

/* Two images, `batch` of them in a pass. The hashes of an image are added to those before it. */
static hash images_hash(const char *cfg, int batch)
{
    enum { IMAGES = 2 };
    hash h[IMAGES] = {0xcbf29ce484222325, 0xcbf29ce484222325};
    network *net = network_make(cfg, SEED);
    rng r = rng_make(SEED, 2);
    if (net->batch < batch) batch = 1;
    set_batch_network(net, batch);
    const size_t inputs = (size_t)net->inputs;
    float *input = malloc(IMAGES * inputs * sizeof *input);
    network_fill(input, IMAGES * inputs, &r);
    for (int image = 0; image < IMAGES; image += batch) {
        network_predict(net, input + (size_t)image * inputs);
        for (int i = 0; i < net->n; ++i) {
            const layer *l = &net->layers[i];
            for (int b = 0; b < batch && is_promised(net, i); ++b)
                h[image + b] = add_floats(h[image + b], l->output + (size_t)b * (size_t)l->outputs,
                                          (size_t)l->outputs);
        }
    }
    free(input);
    free_network(net);
    return h[0] + h[1];
}

static float *random_floats(size_t n, rng *r)
{
    float *v = malloc(n * sizeof *v);
    for (size_t i = 0; i < n; ++i) v[i] = rng_float(r);
    return v;
}

static hash multiplies_hash(void)
{
    hash h = 0xcbf29ce484222325;
    rng r = rng_make(SEED, 3);
    for (int i = 0; i < YOLOV3_TINY_CALLS; ++i) {
        const shape_size s = yolov3_tiny_sizes[i];
        const size_t M = (size_t)s.M, N = (size_t)s.N, K = (size_t)s.K;
        float *A = random_floats(M * K, &r), *B = random_floats(K * N, &r);
        float *C = random_floats(M * N, &r);
        gemm_dispatch(&(gemm_call){0, 0, s.M, s.N, s.K, 1, A, s.K, B, s.N, C, s.N});
        h = add_floats(h, C, M * N);
        free(A);
        free(B);
        free(C);
    }
    return h;
}

/* All transposes of sizes that meet skinny and tiny ways, tails and blocks of K, for each ALPHA. */
static hash transposes_hash(void)
{
    static const int sizes[][3] = {
        {1, 1, 1}, {2, 2, 5}, {3, 5, 7}, {17, 33, 1}, {1, 100, 300}, {100, 1, 301}, {1, 77, 1000},
        {90, 2, 400}, {40, 52, 385}, {100, 7, 384}, {9, 200, 770}, {70, 67, 513}, {200, 40, 50},
        {64, 25, 1200}};
    hash h = 0xcbf29ce484222325;
    rng r = rng_make(SEED, 4);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const int M = sizes[i][0], N = sizes[i][1], K = sizes[i][2];
        float *A = random_floats((size_t)M * (size_t)K, &r);
        float *B = random_floats((size_t)K * (size_t)N, &r);
        for (int form = 0; form < 8; ++form) {
            const int TA = form & 1, TB = form >> 1 & 1;
            float *C = random_floats((size_t)M * (size_t)N, &r);
            gemm_dispatch(&(gemm_call){TA, TB, M, N, K, form & 4 ? .7f : 1, A, TA ? M : K, B,
                                       TB ? K : N, C, N});
            h = add_floats(h, C, (size_t)M * (size_t)N);
            free(C);
        }
        free(A);
        free(B);
    }
    return h;
}

/* ---- the file ---- */

typedef struct line {
    char isa[16], name[64];
    hash hash;
} line;

typedef struct line_list {
    char machine[512];
    int count;
    line lines[MOST_LINES];
} line_list;

static void describe_machine(char *text, size_t size)
{
    machine m;
    if (reproducible) {
        snprintf(text, size, "GEMM_REPRODUCIBLE=1, on every machine: docs/reproducible.md");
        return;
    }
    machine_read(&m);
    snprintf(text, size, "%s %s, glibc %s, %s, %s", m.compiler, m.flags, m.libc, m.cpu, m.caches);
}

static bool read_lines(const char *path, line_list *list)
{
    FILE *file = fopen(path, "r");
    if (!file) return false;
    if (!fgets(list->machine, sizeof list->machine, file)) list->machine[0] = '\0';
    list->machine[strcspn(list->machine, "\n")] = '\0';
    for (line *l = list->lines; list->count < MOST_LINES; l = &list->lines[++list->count]) {
        unsigned long long number;
        if (fscanf(file, "%15s %63s %llx", l->isa, l->name, &number) != 3) break;
        l->hash = number;
    }
    fclose(file);
    return true;
}

static bool write_lines(const char *path, const line_list *list)
{
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fprintf(file, "%s\n", list->machine);
    for (const line *l = list->lines; l < list->lines + list->count; ++l)
        fprintf(file, "%-7s  %-24s  %016llx\n", l->isa, l->name, (unsigned long long)l->hash);
    return !fclose(file);
}

static const line *find_line(const line_list *list, const char *isa, const char *name)
{
    for (const line *l = list->lines; l < list->lines + list->count; ++l)
        if (!strcmp(l->isa, isa) && !strcmp(l->name, name)) return l;
    return NULL;
}

/* ---- what runs ---- */

typedef struct job {
    const char *isa, *cfg;      /* cfg NULL: the multiplies */
} job;

/* Prints a hash for each number of threads. For child_run. */
static int run_job(void *data)
{
    const job *j = data;
    if (!freopen("/dev/null", "w", stderr)) return 1;   /* Darknet prints its networks there */
    setenv("GEMM_ISA", j->isa, 1);
    setenv("GEMM_REPRODUCIBLE", reproducible ? "1" : "0", 1);
    gemm_set_variant(gemm_find("packed"));
    if (!reproducible) gemm_set_prepare_first(true);
    for (int threads = 1; threads <= MOST_THREADS; ++threads) {
        gemm_set_threads(threads);
        const hash h = !j->cfg ? reproducible ? transposes_hash() : multiplies_hash()
                     : reproducible ? images_hash(j->cfg, threads == 2 ? 1 : 2)
                                    : network_hash(j->cfg);
        printf("%016llx\n", (unsigned long long)h);
    }
    return 0;
}

/* Runs a job and reports it. `expected`: NULL where nothing is compared. Returns false when there
   is no hash. */
static bool test_job(const job *j, const char *name, const hash *expected, hash *found)
{
    char test[128];
    unsigned long long h[MOST_THREADS];
    snprintf(test, sizeof test, "bits-%s %s", j->isa, name);
    const child_result r = child_run(run_job, (void *)j);
    if (sscanf(r.output, "%llx %llx %llx", &h[0], &h[1], &h[2]) != MOST_THREADS || child_exit(&r)) {
        report_fail(test, "%s", child_signal(&r) ? child_signal(&r) : "Darknet ended it");
        return false;
    }
    *found = h[0];
    const hash right = expected ? *expected : *found;
    for (int threads = 1; threads <= MOST_THREADS; ++threads) {
        if (h[threads - 1] == right) continue;
        report_fail(test, "%s %s with %d threads: %016llx is not %016llx", name, j->isa, threads,
                    h[threads - 1], (unsigned long long)right);
        return true;
    }
    report_pass(test);
    return true;
}

/* What the file says and what is computed here. */
typedef struct books {
    line_list old, new;
    bool compare;
} books;

static void test_line(books *b, const char *isa, const char *cfg)
{
    const char *slash = cfg ? strrchr(cfg, '/') : NULL;
    line l = {{0}, {0}, 0};
    snprintf(l.isa, sizeof l.isa, "%s", reproducible ? ALL : isa);
    snprintf(l.name, sizeof l.name, "%s", cfg ? slash ? slash + 1 : cfg
                                        : reproducible ? "multiplies" : MULTIPLIES);
    const line *old = b->compare ? find_line(&b->old, l.isa, l.name) : NULL;
    const line *of_another = find_line(&b->new, l.isa, l.name);     /* instruction set */
    if (!old) old = of_another;
    const bool known = test_job(&(job){isa, cfg}, l.name, old ? &old->hash : NULL, &l.hash);
    if (b->compare && !old)
        report_fail("bits-known", "%s %s has no hash: make test-bits UPDATE=1", l.name, isa);
    if (known && !of_another && b->new.count < MOST_LINES) b->new.lines[b->new.count++] = l;
}

static void test_isa(books *b, const gemm_ukernel *u, char **cfgs, int count)
{
    if (!u->supported()) {
        report_skip_machine("bits-isa", "this processor has no %s", u->name);
        return;
    }
    if (reproducible && strcmp(gemm_ukernel_reproducible(u)->name, u->name)) {
        report_skip_machine("bits-isa", "%s has no multiply-add that rounds once", u->name);
        return;
    }
    test_line(b, u->name, NULL);
    for (int i = 0; i < count; ++i) {
        const bool mark = !strcmp(cfgs[i], "--vectors");
        if (mark && !strcmp(u->name, "generic")) break;
        if (!mark) test_line(b, u->name, cfgs[i]);
    }
}

/* (1 + 2^-12)^2 lies in the middle of two floats. Where c is far below the last bit of a double, it
   still decides which one is taken. */
static bool is_fused(int scale, float sign, float tiny)
{
    const float a = sign * ldexpf(1 + 0x1p-12f, scale), b = 1 + 0x1p-12f;
    const float c = ldexpf(tiny, scale), x = gemm_soft_fma(a, b, c), y = fmaf(a, b, c);
    return x == y && gemm_soft_fma(a, b, -a) == fmaf(a, b, -a);
}

static void test_soft_fma(void)
{
    bool right = isnan(gemm_soft_fma(INFINITY, 0, 1)) && gemm_soft_fma(2, INFINITY, 1) > 0 &&
                 gemm_soft_fma(1, 2, -2) == 0 && gemm_soft_fma(3, FLT_MAX, 0) == INFINITY;
    for (int scale = -40; scale <= 40; ++scale) {
        for (int sign = -1; sign <= 1; sign += 2)
            right = right && is_fused(scale, (float)sign, 0) &&
                    is_fused(scale, (float)sign, 0x1p-60f) &&
                    is_fused(scale, (float)sign, -0x1p-60f);
    }
    report_judged("soft-fma", right ? NULL : "it rounds otherwise than fmaf");
}

int main(int argc, char **argv)
{
    static books b;
    bool update = false;
    char **rest = argv + 1;
    for (; *rest; ++rest) {
        if (!strcmp(*rest, "--update")) update = true;
        else if (!strcmp(*rest, "--reproducible")) reproducible = true;
        else break;
    }
    if (!*rest) return 2;
    const char *path = *rest;
    const int count = argc - (int)(rest + 1 - argv);
    describe_machine(b.new.machine, sizeof b.new.machine);
    if (!update && !read_lines(path, &b.old))
        report_fail("bits-file", "%s cannot be read: make test-bits UPDATE=1", path);
    b.compare = !update && !strcmp(b.old.machine, b.new.machine);
    if (!update && !b.compare)
        report_skip_machine("bits-compared", "%s is of %s, and this is %s", path, b.old.machine,
                            b.new.machine);
    if (reproducible) test_soft_fma();
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u)
        test_isa(&b, *u, rest + 1, count);
    if (update && !write_lines(path, &b.new))
        report_fail("bits-file", "%s cannot be written", path);
    return report_status();
}
