/* SPDX-License-Identifier: MIT */
/*
 * Trains the demonstration network on a handful of pictures.
 *
 *   demo_train [--iterations N] [--no-times] CFG WEIGHTS LABELS_FOLDER PICTURE...
 *
 * All pictures are one batch, so the CFG's batch must be their number. A picture enters as
 * `./darknet detect` shows it to the network: in the middle of the square, neither moved, mirrored
 * nor recoloured. The boxes of NAME.jpg are in LABELS_FOLDER/NAME.txt, in Darknet's label format:
 * a line "class x y w h" a box, relative to the picture.
 *
 * The same WEIGHTS come out of every run, to the byte: the only random numbers are the first
 * weights, which Darknet draws after srand(SEED). Row `packed` gives the same sums under every
 * number of threads. Another micro-kernel (GEMM_ISA) or another libm rounds differently.
 *
 * WEIGHTS is written every SAVE_EVERY iterations and at Ctrl-C, if the loss is the lowest so far
 * and below GOOD_LOSS, where every box is found. If it never was, WEIGHTS is written at the end. A
 * temporary file is written and then renamed.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "darknet.h"
#include "driver/driver.h"

enum { SEED = 17, SAVE_EVERY = 25, TIMED_ROUNDS = 5 };
static const float GOOD_LOSS = 0.05f;

static volatile sig_atomic_t interrupted;
static FILE *report;            /* standard output; Darknet's own lines go to /dev/null */

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* Ends the program with one line on stderr. */
static void die(const char *what, const char *which)
{
    fprintf(stderr, "demo_train: %s: %s\n", what, which);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Darknet prints a line for every [yolo] layer and iteration to standard output. */
static void silence_darknet(void)
{
    const int out = dup(STDOUT_FILENO);
    report = out < 0 ? NULL : fdopen(out, "w");
    if (!report || !freopen("/dev/null", "w", stdout)) die("standard output", strerror(errno));
    setvbuf(report, NULL, _IOLBF, 0);
}

/* ---- Data ---- */

/* LABELS/NAME.txt for FOLDER/NAME.jpg; the caller frees it. */
static char *labels_path(const char *folder, const char *picture)
{
    const char *slash = strrchr(picture, '/');
    const char *name = slash ? slash + 1 : picture;
    const char *dot = strrchr(name, '.');
    const int length = dot ? (int)(dot - name) : (int)strlen(name);
    char *path = malloc(strlen(folder) + (size_t)length + sizeof "/.txt");
    if (!path) die("no memory for the path of", picture);
    sprintf(path, "%s/%.*s.txt", folder, length, name);
    return path;
}

/* The boxes of a picture of w x h as truth of the network: relative to its letterboxed square. */
static void load_truth(const network *net, const layer *yolo, char *path, int w, int h,
                       float *truth)
{
    int count = 0;
    box_label *boxes = read_boxes(path, &count);
    if (count == 0 || count > yolo->max_boxes) die("no boxes, or too many for [yolo], in", path);
    /* as letterbox_image rounds */
    const bool wide = (float)net->w / (float)w < (float)net->h / (float)h;
    const int new_w = wide ? net->w : w * net->h / h;
    const int new_h = wide ? h * net->w / w : net->h;
    for (int i = 0; i < count; ++i, truth += 5) {
        const box_label *b = &boxes[i];
        if (b->id < 0 || b->id >= yolo->classes || !(b->w > 0 && b->h > 0 && b->left > -.01f &&
            b->top > -.01f && b->right < 1.01f && b->bottom < 1.01f))
            die("a class or a box out of range in", path);
        truth[0] = ((float)((net->w - new_w) / 2) + b->x * (float)new_w) / (float)net->w;
        truth[1] = ((float)((net->h - new_h) / 2) + b->y * (float)new_h) / (float)net->h;
        truth[2] = b->w * (float)new_w / (float)net->w;
        truth[3] = b->h * (float)new_h / (float)net->h;
        truth[4] = (float)b->id;
    }
    free(boxes);
}

/* Fills the network's one batch: its input and its truth stay the same from here on. */
static void load_batch(network *net, const char *folder, char **pictures)
{
    const layer *yolo = &net->layers[net->n - 1];
    if (yolo->type != YOLO) die("the last layer is not [yolo] in", "the CFG");
    for (int i = 0; i < net->batch; ++i) {
        image picture = load_image_color(pictures[i], 0, 0);
        image square = letterbox_image(picture, net->w, net->h);
        memcpy(net->input + (size_t)i * (size_t)net->inputs, square.data,
               (size_t)net->inputs * sizeof *net->input);
        char *path = labels_path(folder, pictures[i]);
        load_truth(net, yolo, path, picture.w, picture.h,
                   net->truth + (size_t)i * (size_t)net->truths);
        free(path);
        free_image(square);
        free_image(picture);
    }
}

/* ---- Training ---- */

static double timed_iteration(network *net, const char *row)
{
    gemm_set_variant(gemm_find(row));
    const double start = now();
    train_network_datum(net);
    return now() - start;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * Prints the time of an iteration under stock and under packed: the medians of TIMED_ROUNDS rounds
 * in turns, after one iteration of each that is not counted. Runs in a process of its own, so that
 * the network to be trained does not change.
 */
static void print_times(network *net)
{
    fprintf(report, "Timing an iteration under stock and under packed ...\n");
    const pid_t child = fork();
    if (child < 0) die("fork", strerror(errno));
    if (child > 0) {
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        if (status != 0 && !interrupted) die("failed", "the timing");
        return;
    }
    double stock[TIMED_ROUNDS], packed[TIMED_ROUNDS];
    for (int i = -1; i < TIMED_ROUNDS && !interrupted; ++i) {
        stock[i < 0 ? 0 : i] = timed_iteration(net, "stock");
        packed[i < 0 ? 0 : i] = timed_iteration(net, "packed");
    }
    if (interrupted) _exit(0);
    qsort(stock, TIMED_ROUNDS, sizeof *stock, by_size);
    qsort(packed, TIMED_ROUNDS, sizeof *packed, by_size);
    const double a = stock[TIMED_ROUNDS / 2], b = packed[TIMED_ROUNDS / 2];
    fprintf(report, "An iteration of %d pictures (medians of %d, in turns): stock %.3f s, "
            "packed %.3f s, %.2f times as fast\n", net->batch, TIMED_ROUNDS, a, b, a / b);
    _exit(0);
}

/*
 * Batch norm's statistics for detection become those of the batch, because the batch is all the
 * data. Darknet's rolling averages would lag behind by some hundred iterations.
 */
static void set_statistics(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type != CONVOLUTIONAL || !l->batch_normalize) continue;
        memcpy(l->rolling_mean, l->mean, (size_t)l->n * sizeof *l->mean);
        memcpy(l->rolling_variance, l->variance, (size_t)l->n * sizeof *l->variance);
    }
}

/* Writes the weights beside `file`, then renames. */
static void save(network *net, const char *file)
{
    set_statistics(net);
    char part[PATH_MAX];
    if ((size_t)snprintf(part, sizeof part, "%s.part-%ld", file, (long)getpid()) >= sizeof part)
        die("too long a name", file);
    save_weights(net, part);
    if (rename(part, file)) die(file, strerror(errno));
}

/* Returns the exit status. */
static int train(network *net, const char *file)
{
    int saved = 0;
    float best = GOOD_LOSS;
    const double start = now();
    fprintf(report, "Training under packed. Ctrl-C keeps the last good weights.\n");
    gemm_set_variant(gemm_find("packed"));
    for (int i = 1; i <= net->max_batches && !interrupted; ++i) {
        const float loss = train_network_datum(net) / (float)net->batch;
        const bool last = i == net->max_batches;
        if (!isfinite(loss)) die("the loss is no number any more; not overwritten", file);
        if (i % SAVE_EVERY != 0 && !last && !interrupted) continue;
        const double each = (now() - start) / i;
        fprintf(report, "iteration %4d of %d: loss %.4f, %.3f s each, %.0f s left\n", i,
                net->max_batches, (double)loss, each, each * (net->max_batches - i));
        if (loss >= best && (!last || saved)) continue;
        save(net, file);
        best = loss;
        saved = i;
    }
    if (saved) fprintf(report, "%s: the weights after iteration %d\n", file, saved);
    else fprintf(report, "%s: not written, because no weights were good so far\n", file);
    return interrupted ? 130 : 0;
}

int main(int argc, char **argv)
{
    bool times = true;
    int iterations = 0, arg = 1;
    for (; arg < argc && !strncmp(argv[arg], "--", 2); ++arg) {
        if (!strcmp(argv[arg], "--no-times")) times = false;
        else if (!strcmp(argv[arg], "--iterations") && arg + 1 < argc &&
                 (iterations = atoi(argv[arg + 1])) > 0) ++arg;
        else die("an option that is neither --iterations N (1 and up) nor --no-times", argv[arg]);
    }
    if (argc - arg < 4) {
        fprintf(stderr, "usage: demo_train [--iterations N] [--no-times] CFG WEIGHTS LABELS_FOLDER "
                "PICTURE...\n");
        return 2;
    }
    srand(SEED);
    network *net = parse_network_cfg(argv[arg]);
    if (net->batch != argc - arg - 3) die("batch is not the number of pictures in", argv[arg]);
    if (iterations) net->max_batches = iterations;
    load_batch(net, argv[arg + 2], argv + arg + 3);

    silence_darknet();
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (times) print_times(net);
    return train(net, argv[arg + 1]);
}
