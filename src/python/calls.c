/* SPDX-License-Identifier: MIT */
/*
 * The calls of the Python module: see calls.h.
 *
 * Darknet and the driver end the program after an error. Here exit() comes back to the function
 * that Python called (longjmp), and what was written on stderr until then is the message. The
 * linker does that for all objects of this library: --wrap in mk/wheel.mk. Threads that Python did
 * not send here write and exit as usual.
 *
 * What Darknet had allocated inside of the call that failed is lost. A cfg that is refused loses
 * most: the layers before the refused one. Files that were open stay open.
 */
#include "python/calls.h"

#include "driver/driver.h"
#include "driver/settings.h"
#include "gemm_dispatch.h"
#include "gemm_variant.h"
#include "hook/share.h"
#include "op/op.h"
#include "util/die.h"
#include "util/own.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum { TEXT_BYTES = 1 << 16 };

typedef struct py_call {
    jmp_buf back;
    int length;
    char text[TEXT_BYTES];      /* what was written on stderr: its last bytes */
} py_call;

static GEMM_OWN py_call *current;       /* the call of this thread, or NULL */

/* ---- Instead of functions of the C library ---- */

_Noreturn void __real_exit(int status);
int __real_pause(void);
FILE *__wrap_stderr;

_Noreturn void __wrap_exit(int status)
{
    if (current) longjmp(current->back, 1);
    __real_exit(status);
}

/* gemm_die waits here in all threads but the first one. */
int __wrap_pause(void)
{
    if (current) longjmp(current->back, 1);
    return __real_pause();
}

_Noreturn void __wrap___assert_fail(const char *what, const char *file, unsigned at, const char *f)
{
    fprintf(__wrap_stderr, "%s:%u: %s: %s is wrong\n", file, at, f, what);
    __wrap_exit(1);
}

/* Labels of boxes, on standard output. */
int __wrap_printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int count = current ? 0 : vprintf(format, args);
    va_end(args);
    return count;
}

static ssize_t write_text(void *cookie, const char *text, size_t bytes)
{
    py_call *c = current;
    (void)cookie;
    if (!c) return write(STDERR_FILENO, text, bytes);
    if (bytes >= TEXT_BYTES / 2) return (ssize_t)bytes;
    if (c->length + bytes >= TEXT_BYTES) {
        memmove(c->text, c->text + TEXT_BYTES / 2, TEXT_BYTES / 2);
        c->length -= TEXT_BYTES / 2;
    }
    memcpy(c->text + c->length, text, bytes);
    c->length += bytes;
    c->text[c->length] = '\0';
    return (ssize_t)bytes;
}

__attribute__((constructor(101))) static void take_stderr(void)
{
    __wrap_stderr = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_text});
    if (!__wrap_stderr) __real_exit(1);
    setvbuf(__wrap_stderr, NULL, _IONBF, 0);
}

/* ---- Calls ---- */

/* The text as one line. Of a `table`, which a network that is loaded prints, the last line. */
static void put_message(const py_call *c, bool table, char *why)
{
    int end = c->length, begin = 0, i;
    while (end && c->text[end - 1] == '\n') --end;
    for (i = 0; table && i < end; ++i)
        if (c->text[i] == '\n') begin = i + 1;
    snprintf(why, PY_WHY_BYTES, "%.*s", end - begin, c->text + begin);
    for (i = 0; why[i]; ++i)
        if (why[i] == '\n') why[i] = ' ';
    if (!*why) strcpy(why, "the library ended for no reason that it said");
}

/* The driver stops for good after an error of its own: its line stands for all later calls. */
static void put_first(char *why)
{
    static char first[PY_WHY_BYTES];
    if (!gemm_is_dying()) return;
    if (!*first) strcpy(first, why);
    strcpy(why, first);
}

static void show(const py_call *c)
{
    if (write(STDERR_FILENO, c->text, c->length) < 0) return;
}

/* Calls f(job). `table`: what it prints is a network's table. `kept`: where the text stays. */
static int run(void (*f)(void *), void *job, bool table, char **kept, char *why)
{
    py_call *c = gemm_is_dying() ? NULL : malloc(sizeof *c);
    strcpy(why, c ? "" : "no memory for a call");
    if (!c) return put_first(why), 1;
    c->length = 0;
    *c->text = '\0';
    current = c;
    if (!setjmp(c->back)) f(job);
    else put_message(c, table, why);
    current = NULL;
    if (*why) put_first(why);
    else if (kept) *kept = strdup(c->text);
    else if (c->length) show(c);
    free(c);
    return *why != '\0';
}

static void refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(__wrap_stderr, format, args);
    va_end(args);
    __wrap_exit(1);
}

/* ---- Variant and threads: of all networks ---- */

typedef struct py_choice { const char *variant; int threads; } py_choice;

static void choose(void *job)
{
    static const gemm_variant *usual;
    static int usual_threads;
    const py_choice *c = job;
    gemm_note note;
    const gemm_variant *v;
    const char *why;
    if (!usual) usual_threads = gemm_make_context(&note).threads, usual = gemm_chosen();
    v = c->variant ? gemm_find(c->variant) : usual;
    if (!v) refuse("variant='%s' is no variant", c->variant);
    why = gemm_unusable(v);
    if (why) refuse("variant='%s' cannot run here: %s", v->name, why);
    gemm_set_variant(v);
    gemm_set_threads(c->threads ? c->threads : usual_threads);
}

int py_choose(const char *variant, int threads, char *why)
{
    return run(choose, &(py_choice){variant, threads}, false, NULL, why);
}

const char *py_variant(size_t i, int *usable)
{
    const conv_call any = {0};
    const gemm_op op = gemm_op_of_conv(&any);
    if (i >= gemm_variant_count) return NULL;
    *usable = gemm_op_offered(&op, &gemm_variants[i]) && !gemm_unusable(&gemm_variants[i]);
    return gemm_variants[i].name;
}

/* ---- A network ---- */

extern GEMM_OWN int weights_follow;     /* Darknet's utils.h: no random weights, one picture */

/* As load_trained_network. */
static void load(void *job)
{
    py_network *n = job;
    weights_follow = 2;         /* FOR_ONE_PICTURE */
    hook_reads_boxes();
    n->net = parse_network_cfg(n->cfg);
    load_weights(n->net, n->weights);
    set_batch_network(n->net, 1);
}

static void free_shares(py_network *n)
{
    while (n->share_count) free_share(n->shares[--n->share_count]);
    free(n->shares);
    n->shares = NULL;
}

void py_unload(py_network *n)
{
    free_shares(n);
    if (n->net) free_network(n->net);
    free(n->log);
    *n = (py_network){0};
}

int py_load(py_network *n, char *why)
{
    const int failed = run(load, n, true, &n->log, why);
    weights_follow = 0;
    return failed;
}

int py_classes(const py_network *n)
{
    return n->net->layers[n->net->n - 1].classes;
}

/* ---- A pass ---- */

unsigned char *stbi_load(const char *, int *, int *, int *, int);
unsigned char *stbi_load_from_memory(const unsigned char *, int, int *, int *, int *, int);
const char *stbi_failure_reason(void);

/* Why the picture's file is not read, or NULL. */
static const char *why_refused(const py_pass *p)
{
    FILE *file = p->path ? fopen(p->path, "rb") : fmemopen((void *)p->data, p->bytes, "rb");
    if (!file) return strerror(errno);
    const char *why = refused_file(file);
    fclose(file);
    return why;
}

static void decode(py_pass *p)
{
    int w = 0, h = 0, c;
    const int wanted = p->net->c == 1 ? 1 : 4;      /* the fourth byte makes stb_image faster */
    const char *why;
    if (p->bytes > INT_MAX) refuse("a picture file of %" PRId64 " bytes is too long", p->bytes);
    why = why_refused(p);
    if (!why) {
        p->decoded = p->path ? stbi_load(p->path, &w, &h, &c, wanted)
                             : stbi_load_from_memory(p->data, p->bytes, &w, &h, &c, wanted);
        if (!p->decoded) why = stbi_failure_reason();
    }
    if (why && p->path) refuse("Cannot load image \"%s\": %s", p->path, why);
    if (why) refuse("Cannot load an image from %" PRId64 " bytes: %s", p->bytes, why);
    p->data = p->decoded;
    p->w = w, p->h = h, p->c = wanted == 1 ? 1 : 3;
    p->channel = 1, p->column = wanted, p->row = (int64_t)w * wanted;
}

/* A picture has pixels, Darknet's indices are of 32 bits, and no side may shrink to 0. */
#define SIZE "%" PRId64 " x %" PRId64
#define SIDES p->w, p->h
static void judge(const py_pass *p)
{
    const network *n = p->net;
    if (p->w < 1 || p->h < 1 || p->c < 1)
        refuse("a picture of " SIZE " has no pixels", SIDES);
    if (p->w > INT_MAX / 4 / n->h || p->h > INT_MAX / 4 / n->w || p->w * p->h > INT_MAX / 4)
        refuse("a picture of " SIZE " is too large for Darknet", SIDES);
    if (p->h * n->w / p->w < 1 || p->w * n->h / p->h < 1)
        refuse("a picture of " SIZE " is too narrow for a network of %d x %d", SIDES, n->w, n->h);
    if (p->c != n->c && (n->c != 3 || (p->c != 1 && p->c != 4)))
        refuse("a picture of %" PRId64 " channels cannot go into a network of %d", p->c, n->c);
}

/* Gray becomes three channels, and a fourth one is left out. */
static pixels pixels_of(const py_pass *p)
{
    return (pixels){p->data, (int)p->w, (int)p->h, p->column, p->row, p->c == 1 ? 0 : p->channel};
}

static void predict(void *job)
{
    py_pass *p = job;
    double began;
    if (p->path || p->bytes) decode(p);
    judge(p);
    p->picture = network_pixels(p->net, pixels_of(p));
    began = what_time_is_it_now();
    network_predict(p->net, p->picture.data);
    p->seconds = what_time_is_it_now() - began;
}

static int by_confidence(const void *a, const void *b)
{
    const py_box *p = a, *q = b;
    if (p->confidence != q->confidence) return p->confidence < q->confidence ? 1 : -1;
    return p->index - q->index;
}

/* A box for each class of each detection. */
static void list_boxes(py_pass *p, int classes)
{
    int i, j, n = 0;
    for (i = 0; i < p->found_count; ++i)
        for (j = 0; j < classes; ++j) n += p->found[i].prob[j] > p->threshold;
    p->boxes = calloc(n + 1, sizeof *p->boxes);
    if (!p->boxes) refuse("no memory for boxes");
    for (i = 0; i < p->found_count; ++i) {
        const float *prob = p->found[i].prob;
        const box b = p->found[i].bbox;
        for (j = 0; j < classes; ++j)
            if (prob[j] > p->threshold)
                p->boxes[p->count++] = (py_box){j, prob[j], b.x, b.y, b.w, b.h};
    }
    qsort(p->boxes, p->count, sizeof *p->boxes, by_confidence);
}

/* As load_alphabet has it: pictures, then their files, which are decoded when they are drawn. */
static image **read_letters(const unsigned char *at)
{
    enum { SIZES = 8, CHARACTERS = 128 };
    image **letters = calloc(SIZES, sizeof *letters);
    int i, j;
    for (j = 0; j < SIZES; ++j) {
        letters[j] = calloc(2 * CHARACTERS, sizeof **letters);
        for (i = 32; i < 127; ++i) {
            const int bytes = at[0] | at[1] << 8 | at[2] << 16;
            letters[j][CHARACTERS + i] = (image){bytes, 1, 1, (float *)(at + 4)};
            at += 4 + bytes;
        }
    }
    return letters;
}

/* The picture's own pixels, to draw on. */
static image whole_picture(const py_pass *p)
{
    const pixels from = pixels_of(p);
    const image im = make_image(from.w, from.h, p->net->c);
    float *to = im.data;
    int k, x, y;
    if (!to) refuse("no memory for a picture");
    for (k = 0; k < im.c; ++k)
        for (y = 0; y < im.h; ++y) {
            const unsigned char *row = from.data + y * from.row + k * from.channel;
            for (x = 0; x < im.w; ++x) *to++ = (float)row[x * from.column] / 255.;
        }
    return im;
}

static void draw(py_pass *p, int classes)
{
    static image **letters;
    const int failed = pictures_failed;
    if (!letters) letters = read_letters(p->letters);
    free_image(p->picture);
    p->picture = (image){0};
    p->picture = whole_picture(p);
    draw_detections(p->picture, p->found, p->found_count, p->threshold, p->names, letters, classes);
    pictures_failed = 0;
    save_image(p->picture, p->save);
    if (pictures_failed) __wrap_exit(1);
    pictures_failed = failed;
}

static void detect(void *job)
{
    py_pass *p = job;
    const int classes = p->net->layers[p->net->n - 1].classes;
    predict(p);
    p->found = get_network_boxes(p->net, (int)p->w, (int)p->h, p->threshold, .5, 0, 1,
                                 &p->found_count);
    if (p->nms > 0) do_nms_sort(p->found, p->found_count, classes, p->nms);
    list_boxes(p, classes);
    if (p->save) draw(p, classes);
}

static int finish(py_pass *p, void (*f)(void *), char *why)
{
    const int failed = run(f, p, false, NULL, why);
    free(p->decoded);
    free(p->picture.data);
    if (p->found) free_detections(p->found, p->found_count);
    if (failed) free(p->boxes);
    return failed;
}

int py_detect(py_pass *p, char *why)
{
    return finish(p, detect, why);
}

/* ---- Many pictures ---- */

typedef struct py_many {
    py_network *network;
    py_pass *passes;
    int first;                  /* of those that run now */
    _Atomic(network *) *idle;   /* shares; NULL: all in turn on the network itself */
} py_many;

/* Where a share is idle: there are as many as threads. A thread looks first where it was before, by
   the address of its `current`: memory of the share may still be in its caches. */
static network *take_share(const py_many *m, unsigned *place)
{
    const unsigned count = (unsigned)m->network->share_count;
    network *share = NULL;
    *place = (unsigned)((uint64_t)(uintptr_t)&current * 0x9E3779B97F4A7C15u >> 32) % count;
    for (; !(share = atomic_exchange(&m->idle[*place], NULL)); *place = (*place + 1) % count) {}
    return share;
}

static void detect_one(void *job, int i)
{
    const py_many *m = job;
    py_pass *p = &m->passes[m->first + i];
    char why[PY_WHY_BYTES];
    unsigned place = 0;
    p->net = m->idle ? take_share(m, &place) : m->network->net;
    if (finish(p, detect, why)) p->why = strdup(why);
    if (m->idle) atomic_store(&m->idle[place], p->net);
}

/* As many as threads, or none. */
static void make_shares(py_network *n, int threads)
{
    if (n->share_count == threads) return;
    free_shares(n);
    n->shares = calloc(threads, sizeof *n->shares);
    for (int i = 0; n->shares && i < threads; ++i) {
        n->shares[i] = share_network(n->net);
        if (!n->shares[i]) break;
        ++n->share_count;
    }
    if (n->share_count < threads) free_shares(n);
}

static bool lend_all(const py_network *n)
{
    int i = 0;
    while (i < n->share_count && lend_plans(n->shares[i], n->net)) ++i;
    return i && i == n->share_count;
}

static void return_all(const py_network *n)
{
    for (int i = 0; i < n->share_count; ++i) return_plans(n->shares[i]);
}

/* The first pictures prepare the layers, one after the other in one thread. */
void py_detect_many(py_network *n, py_pass *passes, int count)
{
    const int threads = gemm_threads_apart();
    const bool apart = threads > 1 && count >= threads;
    py_many m = {n, passes, 0, NULL};
    if (apart) make_shares(n, threads);
    for (; m.first < count && !(apart && lend_all(n)); ++m.first) {
        const bool alone = apart && n->share_count;
        if (!alone || !gemm_images_apart(1, 1, detect_one, &m)) detect_one(&m, 0);
    }
    if (m.first == count) return;
    _Atomic(network *) idle[threads];
    for (int i = 0; i < threads; ++i) atomic_init(&idle[i], n->shares[i]);
    m.idle = idle;
    if (!gemm_images_apart(threads, count - m.first, detect_one, &m))
        for (; m.first < count; ++m.first) detect_one(&m, 0);
    return_all(n);
}

/* ---- Raw outputs ---- */

static int gives_boxes(const layer *l)
{
    return l->type == YOLO || l->type == REGION || l->type == DETECTION;
}

/* Layer i of those that have boxes, else the last layer. NULL: there is no more. */
static const layer *output_layer(const network *net, int i)
{
    int k, boxes = 0;
    for (k = 0; k < net->n; ++k)
        if (gives_boxes(net->layers + k) && boxes++ == i) return net->layers + k;
    return boxes || i ? NULL : net->layers + net->n - 1;
}

static void fetch(void *job)
{
    const py_pass *p = job;
    const layer *l;
    int i;
    predict(job);
    for (i = 0; (l = output_layer(p->net, i)); ++i)
        gemm_host_read(l->output, l->outputs * sizeof(float));
}

int py_predict(py_pass *p, char *why)
{
    return finish(p, fetch, why);
}

const float *py_output(const network *net, int i, int shape[3])
{
    const layer *l = output_layer(net, i);
    if (!l) return NULL;
    const bool whole = l->out_c * l->out_h * l->out_w == l->outputs;
    shape[0] = whole ? l->out_c : l->outputs;
    shape[1] = whole ? l->out_h : 1;
    shape[2] = whole ? l->out_w : 1;
    return l->output;
}

int py_has_boxes(const network *net)
{
    return gives_boxes(output_layer(net, 0));
}
