/* SPDX-License-Identifier: MIT */
/*
 * ab: is B faster than A? It times two settings of Darknet, or two builds of it, side by side on
 * the same images in random order, and compares their detections. ab_run.c says how it measures,
 * ab_verdict.c when it gives a verdict.
 */
#include "ab/ab.h"

#include "gemm_variant.h"
#include "util/number.h"
#include "util/text.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: ab [options]      times two settings of Darknet against each other\n"
    "\n"
    "What differs (B is judged against A):\n"
    "  --a ROW, --b ROW             GEMM_IMPL of each\n"
    "  --env-a LIST, --env-b LIST   settings of each: NAME=value, with blanks between them\n"
    "  --bin-a FILE, --bin-b FILE   the program of each (./darknet)\n"
    "  --label-a TEXT, --label-b TEXT   what the report calls its program (FILE)\n"
    "What runs:\n"
    "  --cfg FILE                   the network (cfg/yolov3-tiny.cfg). `darknet speed` runs one\n"
    "                               without boxes; it needs no weights and no images\n"
    "  --weights FILE               its weights\n"
    "  --image FILE                 an image (data/kite.jpg); may be repeated\n"
    "  --speed                      `darknet speed` for any network\n"
    "How:\n"
    "  -n N                         samples of each side and image up to a look (32; speed: 10)\n"
    "  --rounds R                   fresh starts of both programs up to a look (8, at most N)\n"
    "  --looks L                    looks at the samples, 1 to 5 (5). The run ends at the first\n"
    "                               one at which both verdicts stand\n"
    "  --no-control                 without A against A before it\n"
    "  --warmup W                   pairs after the first image of a round that do not count (1)\n"
    "  --idle-ms MS                 sleep before each image: shows what waking threads costs (0)\n"
    "  --timeout S                  longest wait for an answer, in seconds (300)\n"
    "  --seed S                     of the order and of the bootstrap (1)\n"
    "What comes out:\n"
    "  --least PERCENT              smallest difference that is called faster or slower (1)\n"
    "  --fail-if-slower             status 3 if B is slower by one of the two times\n"
    "  --out DIR, --name NAME       DIR/NAME.csv, .md and .json (build/ab; A-vs-B-network)\n"
    "  --check                      only judges the options: nothing runs\n"
    "  --help\n"
    "\n"
    "Fewer than 6 rounds give no verdict: then there is one look and no control.\n"
    "Status: 0 measured, 1 could not be measured, 2 wrong option or a side that cannot start,\n"
    "3 slower (--fail-if-slower), 4 the detections differ, so the verdict is void,\n"
    "128 + signal when interrupted.\n"
    "Progress goes to standard error, the summary to standard output.\n";

enum { OPT_ENV_A = 256, OPT_ENV_B, OPT_BIN_A, OPT_BIN_B, OPT_CFG, OPT_WEIGHTS, OPT_IMAGE, OPT_SPEED,
       OPT_ROUNDS, OPT_WARMUP, OPT_IDLE, OPT_TIMEOUT, OPT_SEED, OPT_LEAST,
       OPT_FAIL, OPT_LOOKS, OPT_NO_CONTROL,
       OPT_LABEL_A, OPT_LABEL_B, OPT_OUT, OPT_NAME, OPT_CHECK, OPT_HELP };

static const struct option long_options[] = {
    {"a", required_argument, NULL, 'a'},
    {"b", required_argument, NULL, 'b'},
    {"env-a", required_argument, NULL, OPT_ENV_A},
    {"env-b", required_argument, NULL, OPT_ENV_B},
    {"bin-a", required_argument, NULL, OPT_BIN_A},
    {"bin-b", required_argument, NULL, OPT_BIN_B},
    {"label-a", required_argument, NULL, OPT_LABEL_A},
    {"label-b", required_argument, NULL, OPT_LABEL_B},
    {"cfg", required_argument, NULL, OPT_CFG},
    {"weights", required_argument, NULL, OPT_WEIGHTS},
    {"image", required_argument, NULL, OPT_IMAGE},
    {"speed", no_argument, NULL, OPT_SPEED},
    {"rounds", required_argument, NULL, OPT_ROUNDS},
    {"looks", required_argument, NULL, OPT_LOOKS},
    {"no-control", no_argument, NULL, OPT_NO_CONTROL},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"idle-ms", required_argument, NULL, OPT_IDLE},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"seed", required_argument, NULL, OPT_SEED},
    {"least", required_argument, NULL, OPT_LEAST},
    {"fail-if-slower", no_argument, NULL, OPT_FAIL},
    {"out", required_argument, NULL, OPT_OUT},
    {"name", required_argument, NULL, OPT_NAME},
    {"check", no_argument, NULL, OPT_CHECK},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0}};

/* One line about a wrong option; ends the program. `allowed` may be NULL. */
static _Noreturn void usage(const char *what, const char *value, const char *allowed)
{
    fprintf(stderr, "ab: %s '%s'%s%s (--help lists the options)\n", what, value,
            allowed ? ": " : "", allowed ? allowed : "");
    exit(AB_USAGE);
}

static int whole_number(const char *option, int least, int most)
{
    char allowed[64];
    int n;
    if (gemm_parse_int(optarg, least, most, &n)) return n;
    snprintf(allowed, sizeof allowed, "a whole number from %d to %d is needed", least, most);
    usage(option, optarg, allowed);
}

static double number(const char *option, double least, double most)
{
    char allowed[64];
    double x;
    if (gemm_parse_double(optarg, least, most, &x)) return x;
    snprintf(allowed, sizeof allowed, "a number from %g to %g is needed", least, most);
    usage(option, optarg, allowed);
}

static _Noreturn void cannot(const char *what, const char *path)
{
    fprintf(stderr, "ab: cannot %s %s: %s\n", what, path, strerror(errno));
    exit(AB_FAILED);
}

static void add_setting(ab_options *o, int side, char *setting)
{
    size_t n = 0;
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting)
        usage(side ? "--env-b" : "--env-a", setting, "NAME=value is needed");
    while (o->settings[side][n]) n++;
    if (n == AB_SETTINGS) usage("too many settings at", setting, NULL);
    o->settings[side][n] = setting;
}

static void add_settings(ab_options *o, int side, char *list)
{
    for (char *s = strtok(list, " \t\n"); s; s = strtok(NULL, " \t\n")) add_setting(o, side, s);
}

/* A row of this build. Another program may have other rows, so it judges itself. */
static void judge_row(const ab_options *o, int side)
{
    char like[128] = "";
    const char *row = o->row[side];
    if (!row || o->bin[side] || gemm_find(row)) return;
    gemm_append_like(like, sizeof like, row);
    fprintf(stderr, "ab: %c=%s: no such variant; %s\n", "AB"[side], row, like);
    exit(AB_USAGE);
}

static void add_row(ab_options *o, int side, const char *row)
{
    char *setting;
    if (!*row) return;          /* make passes A= where none is named */
    if (asprintf(&setting, "GEMM_IMPL=%s", row) < 0) cannot("name", row);
    o->row[side] = row;
    add_setting(o, side, setting);
}

static void add_image(ab_options *o, const char *path)
{
    if (o->image_count == AB_IMAGES) usage("too many images at", path, NULL);
    o->images[o->image_count++] = path;
}

static void take_option(ab_options *o, int opt)
{
    switch (opt) {
    case 'a': add_row(o, 0, optarg); break;
    case 'b': add_row(o, 1, optarg); break;
    case 'n': o->n = whole_number("-n", 1, 100000); break;
    case OPT_ENV_A: add_settings(o, 0, optarg); break;
    case OPT_ENV_B: add_settings(o, 1, optarg); break;
    case OPT_BIN_A: o->bin[0] = optarg; break;
    case OPT_BIN_B: o->bin[1] = optarg; break;
    case OPT_LABEL_A: o->name_of[0] = optarg; break;
    case OPT_LABEL_B: o->name_of[1] = optarg; break;
    case OPT_CFG: o->cfg = optarg; break;
    case OPT_WEIGHTS: o->weights = optarg; break;
    case OPT_IMAGE: add_image(o, optarg); break;
    case OPT_SPEED: o->speed = true; break;
    case OPT_ROUNDS: o->rounds = whole_number("--rounds", 1, 1000); break;
    case OPT_LOOKS: o->looks = whole_number("--looks", 1, AB_LOOKS); break;
    case OPT_NO_CONTROL: o->control = false; break;
    case OPT_WARMUP: o->warmup = whole_number("--warmup", 0, 1000); break;
    case OPT_IDLE: o->idle = number("--idle-ms", 0, 60000) / 1000; break;
    case OPT_TIMEOUT: o->timeout = number("--timeout", 0.1, 86400); break;
    case OPT_SEED: o->seed = (uint64_t)whole_number("--seed", 0, INT_MAX); break;
    case OPT_LEAST: o->least = number("--least", 0, 100) / 100; break;
    case OPT_FAIL: o->fail_if_slower = true; break;
    case OPT_OUT: o->out = optarg; break;
    case OPT_NAME: o->name = optarg; break;
    case OPT_CHECK: o->check = true; break;
    case OPT_HELP: fputs(help, stdout); exit(AB_DONE);
    default: exit(AB_USAGE);    /* getopt has said what is wrong */
    }
}

static void parse_options(ab_options *o, int argc, char **argv)
{
    int opt;
    while ((opt = getopt_long(argc, argv, "a:b:n:", long_options, NULL)) != -1) take_option(o, opt);
    if (optind < argc) usage("unexpected argument", argv[optind], NULL);
    if (!o->image_count) add_image(o, "data/kite.jpg");
    if (!o->settings[0][0] && !o->settings[1][0] && !o->bin[0] && !o->bin[1]) {
        fprintf(stderr, "ab: nothing to compare: --a ROW --b ROW, --env-a and --env-b, or --bin-b "
                        "is needed (make ab: A=ROW B=ROW; --help lists the options)\n");
        exit(AB_USAGE);
    }
    for (int side = 0; side < 2; side++) {
        judge_row(o, side);
        if (!o->bin[side]) o->bin[side] = "./darknet";
    }
}

/* Whether the last layer makes boxes. */
static bool has_boxes(const char *cfg)
{
    char line[512], last[64] = "";
    FILE *f = fopen(cfg, "r");
    if (!f) cannot("read", cfg);
    while (fgets(line, sizeof line, f)) sscanf(line, " [%63[a-z_]]", last);
    fclose(f);
    return !strcmp(last, "yolo") || !strcmp(last, "region") || !strcmp(last, "detection");
}

static void resolve(const char *path, char out[PATH_MAX], int mode)
{
    struct stat st;
    if (!realpath(path, out) || stat(out, &st) || access(out, mode))
        cannot(mode & X_OK ? "run" : "read", path);
    if (S_ISREG(st.st_mode)) return;
    errno = EISDIR;
    cannot(mode & X_OK ? "run" : "read", path);
}

/* Darknet reads a line into 256 bytes as the path. */
static void resolve_image(const char *path, char out[PATH_MAX])
{
    resolve(path, out, R_OK);
    if (strlen(out) < 255 && !strchr(out, '\n')) return;
    fprintf(stderr, "ab: Darknet takes no image path of 255 or more characters: %s\n", out);
    exit(AB_FAILED);
}

static void default_counts(ab_options *o)
{
    if (!o->n) o->n = o->speed ? 10 : 32;
    if (o->rounds > o->n || o->speed) o->rounds = o->n;
    /* 2 of 2^r arrangements have the same sign everywhere: this is under 5% from r = 6 on. */
    if (o->rounds >= 6) return;
    fprintf(stderr, "ab: a verdict needs 6 rounds or more, not %d\n", o->rounds);
    o->looks = 1;
    o->control = false;
}

static void add_word(char label[AB_LABEL], const char *word)
{
    gemm_append(label, AB_LABEL, "%s%s", *label ? " " : "", word);
}

/* What a reader needs to tell the sides apart: row, settings, and the program if there are two. */
static void make_labels(ab_run *r)
{
    const ab_options *o = r->o;
    const bool two_programs = strcmp(r->bin[0], r->bin[1]) != 0;
    for (int side = 0; side < 2; side++) {
        if (o->row[side]) add_word(r->label[side], o->row[side]);
        for (char *const *s = o->settings[side]; *s; s++)
            if (!o->row[side] || strncmp(*s, "GEMM_IMPL=", 10)) add_word(r->label[side], *s);
        if (two_programs || !r->label[side][0])
            add_word(r->label[side], o->name_of[side] ? o->name_of[side] : o->bin[side]);
    }
}

/* The name of the output files, such as "stock-vs-transpose-yolov3-tiny". The caller never frees
   it. */
static const char *make_name(const ab_run *r)
{
    const char *base = strrchr(r->cfg, '/');
    char *name;
    if (asprintf(&name, "%s-vs-%s-%s", r->label[0], r->label[1], base ? base + 1 : r->cfg) < 0)
        return "ab";
    const size_t n = strlen(name);
    if (n > 4 && !strcmp(name + n - 4, ".cfg")) name[n - 4] = 0;
    if (n > 200) name[200] = 0;
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) *c = '_';
    return name;
}

/* Makes a folder and those above it, if they are missing. */
static void make_folders(const char *path)
{
    char part[PATH_MAX];
    for (size_t n = 0; path[n];) {
        n += 1 + strcspn(path + n + 1, "/");
        if (snprintf(part, sizeof part, "%.*s", (int)n, path) >= PATH_MAX) errno = ENAMETOOLONG;
        else if (!mkdir(part, 0777) || errno == EEXIST) continue;
        cannot("make", path);
    }
}

/* Each program works in its own folder, because both write predictions.jpg. */
static void make_work(ab_run *r, int side)
{
    static const char *const links[] = {"cfg", "data"};
    char from[PATH_MAX], to[PATH_MAX];
    if (snprintf(r->work[side], PATH_MAX, "%s/%c", r->dir, 'a' + side) >= PATH_MAX ||
        mkdir(r->work[side], 0777))
        cannot("make", r->work[side]);
    for (size_t i = 0; i < 2; i++) {
        if (!realpath(links[i], from)) {
            fprintf(stderr, "ab: no %s/ here: run from the folder where darknet runs\n", links[i]);
            exit(AB_FAILED);
        }
        if (snprintf(to, sizeof to, "%s/%s", r->work[side], links[i]) >= PATH_MAX ||
            symlink(from, to))
            cannot("make", to);
    }
}

static ab_run *clean_run;       /* for atexit, because the program may end anywhere */

static void remove_work(void)
{
    static const char *const names[] = {"cfg", "data", "stderr.txt", "predictions.jpg",
                                        "predictions.png"};
    char path[PATH_MAX + 32];
    for (int side = 0; side < 2; side++) {
        if (!clean_run->work[side][0]) continue;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            snprintf(path, sizeof path, "%s/%s", clean_run->work[side], names[i]);
            unlink(path);
        }
        rmdir(clean_run->work[side]);
    }
    if (clean_run->dir[0]) rmdir(clean_run->dir);
}

/* Paths and counts that the options name. */
static void resolve_options(ab_run *r, ab_options *o)
{
    resolve(o->cfg, r->cfg, R_OK);
    o->speed = o->speed || !has_boxes(r->cfg);
    if (o->speed) {
        o->image_count = 0;
        o->weights = NULL;
    } else if (!o->weights) {
        usage("--weights FILE is needed to detect with", o->cfg, NULL);
    }
    default_counts(o);
    for (int side = 0; side < 2; side++) resolve(o->bin[side], r->bin[side], X_OK);
    if (!o->speed) resolve(o->weights, r->weights, R_OK);
    for (size_t i = 0; i < o->image_count; i++) {
        r->images[i].path = o->images[i];
        resolve_image(o->images[i], r->paths[i]);
    }
}

/* The output folder, the two working folders and the CSV file. */
static void open_output(ab_run *r, const ab_options *o)
{
    char out[PATH_MAX];
    make_folders(o->out);
    if (!realpath(o->out, out)) cannot("use", o->out);
    if (snprintf(r->dir, PATH_MAX, "%s/.run-XXXXXX", out) >= PATH_MAX || !mkdtemp(r->dir)) {
        r->dir[0] = 0;
        cannot("make a folder in", o->out);
    }
    make_work(r, 0);
    make_work(r, 1);
    if (snprintf(r->csv_path, PATH_MAX, "%s/%s.csv", o->out, o->name) >= PATH_MAX)
        errno = ENAMETOOLONG;
    else
        r->csv = output_open(r->csv_path);
    if (!r->csv) cannot("write", r->csv_path);
}

static void prepare(ab_run *r, ab_options *o)
{
    resolve_options(r, o);
    make_labels(r);
    if (!o->name) o->name = make_name(r);
    open_output(r, o);
    for (int side = 0; side < 2; side++) {
        r->load[side] = calloc((size_t)o->rounds * (size_t)o->looks, sizeof *r->load[side]);
        if (!r->load[side]) cannot("run", "ab");
    }
}

static void on_signal(int signal) { ab_stop = signal; }

static void catch_signals(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int status_of(const ab_run *r, const ab_result results[2])
{
    if (ab_stop) return 128 + (int)ab_stop;
    if (r->problem[0]) return AB_FAILED;
    for (int i = 0; i < 2; i++)
        if (!strcmp(results[i].verdict, "void")) return AB_VOID;
    for (int i = 0; i < 2; i++)
        if (r->o->fail_if_slower && !strcmp(results[i].verdict, "slower")) return AB_SLOWER;
    return AB_DONE;
}

/* Nothing was measured, so there is nothing to write. */
static int give_up(const ab_run *r)
{
    fprintf(stderr, "ab: %s\n", r->problem);
    if (!r->count || r->unstarted) unlink(r->csv_path);
    return ab_stop ? 128 + (int)ab_stop : r->unstarted ? AB_USAGE : AB_FAILED;
}

static bool has_measured(const ab_run *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->samples[i].phase == AB_MEASURED) return true;
    return false;
}

static int finish(ab_run *r)
{
    ab_result results[2];
    if (fclose(r->csv) && !r->problem[0])
        snprintf(r->problem, sizeof r->problem, "cannot write %.3000s: %s", r->csv_path,
                 strerror(errno));
    if (r->problem[0] && !has_measured(r)) return give_up(r);
    if (!ab_summarise(r, results)) {
        fprintf(stderr, "ab: no memory for the summary\n");
        return AB_FAILED;
    }
    const bool written = ab_report(r, results);
    if (r->problem[0]) fprintf(stderr, "ab: %s\n", r->problem);
    if (r->difference[0]) fprintf(stderr, "ab: the detections differ, %s\n", r->difference);
    fprintf(stderr, "ab: samples in %s\n", r->csv_path);
    free(r->samples);
    free(r->load[0]);
    free(r->load[1]);
    return written ? status_of(r, results) : AB_FAILED;
}

int main(int argc, char **argv)
{
    static ab_options o = {.cfg = "cfg/yolov3-tiny.cfg", .out = "build/ab", .rounds = 8,
                           .looks = AB_LOOKS, .control = true, .warmup = 1,
                           .timeout = 300, .least = 0.01, .seed = 1};
    static ab_run run = {.o = &o};
    parse_options(&o, argc, argv);
    if (o.check) return AB_DONE;
    setenv("GEMM_PREPARE", "first", 0);     /* else some more images prepare a part each */
    clean_run = &run;
    atexit(remove_work);
    prepare(&run, &o);
    catch_signals();
    if (ab_untrained(&o))
        fprintf(stderr, "ab: %s is untrained: its times are right, its detections mean nothing\n",
                o.weights);
    ab_measure(&run);
    return finish(&run);
}
