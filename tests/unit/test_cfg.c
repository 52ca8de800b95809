/*
 * The cfg parser against Darknet itself, on every cfg of Darknet's cfg folder and on every_layer.cfg.
 *
 * This program is linked with libdarknet.so and defines gemm, gemm_cpu and the functions that cost
 * time in a forward pass. The dynamic linker takes these instead of the library's. So Darknet parses
 * each cfg, builds each layer with the sizes that it prints, and runs each layer's own forward
 * function, while gemm only notes how it is called: sizes, transposes, leading dimensions, number.
 *
 * A process for each cfg, as Darknet ends its own on an error and frees little. It runs where the
 * cfg's trees and maps are: in Darknet's folder.
 */
#include "common/cfg.h"
#include "darknet.h"
#include "support/report.h"
#include "common/shapes.h"

#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in Darknet's place ---- */

static cfg_gemm seen[16];       /* the different calls of one layer */
static size_t seen_count;

static bool same_call(const cfg_gemm *a, const cfg_gemm *b)
{
    return a->TA == b->TA && a->TB == b->TB && a->M == b->M && a->N == b->N && a->K == b->K
           && a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc;
}

static void count_call(cfg_gemm *list, size_t *count, cfg_gemm g)
{
    for (size_t i = 0; i < *count; ++i) {
        if (same_call(&list[i], &g)) {
            list[i].calls += g.calls;
            return;
        }
    }
    if (*count == sizeof(seen) / sizeof(seen[0])) abort();
    list[(*count)++] = g;
}

void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb,
              float BETA, float *C, int ldc)
{
    (void)ALPHA, (void)A, (void)B, (void)BETA, (void)C;
    count_call(seen, &seen_count, (cfg_gemm){.TA = TA, .TB = TB, .M = M, .N = N, .K = K, .lda = lda,
                                             .ldb = ldb, .ldc = ldc, .calls = 1});
}

void gemm(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb,
          float BETA, float *C, int ldc)
{
    gemm_cpu(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc);
}

/* What only moves or makes numbers, and would touch gigabytes for a batch of 128. Their arguments
   do not matter; the assembler's name spares repeating them. */
#define DO_NOTHING(name) void no_##name(void) __asm__(#name); void no_##name(void) {}
DO_NOTHING(fill_cpu)
DO_NOTHING(copy_cpu)
DO_NOTHING(axpy_cpu)
DO_NOTHING(scal_cpu)
DO_NOTHING(mul_cpu)
DO_NOTHING(weighted_sum_cpu)
DO_NOTHING(im2col_cpu)
DO_NOTHING(col2im_cpu)
DO_NOTHING(activate_array)
DO_NOTHING(add_bias)
DO_NOTHING(forward_batchnorm_layer)

float rand_normal(void);
float rand_normal(void)
{
    return 0;
}

float rand_uniform(float low, float high)
{
    return (low + high) / 2;
}

/* ---- comparing ---- */

static bool multiplies(LAYER_TYPE type)
{
    return type == CONVOLUTIONAL || type == DECONVOLUTIONAL || type == CONNECTED || type == LOCAL
           || type == RNN || type == GRU || type == LSTM || type == CRNN;
}

/* In the child: prints the first difference on `out`; true when there is none. */
static bool same_layer(FILE *out, network *net, int i, const cfg_net *ours)
{
    const layer *l = &net->layers[i];
    const cfg_layer *o = &ours->layers[i];
    if (l->out_w != o->out_w || l->out_h != o->out_h || l->out_c != o->out_c
        || l->outputs != o->outputs) {
        fprintf(out, "layer %d [%s] is %d x %d x %d = %d in Darknet, %d x %d x %d = %d here", i,
                o->type, l->out_w, l->out_h, l->out_c, l->outputs, o->out_w, o->out_h, o->out_c,
                o->outputs);
        return false;
    }
    seen_count = 0;
    network pass = *net;
    pass.index = i;
    if (multiplies(l->type)) l->forward(*l, pass);
    cfg_gemm read[16];
    size_t read_count = 0;
    for (size_t g = 0; g < ours->gemm_count; ++g)
        if (ours->gemms[g].layer == i) count_call(read, &read_count, ours->gemms[g]);
    for (size_t s = 0; s < seen_count; ++s) {
        size_t r = 0;
        while (r < read_count && !(same_call(&read[r], &seen[s]) && read[r].calls == seen[s].calls))
            ++r;
        if (r == read_count) {
            fprintf(out, "layer %d [%s]: Darknet makes %ld calls of TA=%d TB=%d M=%d N=%d K=%d ld "
                    "%d %d %d, which are not ours", i, o->type, seen[s].calls, seen[s].TA,
                    seen[s].TB, seen[s].M, seen[s].N, seen[s].K, seen[s].lda, seen[s].ldb,
                    seen[s].ldc);
            return false;
        }
    }
    if (seen_count != read_count) fprintf(out, "layer %d [%s]: calls that Darknet lacks", i, o->type);
    return seen_count == read_count;
}

/* Our reading of the file, with `batch` as cfg_read takes it, against Darknet's. */
static bool same_reading(FILE *out, const char *path, int batch, network *net)
{
    cfg_net ours;
    char error[300];
    if (cfg_read(path, batch, &ours, error, sizeof(error))) {
        fputs(error, out);
        return false;
    }
    bool same = net->n == (int)ours.layer_count;
    if (!same) fprintf(out, "%d layers in Darknet, %zu here", net->n, ours.layer_count);
    size_t calls = 0;
    for (int i = 0; same && i < net->n; ++i) {
        same = same_layer(out, net, i, &ours);
        calls += seen_count;
    }
    if (same && !calls) fputs("no call of gemm was seen", out);
    cfg_free(&ours);
    return same && calls;
}

/* With the file's batch, and with 1 as `detect` has; that does not reach recurrent layers. */
static bool same_net(FILE *out, char *path)
{
    network *net = parse_network_cfg(path);
    if (!same_reading(out, path, 0, net)) return false;
    for (int i = 0; i < net->n; ++i) {
        const LAYER_TYPE type = net->layers[i].type;
        if (type == RNN || type == GRU || type == LSTM || type == CRNN) return true;
    }
    set_batch_network(net, 1);
    return same_reading(out, path, 1, net);
}

enum { CHILD_SAME = 42, CHILD_DIFFERS = 43 };   /* Darknet itself exits with 0 when it fails */

static void test_cfg(const char *folder, const char *path)
{
    char name[300], text[300] = "";
    int pipes[2], status = 0;
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(name, sizeof(name), "cfg_%s", file);
    if (pipe(pipes)) abort();
    const pid_t pid = fork();
    if (pid == 0) {
        FILE *out = fdopen(pipes[1], "w");
        char copy[4096];
        snprintf(copy, sizeof(copy), "%s", path);
        if (!freopen("/dev/null", "w", stderr) || chdir(folder)) _exit(1);
        const bool same = same_net(out, copy);
        fclose(out);
        _exit(same ? CHILD_SAME : CHILD_DIFFERS);
    }
    close(pipes[1]);
    FILE *in = fdopen(pipes[0], "r");
    if (!fgets(text, sizeof(text), in)) text[0] = '\0';
    fclose(in);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SAME) report_pass(name);
    else report_fail(name, "%s (wait status 0x%x)", text, status);
}

static void test_folder(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/cfg", folder);
    DIR *dir = opendir(path);
    int count = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".cfg")) continue;
        ++count;
        snprintf(path, sizeof(path), "%s/cfg/%s", folder, e->d_name);
        test_cfg(folder, path);
    }
    if (dir) closedir(dir);
    if (count < 40) report_fail("cfg_folder", "%d cfg files in %s/cfg: where is Darknet?", count, folder);
}

/* ---- without Darknet ---- */

static void test_builtin(const char *cfg)
{
    shape_list named = {0}, read = {0};
    char error[300] = "";
    bool same = !shapes_add_named(&named, "yolov3-tiny", error, sizeof(error))
                && !shapes_add_cfg(&read, cfg, 1, error, sizeof(error)) && named.count == read.count;
    long calls = 0;
    for (size_t i = 0; same && i < named.count; ++i) {
        same = !memcmp(&named.items[i], &read.items[i], sizeof(shape));
        calls += named.items[i].calls;
    }
    if (same && calls == 13) report_pass("cfg_builtin_yolov3_tiny");
    else report_fail("cfg_builtin_yolov3_tiny", "built in %zu, %s has %zu %s", named.count, cfg,
                     read.count, error);
    shapes_free(&named);
    shapes_free(&read);
}

static void test_message(const char *name, const char *text, size_t size, const char *wanted)
{
    char path[] = "/tmp/test_cfg.XXXXXX";
    char error[300] = "";
    const int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size) abort();
    close(fd);
    cfg_net net;
    const int failed = cfg_read(path, 1, &net, error, sizeof(error));
    unlink(path);
    if (!failed) cfg_free(&net);
    if (failed && strstr(error, wanted)) report_pass(name);
    else report_fail(name, "wanted '%s', got %s'%s'", wanted, failed ? "" : "success, ", error);
}

#define NET "[net]\nwidth=8\nheight=8\nchannels=3\n"
#define MESSAGE(name, text, wanted) test_message("cfg_message_" name, text, sizeof(text) - 1, wanted)

static void test_messages(void)
{
    char error[300];
    cfg_net net;
    if (cfg_read("/nowhere/x.cfg", 1, &net, error, sizeof(error))
        && !strcmp(error, "/nowhere/x.cfg: No such file or directory")) report_pass("cfg_message_missing");
    else report_fail("cfg_message_missing", "%s", error);
    if (cfg_read("/", 1, &net, error, sizeof(error)) && !strcmp(error, "/: Is a directory"))
        report_pass("cfg_message_directory");
    else report_fail("cfg_message_directory", "%s", error);
    MESSAGE("empty", "# nothing\n", "no [section]: not a cfg file");
    MESSAGE("binary", "[net]\n\0\1\2", ":2: a zero byte: not a cfg file");
    MESSAGE("no_net", "[convolutional]\nfilters=1\n", ":1: the first section is [convolutional], not [net]");
    MESSAGE("no_size", "[net]\nbatch=1\n", ":1: [net] gives neither inputs nor width, height and channels");
    MESSAGE("early_option", "batch=1\n[net]\n", ":1: 'batch=1' stands before the first [section]");
    MESSAGE("no_equals", NET "filters 3\n", ":5: 'filters3' is neither [section] nor key=value");
    MESSAGE("open_section", NET "[convolutional\n", ":5: '[convolutional': a section ends with ]");
    MESSAGE("unknown_layer", NET "[transformer]\n", ":5: [transformer] is no layer that Darknet knows");
    MESSAGE("no_number", NET "[conv]\nfilters=many\n", ":6: filters=many: a whole number is needed");
    MESSAGE("huge_number", NET "[conv]\nfilters=99999999999\n", ":6: filters=99999999999: a whole number");
    MESSAGE("zero_stride", NET "[conv]\nstride=0\n", ":6: [conv] stride is 0, at least 1 is needed");
    MESSAGE("groups", NET "[conv]\nfilters=4\ngroups=2\n", ":5: [conv] 2 groups do not divide 3 channels and 4 filters");
    MESSAGE("too_small", NET "[conv]\nsize=11\n", ":5: [conv] puts out ");
    MESSAGE("overflow", NET "[connected]\noutput=70000\n[connected]\noutput=1\n[upsample]\nstride=50000\n",
            " is too large");
    MESSAGE("route_ahead", NET "[conv]\nfilters=2\n[route]\nlayers=5\n", ":8: layers=5 names layer 5; 1 are before");
    MESSAGE("route_none", NET "[route]\n", ":5: [route] needs layers=");
    MESSAGE("shortcut_back", NET "[conv]\n[shortcut]\nfrom=-4\n", ":7: from=-4 names layer -3");
    MESSAGE("no_image", "[net]\ninputs=10\n[conv]\n", ":3: [conv] needs an image");
    MESSAGE("subdivisions", "[net]\ninputs=10\nbatch=1\nsubdivisions=0\n", "subdivisions is 0, at least 1");
    MESSAGE("yolo", NET "[conv]\nfilters=255\n[yolo]\nnum=3\nclasses=79\n", "[yolo] wants 16128 values and gets 16320");
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "build/upstream";
    char layers[4096];
    test_builtin("cfg/yolov3-tiny.cfg");
    test_messages();
    if (!realpath("tests/unit/cfg/every_layer.cfg", layers)) report_fail("cfg_layers", "tests/layers.cfg is missing");
    else test_cfg(".", layers);
    char *absolute = realpath(folder, NULL);
    if (absolute) test_folder(absolute);
    else report_fail("cfg_folder", "%s: %s", folder, strerror(errno));
    free(absolute);
    return report_status();
}
