/*
 * The cfg parser: lines -> sections of key=value -> sizes, layer by layer -> gemm calls.
 *
 * A cfg is a list of sections; the first is [net], every other one a layer whose input is the
 * output of the layer before (route and shortcut name others). So one pass suffices: `size` holds
 * what the layer before put out, a function for each type turns it into that layer's output, and
 * the types that multiply (convolutional, deconvolutional, connected, local, rnn, gru, lstm, crnn)
 * note their calls. The first fault is kept and ends the reading at the end of its layer.
 *
 * Source: pjreddie's Darknet at 61c9d02e, src/parser.c and src/..._layer.c.
 */
#include "common/cfg.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct option {
    char *key, *value;
    int line;
} option;

typedef struct section {
    char *type;
    int line;
    option *options;
    size_t count;
} section;

typedef struct parser {
    const char *path;
    section *sections;
    size_t count;
    const section *now;         /* the section being read, for messages */
    cfg_net *net;
    int rows;                   /* images a layer takes: batch x time_steps */
    char *error;
    size_t error_size;
    bool failed;
} parser;

/* Keeps the first fault only: what follows is often caused by it. */
__attribute__((format(printf, 3, 4)))
static void fail(parser *p, int line, const char *format, ...)
{
    if (p->failed) {
        return;
    }
    p->failed = true;
    int used = line > 0 ? snprintf(p->error, p->error_size, "%s:%d: ", p->path, line)
                        : snprintf(p->error, p->error_size, "%s: ", p->path);
    if (used < 0 || (size_t)used >= p->error_size) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(p->error + used, p->error_size - (size_t)used, format, args);
    va_end(args);
}

/* realloc for arrays that grow by one; keeps the capacity a power of two without storing it. */
static void *grow(parser *p, void *array, size_t count, size_t size)
{
    if (count & (count - 1)) {
        return array;           /* between two powers of two there is room */
    }
    void *bigger = realloc(array, (count ? 2 * count : 1) * size);
    if (!bigger) {
        fail(p, 0, "out of memory");
    }
    return bigger;
}

/* ---- lines -> sections ---- */

static void strip(char *s)
{
    char *to = s;
    for (; *s; ++s) {
        if (!isspace((unsigned char)*s)) {
            *to++ = *s;
        }
    }
    *to = '\0';
}

static char *copy(parser *p, const char *s)
{
    char *c = strdup(s);
    if (!c) {
        fail(p, 0, "out of memory");
    }
    return c;
}

static void read_section(parser *p, const char *text, int line)
{
    size_t length = strlen(text);
    if (text[length - 1] != ']') {
        fail(p, line, "'%s': a section ends with ]", text);
        return;
    }
    section *bigger = grow(p, p->sections, p->count, sizeof(section));
    if (!bigger) {
        return;
    }
    p->sections = bigger;
    char *type = copy(p, text + 1);
    if (type) {
        type[length - 2] = '\0';
        p->sections[p->count++] = (section){.type = type, .line = line};
    }
}

static void read_option(parser *p, char *text, int line)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        fail(p, line, "'%s' is neither [section] nor key=value", text);
        return;
    }
    if (p->count == 0) {
        fail(p, line, "'%s' stands before the first [section]", text);
        return;
    }
    *equals = '\0';
    section *s = &p->sections[p->count - 1];
    option *bigger = grow(p, s->options, s->count, sizeof(option));
    if (!bigger) {
        return;
    }
    s->options = bigger;
    option o = {.key = copy(p, text), .value = copy(p, equals + 1), .line = line};
    s->options[s->count++] = o;
}

static void read_lines(parser *p)
{
    FILE *file = fopen(p->path, "r");
    if (!file) {
        fail(p, 0, "%s", strerror(errno));
        return;
    }
    char *text = NULL;
    size_t size = 0;
    ssize_t got;
    for (int line = 1; !p->failed && (got = getline(&text, &size, file)) >= 0; ++line) {
        if (strlen(text) != (size_t)got) {
            fail(p, line, "a zero byte: not a cfg file");
            break;
        }
        strip(text);
        if (text[0] == '[') {
            read_section(p, text, line);
        } else if (text[0] && text[0] != '#' && text[0] != ';') {
            read_option(p, text, line);
        }
    }
    if (ferror(file)) {
        fail(p, 0, "%s", strerror(errno));
    }
    free(text);
    fclose(file);
}

static void free_sections(parser *p)
{
    for (size_t i = 0; i < p->count; ++i) {
        for (size_t j = 0; j < p->sections[i].count; ++j) {
            free(p->sections[i].options[j].key);
            free(p->sections[i].options[j].value);
        }
        free(p->sections[i].options);
        free(p->sections[i].type);
    }
    free(p->sections);
}

/* ---- options of the section being read ---- */

static const option *find(const parser *p, const char *key)
{
    for (size_t i = 0; i < p->now->count; ++i) {
        if (strcmp(p->now->options[i].key, key) == 0) {
            return &p->now->options[i];
        }
    }
    return NULL;
}

/* A number at the start of the value, as atoi takes it, but not none at all. */
static int number(parser *p, const option *o, const char **end)
{
    char *stop;
    errno = 0;
    long v = strtol(*end, &stop, 10);
    if (stop == *end || errno || v < INT_MIN || v > INT_MAX) {
        fail(p, o->line, "%s=%s: a whole number is needed", o->key, o->value);
        return 0;
    }
    *end = stop;
    return (int)v;
}

static int get(parser *p, const char *key, int otherwise)
{
    const option *o = find(p, key);
    if (!o) {
        return otherwise;
    }
    const char *at = o->value;
    return number(p, o, &at);
}

/* The same, at least `least`. */
static int get_from(parser *p, const char *key, int otherwise, int least)
{
    int v = get(p, key, otherwise);
    if (v < least) {
        const option *o = find(p, key);
        fail(p, o ? o->line : p->now->line, "[%s] %s is %d, at least %d is needed", p->now->type,
             key, v, least);
        return least;
    }
    return v;
}

/* A product of sizes; one that does not fit Darknet's int is a fault. */
static int product(parser *p, long a, long b, long c)
{
    long ab;
    long abc;
    if (__builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(ab, c, &abc) || abc > INT_MAX) {
        fail(p, p->now->line, "[%s] %ld x %ld x %ld is too large", p->now->type, a, b, c);
        return 0;
    }
    return (int)abc;
}

/* ---- layers ---- */

static void note_gemm(parser *p, cfg_gemm g)
{
    cfg_net *net = p->net;
    if (p->failed || g.M <= 0 || g.N <= 0 || g.K <= 0 || g.calls <= 0) {
        fail(p, p->now->line, "[%s] multiplies nothing: M=%d N=%d K=%d", p->now->type, g.M, g.N,
             g.K);
        return;
    }
    cfg_gemm *bigger = grow(p, net->gemms, net->gemm_count, sizeof(cfg_gemm));
    if (bigger) {
        g.layer = (int)net->layer_count;
        net->gemms = bigger;
        net->gemms[net->gemm_count++] = g;
    }
}

static void note_nn(parser *p, int M, int N, int K, long calls)
{
    note_gemm(p, (cfg_gemm){.M = M, .N = N, .K = K, .lda = K, .ldb = N, .ldc = N, .calls = calls});
}

/* Y = X W^T: a row of X for each image, a row of W for each output. */
static void note_connected(parser *p, int rows, int outputs, int inputs, long calls)
{
    note_gemm(p, (cfg_gemm){.TB = 1, .M = rows, .N = outputs, .K = inputs, .lda = inputs,
                            .ldb = inputs, .ldc = outputs, .calls = calls});
}

static void set_image(parser *p, cfg_layer *l, int w, int h, int c)
{
    if (w <= 0 || h <= 0 || c <= 0) {
        fail(p, p->now->line, "[%s] puts out %d x %d x %d", p->now->type, w, h, c);
    }
    l->out_w = w;
    l->out_h = h;
    l->out_c = c;
    l->outputs = product(p, w, h, c);
}

static void need_image(parser *p, const cfg_layer *l)
{
    if (l->w <= 0 || l->h <= 0 || l->c <= 0) {
        fail(p, p->now->line, "[%s] needs an image, and the layer before puts out none",
             p->now->type);
    }
}

static void same(parser *p, cfg_layer *l)
{
    (void)p;
    l->out_w = l->w;
    l->out_h = l->h;
    l->out_c = l->c;
    l->outputs = l->inputs;
}

/* What follows no longer knows a width and a height, only a number of values. */
static void flat(parser *p, cfg_layer *l)
{
    (void)p;
    l->outputs = l->inputs;
}

static void same_image(parser *p, cfg_layer *l)
{
    need_image(p, l);
    set_image(p, l, l->w, l->h, l->c);
}

static int padding(parser *p, int size)
{
    int padding = get_from(p, "padding", 0, 0);
    return get(p, "pad", 0) ? size / 2 : padding;
}

static void convolutional(parser *p, cfg_layer *l)
{
    int n = get_from(p, "filters", 1, 1);
    int size = get_from(p, "size", 1, 1);
    int stride = get_from(p, "stride", 1, 1);
    int groups = get_from(p, "groups", 1, 1);
    int pad = padding(p, size);
    need_image(p, l);
    if (n % groups || l->c % groups) {
        fail(p, p->now->line, "[%s] %d groups do not divide %d channels and %d filters",
             p->now->type, groups, l->c, n);
    }
    set_image(p, l, (l->w + 2 * pad - size) / stride + 1, (l->h + 2 * pad - size) / stride + 1, n);
    note_nn(p, n / groups, product(p, l->out_w, l->out_h, 1), product(p, size, size, l->c) / groups,
            (long)p->rows * groups);
}

static void deconvolutional(parser *p, cfg_layer *l)
{
    int n = get_from(p, "filters", 1, 1);
    int size = get_from(p, "size", 1, 1);
    int stride = get_from(p, "stride", 1, 1);
    int pad = padding(p, size);
    need_image(p, l);
    set_image(p, l, (l->w - 1) * stride + size - 2 * pad, (l->h - 1) * stride + size - 2 * pad, n);
    int M = product(p, size, size, n);
    int N = product(p, l->w, l->h, 1);
    note_gemm(p, (cfg_gemm){.TA = 1, .M = M, .N = N, .K = l->c, .lda = M, .ldb = N, .ldc = N,
                            .calls = p->rows});
}

/* Its own weights at every place: a matrix times a column of the im2col matrix, place by place. */
static void local(parser *p, cfg_layer *l)
{
    int n = get_from(p, "filters", 1, 1);
    int size = get_from(p, "size", 1, 1);
    int stride = get_from(p, "stride", 1, 1);
    int less = get(p, "pad", 0) ? 1 : size;
    need_image(p, l);
    set_image(p, l, (l->w - less) / stride + 1, (l->h - less) / stride + 1, n);
    int places = product(p, l->out_w, l->out_h, 1);
    int K = product(p, size, size, l->c);
    note_gemm(p, (cfg_gemm){.M = n, .N = 1, .K = K, .lda = K, .ldb = places, .ldc = places,
                            .calls = (long)p->rows * places});
}

static void connected(parser *p, cfg_layer *l)
{
    int n = get_from(p, "output", 1, 1);
    set_image(p, l, 1, 1, n);
    note_connected(p, p->rows, n, l->inputs, 1);
}

static void rnn(parser *p, cfg_layer *l)
{
    int n = get_from(p, "output", 1, 1);
    int steps = p->net->time_steps;
    l->outputs = n;
    note_connected(p, p->net->batch, n, l->inputs, steps);
    note_connected(p, p->net->batch, n, n, 2L * steps);
}

/* `gates` matrices for the state and as many for the input. */
static void gated(parser *p, cfg_layer *l, int gates)
{
    int n = get_from(p, "output", 1, 1);
    int steps = p->net->time_steps;
    l->outputs = n;
    note_connected(p, p->net->batch, n, n, (long)gates * steps);
    note_connected(p, p->net->batch, n, l->inputs, (long)gates * steps);
}

static void gru(parser *p, cfg_layer *l)
{
    gated(p, l, 3);
}

static void lstm(parser *p, cfg_layer *l)
{
    gated(p, l, 4);
}

/* Three 3x3 convolutions a step: of the input, of the state, of their sum. Darknet's parser hands
   width and height over in the wrong order, and so they come out. */
static void crnn(parser *p, cfg_layer *l)
{
    int hidden = get_from(p, "hidden_filters", 1, 1);
    int n = get_from(p, "output_filters", 1, 1);
    long calls = (long)p->net->batch * p->net->time_steps;
    need_image(p, l);
    set_image(p, l, l->h, l->w, n);
    int N = product(p, l->w, l->h, 1);
    note_nn(p, hidden, N, product(p, 9, l->c, 1), calls);
    note_nn(p, hidden, N, product(p, 9, hidden, 1), calls);
    note_nn(p, n, N, product(p, 9, hidden, 1), calls);
}

static void maxpool(parser *p, cfg_layer *l)
{
    int stride = get_from(p, "stride", 1, 1);
    int size = get_from(p, "size", stride, 1);
    int pad = get_from(p, "padding", size - 1, 0);
    need_image(p, l);
    set_image(p, l, (l->w + pad - size) / stride + 1, (l->h + pad - size) / stride + 1, l->c);
}

static void avgpool(parser *p, cfg_layer *l)
{
    need_image(p, l);
    set_image(p, l, 1, 1, l->c);
}

static void crop(parser *p, cfg_layer *l)
{
    need_image(p, l);
    set_image(p, l, get_from(p, "crop_width", 1, 1), get_from(p, "crop_height", 1, 1), l->c);
}

static void reorg(parser *p, cfg_layer *l)
{
    int s = get_from(p, "stride", 1, 1);
    int extra = get_from(p, "extra", 0, 0);
    need_image(p, l);
    if (extra) {
        l->outputs = l->inputs + extra;
    } else if (get(p, "reverse", 0)) {
        set_image(p, l, product(p, l->w, s, 1), product(p, l->h, s, 1), l->c / product(p, s, s, 1));
    } else {
        set_image(p, l, l->w / s, l->h / s, product(p, l->c, s, s));
    }
}

static void upsample(parser *p, cfg_layer *l)
{
    int s = get(p, "stride", 2);
    need_image(p, l);
    if (s == 0) {
        fail(p, p->now->line, "[upsample] stride is 0");
    } else if (s < 0) {
        set_image(p, l, l->w / -s, l->h / -s, l->c);
    } else {
        set_image(p, l, product(p, l->w, s, 1), product(p, l->h, s, 1), l->c);
    }
}

/* The layer that an index names: from the start, or counted back when negative. */
static const cfg_layer *named(parser *p, const option *o, int index)
{
    long at = index < 0 ? (long)p->net->layer_count + index : index;
    if (at < 0 || at >= (long)p->net->layer_count) {
        fail(p, o->line, "%s=%s names layer %ld; %zu are before this one", o->key, o->value, at,
             p->net->layer_count);
        return NULL;
    }
    return &p->net->layers[at];
}

static void add_route(parser *p, cfg_layer *l, const cfg_layer *from, bool first)
{
    l->outputs = product(p, (long)l->outputs + from->outputs, 1, 1);
    if (first) {
        l->out_w = from->out_w;
        l->out_h = from->out_h;
        l->out_c = from->out_c;
    } else if (from->out_w == l->out_w && from->out_h == l->out_h) {
        l->out_c += from->out_c;
    } else {
        l->out_w = l->out_h = l->out_c = 0;
    }
}

static void route(parser *p, cfg_layer *l)
{
    const option *o = find(p, "layers");
    if (!o) {
        fail(p, p->now->line, "[route] needs layers=");
        return;
    }
    const char *at = o->value;
    for (bool first = true;; first = false) {
        const cfg_layer *from = named(p, o, number(p, o, &at));
        if (p->failed || !from) {
            return;
        }
        add_route(p, l, from, first);
        at = strchr(at, ',');
        if (!at) {
            return;
        }
        ++at;
    }
}

static void shortcut(parser *p, cfg_layer *l)
{
    const option *o = find(p, "from");
    if (!o) {
        fail(p, p->now->line, "[shortcut] needs from=");
        return;
    }
    const char *at = o->value;
    named(p, o, number(p, o, &at));
    same_image(p, l);
}

/* The detectors put out one value for each anchor, place and class, whatever came in. */
static void detector(parser *p, cfg_layer *l, int c)
{
    need_image(p, l);
    set_image(p, l, l->w, l->h, c);
    if (l->outputs != l->inputs) {
        fail(p, p->now->line, "[%s] wants %d values and gets %d", p->now->type, l->outputs,
             l->inputs);
    }
}

static void yolo(parser *p, cfg_layer *l)
{
    int anchors = get_from(p, "num", 1, 1);
    const option *mask = find(p, "mask");
    if (mask) {
        anchors = 1;
        for (const char *s = mask->value; *s; ++s) {
            anchors += *s == ',';
        }
    }
    detector(p, l, product(p, anchors, get_from(p, "classes", 20, 0) + 5L, 1));
}

static void region(parser *p, cfg_layer *l)
{
    int each = get_from(p, "classes", 20, 0) + get_from(p, "coords", 4, 0) + 1;
    detector(p, l, product(p, get_from(p, "num", 1, 1), each, 1));
}

static void iseg(parser *p, cfg_layer *l)
{
    detector(p, l, get_from(p, "classes", 20, 0) + get_from(p, "ids", 32, 0));
}

static const struct kind {
    const char *name, *alias;
    void (*parse)(parser *, cfg_layer *);
} kinds[] = {
    {"convolutional", "conv", convolutional},
    {"deconvolutional", "deconv", deconvolutional},
    {"connected", "conn", connected},
    {"local", NULL, local},
    {"rnn", NULL, rnn},
    {"gru", NULL, gru},
    {"lstm", NULL, lstm},
    {"crnn", NULL, crnn},
    {"maxpool", "max", maxpool},
    {"avgpool", "avg", avgpool},
    {"crop", NULL, crop},
    {"reorg", NULL, reorg},
    {"upsample", NULL, upsample},
    {"route", NULL, route},
    {"shortcut", NULL, shortcut},
    {"yolo", NULL, yolo},
    {"region", NULL, region},
    {"iseg", NULL, iseg},
    {"detection", NULL, flat},
    {"softmax", "soft", flat},
    {"cost", NULL, flat},
    {"dropout", NULL, same},
    {"activation", NULL, same},
    {"logistic", NULL, same},
    {"l2norm", NULL, same},
    {"normalization", "lrn", same_image},
    {"batchnorm", NULL, same_image},
};

static const struct kind *find_kind(const char *type)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        if (strcmp(type, kinds[i].name) == 0
            || (kinds[i].alias && strcmp(type, kinds[i].alias) == 0)) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void read_layer(parser *p, const cfg_layer *before)
{
    const struct kind *kind = find_kind(p->now->type);
    if (!kind) {
        fail(p, p->now->line, "[%s] is no layer that Darknet knows", p->now->type);
        return;
    }
    cfg_layer l = {.line = p->now->line, .w = before->out_w, .h = before->out_h,
                   .c = before->out_c, .inputs = before->outputs};
    snprintf(l.type, sizeof(l.type), "%s", kind->name);
    kind->parse(p, &l);
    cfg_layer *bigger = p->failed ? NULL : grow(p, p->net->layers, p->net->layer_count, sizeof(l));
    if (bigger) {
        p->net->layers = bigger;
        p->net->layers[p->net->layer_count++] = l;
    }
}

/* [net] is a layer 0 of a kind: its output is the image. */
static cfg_layer read_net(parser *p, int batch)
{
    cfg_layer l = {.out_w = get_from(p, "width", 0, 0), .out_h = get_from(p, "height", 0, 0),
                   .out_c = get_from(p, "channels", 0, 0)};
    l.outputs = get_from(p, "inputs", product(p, l.out_w, l.out_h, l.out_c), 0);
    if (l.outputs == 0) {
        fail(p, p->now->line, "[net] gives neither inputs nor width, height and channels");
    }
    p->net->time_steps = get_from(p, "time_steps", 1, 1);
    int own = get_from(p, "batch", 1, 1) / get_from(p, "subdivisions", 1, 1);
    p->net->batch = batch ? batch : own;
    if (p->net->batch < 1) {
        fail(p, p->now->line, "[net] batch divided by subdivisions is %d", p->net->batch);
    }
    p->rows = product(p, p->net->batch, p->net->time_steps, 1);
    return l;
}

static void read_net_and_layers(parser *p, int batch)
{
    if (p->count == 0) {
        fail(p, 0, "no [section]: not a cfg file");
        return;
    }
    p->now = &p->sections[0];
    if (strcmp(p->now->type, "net") && strcmp(p->now->type, "network")) {
        fail(p, p->now->line, "the first section is [%s], not [net]", p->now->type);
        return;
    }
    const cfg_layer image = read_net(p, batch);
    for (size_t i = 1; i < p->count && !p->failed; ++i) {
        p->now = &p->sections[i];
        const cfg_layer before = i == 1 ? image : p->net->layers[i - 2];
        read_layer(p, &before);
    }
}

int cfg_read(const char *path, int batch, cfg_net *net, char *error, size_t error_size)
{
    *net = (cfg_net){0};
    parser p = {.path = path, .net = net, .error = error, .error_size = error_size};
    read_lines(&p);
    if (!p.failed) {
        read_net_and_layers(&p, batch);
    }
    free_sections(&p);
    if (p.failed) {
        cfg_free(net);
        return -1;
    }
    return 0;
}

void cfg_free(cfg_net *net)
{
    free(net->layers);
    free(net->gemms);
    *net = (cfg_net){0};
}
