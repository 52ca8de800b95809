/* SPDX-License-Identifier: MIT */
/*
 * The measurement of the A/B harness.
 *
 * Each round starts both programs anew. The place of a process in memory changes its speed by a
 * percent or two for as long as it lives. So the verdict asks whether the rounds agree.
 *
 * A round has a first image, warm-up pairs and measured pairs. A pair is one image for A and the
 * same image for B, directly one after the other. A coin decides who is first, so a drift of the
 * machine's speed hits both alike. The program that waits is stopped. The threads of an OpenMP
 * program spin for a while after their work, and would slow the other program.
 *
 * Before that each side runs once, to see that it can, and then A runs against A: the control.
 * After every o->rounds rounds the run looks at its samples. It ends when both verdicts stand, and
 * after o->looks looks at the latest.
 */
#include "ab/ab.h"

#include "common/apart.h"
#include "util/clock.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROMPT "Enter Image Path: "

volatile sig_atomic_t ab_stop;

__attribute__((format(printf, 2, 3))) static bool fail(ab_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->problem, sizeof r->problem, format, args);
    va_end(args);
    return false;
}

/* The program of a side: 0 is A, 1 is B. In the control both sides are A. */
static int program_of(const ab_run *r, int side)
{
    return r->in_control ? 0 : side;
}

/* The child of `side` ended without ever giving a time: one line. Returns false. */
static bool fail_start(ab_run *r, int side, const char *end, const char *during)
{
    char words[2048];
    const int who = program_of(r, side);
    process_last_words(&r->child[side], words, sizeof words);
    const char *last = strrchr(words, '\n');
    last = last ? last + 1 : words;
    r->unstarted = true;
    if (!strncmp(last, "    | ", 6)) last += 6;
    return fail(r, "%c (%s) %s %s%s%s", 'A' + who, r->label[who], end, during, *last ? ": " : "",
                last);
}

/* The child of `side` failed: says how it ended and what it wrote last. Returns false. */
static bool fail_child(ab_run *r, int side, process_state state, const char *during)
{
    char words[2048], end[128];
    const int who = program_of(r, side);
    process *p = &r->child[side];
    const int error = errno;
    if (state == PROCESS_STOPPED)
        return fail(r, "interrupted by signal %d (%s)", (int)ab_stop, strsignal((int)ab_stop));
    if (state == PROCESS_LATE)
        snprintf(end, sizeof end, "gave no answer for %g s", r->o->timeout);
    else if (state == PROCESS_FAILED)
        snprintf(end, sizeof end, "cannot be read from: %s", strerror(error));
    else if (state == PROCESS_READY)
        snprintf(end, sizeof end, "printed no time");
    else
        apart_explain(process_finish(p, 5), end, sizeof end);
    if (state == PROCESS_ENDED && !r->answered[who]) return fail_start(r, side, end, during);
    process_last_words(p, words, sizeof words);
    return fail(r, "%c (%s) %s %s%s%s", 'A' + who, r->label[who], end, during,
                words[0] ? "; its last words:\n" : "", words);
}

static bool write_header(ab_run *r)
{
    fprintf(r->csv, "phase,round,pair,image,side,position,%s,wall_s,labels,at_s\n",
            r->o->speed ? "seconds_per_eval" : "predicted_s");
    if (fflush(r->csv)) return fail(r, "cannot write %s: %s", r->csv_path, strerror(errno));
    return true;
}

static bool record(ab_run *r, const ab_sample *s)
{
    static const char *const phases[] = {"first", "warm-up", "measured", "trial",
                                         "control-warm-up", "control"};
    const char *const side = s->side == 0 ? "A" : r->in_control ? "A2" : "B";
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 256;
        ab_sample *more = realloc(r->samples, room * sizeof *more);
        if (!more) return fail(r, "no memory for %zu samples", room);
        r->samples = more;
        r->room = room;
    }
    r->samples[r->count++] = *s;
    r->answered[program_of(r, s->side)] = true;
    fprintf(r->csv, "%s,%d,%d,\"%s\",%s,%d,%.6f,%.6f,%zu,%.3f\n", phases[s->phase], s->round,
            s->pair, r->o->speed ? r->o->cfg : r->images[s->image].path, side,
            s->position + 1, s->inner, s->wall, s->labels, s->at);
    if (fflush(r->csv)) return fail(r, "cannot write %s: %s", r->csv_path, strerror(errno));
    return true;
}

static void show_progress(const ab_run *r, const char *doing)
{
    const double spent = gemm_now_s() - r->start;
    const int left = r->pairs_most - r->pairs_done;
    char time[64] = "";
    if (r->pairs_done > 0)
        snprintf(time, sizeof time, ", at most about %.0f s left", spent / r->pairs_done * left);
    const bool tty = isatty(2);
    fprintf(stderr, "%sab: %s, pair %d of %s%d%s%s", tty ? "\r\033[K" : "", doing, r->pairs_done,
            r->o->looks > 1 ? "at most " : "", r->pairs_most, time, tty ? "" : "\n");
}

static void idle(const ab_run *r)
{
    const double s = r->o->idle;
    const struct timespec t = {(time_t)s, (long)((s - floor(s)) * 1e9)};
    if (s > 0) nanosleep(&t, NULL);
}

/* A list of 0 and 1 in random order. Their numbers differ by 1 at most. */
static void shuffle_coins(ab_run *r, unsigned char *coins, size_t n)
{
    const size_t odd = (size_t)rng_below(&r->random, 2);
    for (size_t i = 0; i < n; i++) coins[i] = (i + odd) % 2;
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)rng_below(&r->random, (int)i);
        const unsigned char t = coins[i - 1];
        coins[i - 1] = coins[j];
        coins[j] = t;
    }
}

/* ---- darknet detect ---- */

typedef struct answer {
    char *labels;
    unsigned char *drawing;
    size_t length;
} answer;

static void free_answer(answer *a)
{
    free(a->labels);
    free(a->drawing);
    *a = (answer){0};
}

/* round: below 0 where the time to load does not count */
static bool start_detect(ab_run *r, int side, int round)
{
    const int who = program_of(r, side);
    char *argv[] = {r->bin[who], "detect", r->cfg, r->weights, NULL};
    const double from = gemm_now_s();
    if (process_start(&r->child[side], argv, r->o->settings[who], r->work[side]))
        return fail(r, "cannot start %s: %s", r->bin[who], strerror(errno));
    const process_state s = process_await(&r->child[side], PROMPT, r->o->timeout, &ab_stop);
    if (s != PROCESS_READY) return fail_child(r, side, s, "while it loaded the network");
    if (round >= 0) r->load[side][round] = gemm_now_s() - from;
    process_pause(&r->child[side]);
    return true;
}

static bool drawing_path(const ab_run *r, int side, const char *ending, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/predictions.%s", r->work[side], ending) < PATH_MAX;
}

static bool read_drawing(ab_run *r, int side, const char *image, answer *out)
{
    static const char *const endings[] = {"jpg", "png"};
    char path[PATH_MAX];
    FILE *f = NULL;
    for (int i = 0; i < 2 && !f; i++)
        if (drawing_path(r, side, endings[i], path)) f = fopen(path, "rb");
    if (!f)
        return fail(r, "%c (%s) left no drawing of %s in %s: is the disk full?",
                    'A' + program_of(r, side), r->label[program_of(r, side)], image, r->work[side]);
    if (!fseek(f, 0, SEEK_END) && ftell(f) > 0) {
        out->length = (size_t)ftell(f);
        rewind(f);
        out->drawing = malloc(out->length);
        if (out->drawing && fread(out->drawing, 1, out->length, f) != out->length) {
            free(out->drawing);
            out->drawing = NULL;
        }
    }
    fclose(f);
    if (!out->drawing) return fail(r, "cannot read the drawing %s", path);
    return true;
}

static void remove_drawing(const ab_run *r, int side)
{
    char path[PATH_MAX];
    if (drawing_path(r, side, "jpg", path)) unlink(path);
    if (drawing_path(r, side, "png", path)) unlink(path);
}

/* Takes Darknet's own time and the labels from what it printed. */
static bool read_answer(ab_run *r, int side, ab_sample *s, answer *out, const char *during)
{
    static const char mark[] = ": Predicted in ";
    process *p = &r->child[side];
    char *at = strstr(p->text, mark), *end = NULL;
    if (at) s->inner = strtod(at + strlen(mark), &end);
    if (!at || end == at + strlen(mark)) return fail_child(r, side, PROCESS_READY, during);
    end += strcspn(end, "\n");
    s->labels = compare_count(end);
    out->labels = strdup(end);
    if (!out->labels) return fail(r, "no memory for the labels %s", during);
    return true;
}

/* Gives one image to a program. Fills the times of `s`, and `out`. */
static bool feed(ab_run *r, int side, ab_sample *s, answer *out)
{
    process *p = &r->child[side];
    const char *image = r->images[s->image].path;
    char line[PATH_MAX + 2], during[PATH_MAX + 32];
    snprintf(line, sizeof line, "%s\n", r->paths[s->image]);
    snprintf(during, sizeof during, "at image %s", image);
    remove_drawing(r, side);
    idle(r);
    process_forget(p);
    process_resume(p);
    const double from = gemm_now_s();
    process_state state = PROCESS_ENDED;
    if (!process_write(p, line)) state = process_await(p, PROMPT, r->o->timeout, &ab_stop);
    const double until = gemm_now_s();
    if (state != PROCESS_READY) return fail_child(r, side, state, during);
    process_pause(p);
    p->text[p->length - strlen(PROMPT)] = 0;
    s->wall = until - from;
    s->at = until - r->start;
    s->side = side;
    return read_answer(r, side, s, out, during) && read_drawing(r, side, image, out);
}

/* Compares the drawings. When they equal those of the last pair byte for byte, the result is
   known. */
static sameness compare_pair_drawings(ab_image *image, answer a[2], const compare_tolerance *t,
                                      char *why, size_t size)
{
    bool seen = true;
    for (int side = 0; side < 2; side++)
        seen = seen && image->drawing[side] && image->length[side] == a[side].length &&
               !memcmp(image->drawing[side], a[side].drawing, a[side].length);
    if (seen) return image->known;
    image->known = compare_drawings(a[0].drawing, a[0].length, a[1].drawing, a[1].length, t, why,
                                    size);
    for (int side = 0; side < 2; side++) {
        free(image->drawing[side]);
        image->drawing[side] = a[side].drawing;
        image->length[side] = a[side].length;
        a[side].drawing = NULL;
    }
    return image->known;
}

static void compare_pair(ab_run *r, size_t image, answer a[2])
{
    compare_tolerance t = compare_default;
    char why[400] = "";
    sameness s = compare_labels(a[0].labels, a[1].labels, &t, why, sizeof why);
    if (s <= WITHIN) {
        const sameness d = compare_pair_drawings(&r->images[image], a, &t, why, sizeof why);
        if (d > s) s = d;
    }
    r->compared[s]++;
    if (s >= DIFFERENT && !r->difference[0])
        snprintf(r->difference, sizeof r->difference, "%.100s: %s", r->images[image].path, why);
}

static bool run_pair(ab_run *r, ab_phase phase, int round, size_t image, int first_side)
{
    answer answers[2] = {{0}, {0}};
    bool good = true;
    for (int position = 0; position < 2 && good; position++) {
        const int side = position ? !first_side : first_side;
        ab_sample s = {.phase = phase, .round = round, .pair = r->pairs_done, .image = image,
                       .position = position};
        good = feed(r, side, &s, &answers[side]) && record(r, &s);
    }
    if (good && phase <= AB_MEASURED) compare_pair(r, image, answers);
    r->pairs_done += good;
    free_answer(&answers[0]);
    free_answer(&answers[1]);
    return good;
}

static int pairs_of_round(const ab_options *o, int round)
{
    return o->n / o->rounds + (round % o->rounds < o->n % o->rounds);
}

/* The measured pairs of a round, in random order. Each image has the same number of pairs. */
static bool run_pairs(ab_run *r, int round)
{
    const size_t images = r->o->image_count;
    const size_t n = (size_t)pairs_of_round(r->o, round) * images;
    size_t *order = calloc(n + 1, sizeof *order);
    unsigned char *coins = malloc(n + 1);
    bool good = order && coins;
    if (!good) fail(r, "no memory for %zu pairs", n);
    for (size_t i = 0; good && i < n; i++) {
        const size_t j = (size_t)rng_below(&r->random, (int)i + 1);
        order[i] = order[j];
        order[j] = i % images;
    }
    if (good) shuffle_coins(r, coins, n);
    for (size_t i = 0; good && i < n; i++) {
        good = run_pair(r, r->in_control ? AB_CONTROL : AB_MEASURED, round, order[i], coins[i]);
        if (good && isatty(2)) show_progress(r, r->in_control ? "A against A" : "measuring");
    }
    free(order);
    free(coins);
    return good;
}

/* Closes its input, so that Darknet ends. Any status but 0 is a failure. */
static bool end_detect(ab_run *r, int side)
{
    char end[128];
    const int status = process_finish(&r->child[side], r->o->timeout);
    if (status == 0) return true;
    apart_explain(status, end, sizeof end);
    const int who = program_of(r, side);
    return fail(r, "%c (%s) %s after its last image", 'A' + who, r->label[who], end);
}

static void close_children(ab_run *r)
{
    process_close(&r->child[0]);
    process_close(&r->child[1]);
}

/* Starts both programs and gives them the pairs that do not count. */
static bool begin_round(ab_run *r, int round)
{
    const int early = rng_below(&r->random, 2);
    bool good = start_detect(r, early, r->in_control ? -1 : round) &&
                start_detect(r, !early, r->in_control ? -1 : round);
    for (int i = 0; good && i <= r->o->warmup; i++)
        good = run_pair(r, r->in_control ? AB_CONTROL_WARM : i ? AB_WARM : AB_FIRST, round,
                        i ? (size_t)i % r->o->image_count : 0, rng_below(&r->random, 2));
    return good;
}

static bool run_round(ab_run *r, int round)
{
    const ab_options *o = r->o;
    char doing[64];
    if (r->in_control)
        snprintf(doing, sizeof doing, "A against A, round %d of %d", round + 1, o->rounds);
    else
        snprintf(doing, sizeof doing, "round %d of %s%d", round + 1, o->looks > 1 ? "at most " : "",
                 o->rounds * o->looks);
    show_progress(r, doing);
    const bool good = begin_round(r, round) && run_pairs(r, round) && end_detect(r, 0) &&
                      end_detect(r, 1);
    close_children(r);
    r->rounds_done += good && !r->in_control;
    return good;
}

/* One image for each side, to see that it runs. Programs of OpenCL are compiled in it, and not
   beside the images that count. */
static bool try_detect(ab_run *r)
{
    const bool set = getenv("GEMM_PREPARE");
    if (!set) setenv("GEMM_PREPARE", "first", 1);
    const bool good = start_detect(r, 0, -1) && start_detect(r, 1, -1) &&
                      run_pair(r, AB_TRIAL, 0, 0, 0);
    if (!set) unsetenv("GEMM_PREPARE");
    close_children(r);
    return good;
}

/* The rounds up to a look, or those of the control. `from` is the first one's number. */
static bool detect_rounds(ab_run *r, int from)
{
    bool good = true;
    for (int i = 0; good && i < r->o->rounds; i++) good = run_round(r, from + i);
    return good;
}

/* ---- darknet speed ---- */

static bool run_speed_once(ab_run *r, int side, int tics, ab_sample *s)
{
    char count[16];
    snprintf(count, sizeof count, "%d", tics);
    const int who = program_of(r, side);
    char *argv[] = {r->bin[who], "speed", r->cfg, count, NULL};
    process *p = &r->child[side];
    idle(r);
    const double from = gemm_now_s();
    if (process_start(p, argv, r->o->settings[who], r->work[side]))
        return fail(r, "cannot start %s: %s", r->bin[who], strerror(errno));
    const process_state state = process_await(p, NULL, r->o->timeout, &ab_stop);
    if (state != PROCESS_ENDED) return fail_child(r, side, state, "in darknet speed");
    const int status = process_finish(p, 5);
    s->wall = gemm_now_s() - from;
    s->at = gemm_now_s() - r->start;
    s->side = side;
    int evals = 0;
    double seconds = 0;
    const char *at = p->text ? strstr(p->text, " evals, ") : NULL;
    while (at && at > p->text && at[-1] >= '0' && at[-1] <= '9') at--;
    if (status || !at || sscanf(at, "%d evals, %lf Seconds", &evals, &seconds) != 2 || evals < 1) {
        char end[128], words[2048];
        apart_explain(status, end, sizeof end);
        if (status && !r->answered[who]) return fail_start(r, side, end, "in darknet speed");
        process_last_words(p, words, sizeof words);
        return fail(r, "%c (%s) %s in darknet speed%s%s%s", 'A' + who, r->label[who], end,
                    status ? "" : " without a time", words[0] ? "; its last words:\n" : "", words);
    }
    s->inner = seconds / evals;
    process_close(p);
    return true;
}

static bool run_speed_pair(ab_run *r, ab_phase phase, int round, int first_side, int tics)
{
    for (int position = 0; position < 2; position++) {
        ab_sample s = {.phase = phase, .round = round, .pair = r->pairs_done, .position = position};
        if (!run_speed_once(r, position ? !first_side : first_side, tics, &s) || !record(r, &s))
            return false;
    }
    r->pairs_done++;
    return true;
}

/* Every run is a process of its own, so every pair is a round. */
static bool speed_rounds(ab_run *r, int from)
{
    const size_t n = (size_t)r->o->rounds;
    unsigned char *coins = malloc(n);
    if (!coins) return fail(r, "no memory for %zu pairs", n);
    shuffle_coins(r, coins, n);
    bool good = true;
    for (size_t i = 0; good && i < n; i++) {
        show_progress(r, r->in_control ? "darknet speed, A against A" : "darknet speed");
        good = run_speed_pair(r, r->in_control ? AB_CONTROL : AB_MEASURED, from + (int)i, coins[i],
                              AB_PASSES);
        r->rounds_done += good && !r->in_control;
    }
    free(coins);
    return good;
}

/* ---- both ---- */

static bool run_rounds(ab_run *r, int from)
{
    return r->o->speed ? speed_rounds(r, from) : detect_rounds(r, from);
}

/* The first pair of `darknet speed` has one pass each: that is the time of a cold start. */
static bool try_both(ab_run *r)
{
    if (r->o->speed) return run_speed_pair(r, AB_FIRST, 0, rng_below(&r->random, 2), 1);
    return !r->o->control || try_detect(r);
}

static bool run_control(ab_run *r)
{
    if (!r->o->control) return true;
    r->in_control = true;
    const bool good = run_rounds(r, 0);
    r->in_control = false;
    if (!good) return false;
    if (isatty(2)) fprintf(stderr, "\r\033[K");
    return ab_announce(r) || fail(r, "no memory for the control");
}

static bool stands(ab_run *r)
{
    ab_result results[2];
    if (!ab_summarise(r, results)) return fail(r, "no memory for a look");
    return results[0].stands && results[1].stands;
}

static bool run_looks(ab_run *r)
{
    bool good = true, enough = false;
    for (int look = 0; good && !enough && look < r->o->looks; look++) {
        good = run_rounds(r, look * r->o->rounds);
        r->looks_done += good;
        enough = good && stands(r);
    }
    return good && !r->problem[0];
}

static int count_pairs(const ab_options *o)
{
    const int groups = o->looks + o->control;
    if (o->speed) return groups * o->rounds + 1;
    return groups * (o->n * (int)o->image_count + o->rounds * (1 + o->warmup)) + o->control;
}

bool ab_measure(ab_run *r)
{
    r->start = gemm_now_s();
    r->random = rng_make(r->o->seed, 0);
    r->pairs_most = count_pairs(r->o);
    const bool good = write_header(r) && try_both(r) && run_control(r) && run_looks(r);
    close_children(r);
    if (isatty(2)) fprintf(stderr, "\r\033[K");
    for (size_t i = 0; i < r->o->image_count; i++) {
        free(r->images[i].drawing[0]);
        free(r->images[i].drawing[1]);
    }
    return good;
}
