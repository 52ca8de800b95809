/* SPDX-License-Identifier: MIT */
/*
 * Looks up what the settings name, hands each part of src/ its settings, and changes them later.
 */
#include "driver/start.h"

#include "auto/auto.h"
#include "calibrate/calibrate.h"
#include "cl/configure.h"
#include "driver/driver.h"
#include "driver/settings.h"
#include "driver/summary.h"
#include "driver/trace.h"
#include "packed/isa/ukernel.h"
#include "util/budget.h"
#include "util/clock.h"
#include "util/cores.h"
#include "util/die.h"
#include "util/file.h"
#include "util/forked.h"
#include "util/limits.h"
#include "util/started.h"
#include "util/text.h"
#include "util/threads.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gemm_state state;
static gemm_state last;         /* while the program is being ended: stock, and nothing else */

static const gemm_variant *find_impl(const char *name)
{
    const gemm_variant *v = gemm_find(name);
    if (v) return v;
    char like[128] = "";
    gemm_append_like(like, sizeof like, name);
    gemm_refuse("GEMM_IMPL='%s' is no variant; %s", name, like);
    return gemm_stock_row();
}

static const gemm_ukernel *find_isa(const char *name, bool reproducible)
{
    const gemm_ukernel *isa = gemm_ukernel_find(name);
    if (isa && reproducible) {
        isa = gemm_ukernel_reproducible(isa);
        if (name && strcmp(name, isa->name))
            gemm_refuse("GEMM_REPRODUCIBLE=1 needs a multiply-add that rounds once, and "
                        "GEMM_ISA=%s has none (%s has)", name, isa->name);
    }
    if (isa) return isa;
    gemm_text names = {0};
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u)
        if ((*u)->supported()) gemm_text_add(&names, " %s", (*u)->name);
    gemm_refuse(
        "GEMM_ISA='%s' is no instruction set that this processor and this build have; they have:%s",
        name, gemm_text_part(&names));
    gemm_text_free(&names);
    return gemm_ukernel_find(NULL);
}

/* The row that GEMM_REPRODUCIBLE=1 is about. `auto` takes no other then. */
static bool is_reproducible(const gemm_variant *v)
{
    return v->in_auto == GEMM_IN_AUTO_FIRST;
}

static const gemm_variant *take_reproducible(const gemm_variant *v)
{
    for (size_t i = 0; !strcmp(v->name, "auto") && i < gemm_variant_count; ++i)
        if (is_reproducible(&gemm_variants[i])) return &gemm_variants[i];
    return v;
}

static const char *find_way(const char *name, const gemm_variant *v, bool tune)
{
    gemm_text names = {0};
    const char *way = NULL;
    if (name && !v->way)
        gemm_refuse("GEMM_WAY='%s': %s has one way only (packed, cl, hybrid and auto have several)",
                    name, v->name);
    if (name && tune)
        gemm_refuse("GEMM_TUNE=1 measures what is taken without GEMM_WAY='%s'; unset one", name);
    for (int i = 0; name && v->way && (way = v->way(i)) && strcmp(way, name); ++i)
        gemm_text_add(&names, " %s", way);
    if (name && !way)
        gemm_refuse("GEMM_WAY='%s' is no way of %s; the ways are:%s", name, v->name,
                    gemm_text_part(&names));
    gemm_text_free(&names);
    return way;
}

/* The scales of a calibration. NULL: the variable is not set, or the file is refused. */
static const gemm_scales *read_scales(const char *path)
{
    static gemm_scales scales;
    char why[GEMM_SCALES_WHY];
    if (!path) return NULL;
    if (!*path) {
        gemm_refuse("GEMM_INT8='' names no file; make calibrate makes one from your pictures");
        return NULL;
    }
    if (gemm_scales_read(path, &scales, why)) return &scales;
    gemm_refuse("GEMM_INT8: %s", why);
    return NULL;
}

/* Whether `auto` gets the scales. */
static bool give_scales(const gemm_settings *s)
{
    if (s->auto_bits == 8 && !s->int8)
        gemm_refuse("GEMM_AUTO_BITS=8 needs a file of steps in GEMM_INT8; make calibrate makes "
                    "one from your pictures");
    return s->auto_bits == 8;
}

/* More threads than a container's quota of CPU time would be stopped together until its period
   ends. */
static int count_cores(const char **by)
{
    const int cores = gemm_allowed_cores(), quota = gemm_quota_cores("");
    const bool less = quota > 0 && quota < cores;
    const int threads = less ? quota : cores;
    *by = less ? "the quota of CPU time of a control group"
               : "the processors that this process may use";
    return threads < GEMM_MAX_THREADS ? threads : GEMM_MAX_THREADS;
}

/* The folder of compiled programs and of the tuning table. NULL: the environment names none. */
static const char *cache_folder(const gemm_settings *s)
{
    static char path[GEMM_FOLDER_BYTES];
    const struct {
        const char *variable, *value, *below;
    } places[] = {{"GEMM_CACHE_DIR", s->cache_dir, ""},
                  {"XDG_CACHE_HOME", s->cache_home, "/darknet-gemm"},
                  {"HOME", s->home, "/.cache/darknet-gemm"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        if (!places[i].value || !*places[i].value) continue;
        if (gemm_append(path, sizeof path, "%s%s", places[i].value, places[i].below)) return path;
        fprintf(stderr, "gemm: nothing is kept in a cache folder: the path that %s gives has %zu "
                        "bytes, at most %d are allowed\n", places[i].variable,
                strlen(places[i].value) + strlen(places[i].below), GEMM_FOLDER_BYTES - 1);
        return NULL;
    }
    return NULL;
}

/* ---- GEMM_CALIBRATE ---- */

static const char *calibration;     /* the file */
static int64_t calibration_began;

/* A program that is being ended says its own line. */
static void end_calibration(void)
{
    const char *why =
        gemm_is_dying() ? NULL : gemm_calibration_write(calibration, calibration_began);
    if (why) gemm_die_first("GEMM_CALIBRATE='%s' is not written: %s", calibration, why);
}

/* The inputs must be those of single precision. In a search a row in 8 bits is compared. */
static void start_calibration(const char *path, int auto_bits)
{
    const gemm_variant *v = state.impl;
    const bool compare = v->calibrated && gemm_calibration_searches(path);
    calibration = path;
    calibration_began = gemm_run_began("GEMM_CALIBRATE", path);
    if (state.conv == GEMM_IM2COL)
        gemm_refuse("GEMM_CALIBRATE needs whole layers, and GEMM_CONV=im2col has none");
    if (!(v->kinds & GEMM_CONVS) || v->rounding || (v->calibrated && !compare))
        gemm_refuse("GEMM_CALIBRATE needs whole layers in single precision, and GEMM_IMPL=%s "
                    "computes none (packed does)", v->name);
    if (v->chooses && auto_bits < 32)
        gemm_refuse("GEMM_CALIBRATE needs single precision, and GEMM_AUTO_BITS=%d allows less",
                    auto_bits);
    const char *why = gemm_calibration_begin(path, compare);
    if (why) gemm_refuse("GEMM_CALIBRATE='%s' cannot be written: %s", path, why);
    else atexit(end_calibration);
}

static void start_trace(const char *path)
{
    char text[128] = "";
    state.summary = !strcmp(path, "summary");
    gemm_append(text, sizeof text, "GEMM_IMPL=%s, %s, threads: %d", state.impl->name,
                state.isa->name, state.threads);
    if (state.summary) gemm_summary_open(text);
    const int error = state.summary ? 0 : gemm_trace_open(path, state.reproducible);
    if (error) gemm_refuse("GEMM_TRACE='%s' cannot be written: %s", path, strerror(error));
}

static void start(void)
{
    const gemm_settings s = gemm_read_settings();
    const char *folder = cache_folder(&s), *by = s.threads_by;
    const int threads = s.threads ? s.threads : count_cores(&by);
    state = (gemm_state){
        .impl = find_impl(s.impl),
        .threads = threads, .threads_by = by,
        .isa = find_isa(s.isa, s.reproducible),
        .conv = s.conv, .prepare_first = s.prepare_first || s.reproducible,
        .never_waits = !s.tune, .reproducible = s.reproducible,
        .scales = read_scales(s.int8), .scales_path = s.int8,
        .auto_bits = s.auto_bits, .auto_scales = give_scales(&s),
        .keep = s.keep, .check = s.check, .trace = s.trace,
        .calibrate = s.calibrate,
    };
    last = (gemm_state){
        .impl = gemm_stock_row(), .threads = 1, .isa = state.isa, .conv = GEMM_IM2COL,
    };
    if (s.reproducible) state.impl = take_reproducible(state.impl);
    state.way = find_way(s.way, state.impl, s.tune);
    gemm_threads_bind(s.bind);
    gemm_cl_configure(&(gemm_cl_configuration){
        .device = s.cl_device, .library = s.cl_library,
        .cache_dir = folder, .pocl_dir = s.pocl_dir, .cache_home = s.cache_home, .home = s.home,
        .privileged = gemm_is_privileged(), .untried = !s.cl_try,
        .layers = s.conv != GEMM_IM2COL, .tune = s.tune,
        .foreseen = gemm_state_foresees(&state),
    });
    if (s.tune) gemm_budget_set(s.tune_seconds, gemm_now_ms);
    gemm_tuning_configure(folder, state.isa->name, gemm_variants, gemm_variant_count);
    gemm_auto_configure(gemm_variants, gemm_variant_count, s.auto_bits,
                        s.tune ? GEMM_AUTO_TUNE : GEMM_AUTO_READ);
    if (s.trace && !gemm_refused()) start_trace(s.trace);
    if (s.calibrate && !gemm_refused()) start_calibration(s.calibrate, s.auto_bits);
}
GEMM_ONCE(start)

void gemm_compile_apart(int argc, char **argv)
{
    static const char argument[] = "--compile-opencl-programs";
    if (argc != 2 || strcmp(argv[1], argument)) {
        gemm_cl_compile_apart(argument, gemm_environment);
        return;
    }
    gemm_get_state();
    gemm_cl_serve();
    _exit(0);       /* at once, because all is in the cache */
}

bool gemm_is_started(void)
{
    return state.impl;
}

/* The program is ended here, outside of start(), because handlers of atexit come back. */
const gemm_state *gemm_get_state(void)
{
    once_start();
    if (gemm_refused()) gemm_die_first("%s", gemm_refused());
    return gemm_is_dying() ? &last : &state;
}

gemm_context gemm_make_context(gemm_note *note)
{
    return gemm_state_context(gemm_get_state(), note);
}

/* Why the settings rule a row out, or NULL. */
static const char *ruled_out(const gemm_variant *v)
{
    gemm_get_state();
    if (state.reproducible && !is_reproducible(v))
        return "GEMM_REPRODUCIBLE=1 is for packed alone";
    if (v->calibrated && !state.scales)
        return "GEMM_INT8 names no file of steps; make calibrate makes one from your pictures";
    return NULL;
}

/* What the build or the device lacks comes before `ruling`, because no setting helps then. */
static const char *lacks_or(const gemm_variant *v, const char *ruling)
{
    const char *lacks = v->device && v->device->limits ? v->device->limits(v->params) : NULL;
    return lacks ? lacks : ruling;
}

const char *gemm_unusable(const gemm_variant *v)
{
    const char *ruling = ruled_out(v);
    if (ruling) return lacks_or(v, ruling);
    return gemm_device_lacks(v);
}

const char *gemm_limits(const gemm_variant *v)
{
    return v->device && v->device->limits ? lacks_or(v, ruled_out(v)) : gemm_unusable(v);
}

/* A step of 8 bits is as wide as the last of 7 binary digits behind the sign. */
static double product_rounding(const gemm_variant *v)
{
    return v->rounding ? v->rounding->product : v->calibrated ? 0x1p-6 : 0;
}

double gemm_network_rounding(const gemm_variant *v)
{
    const int bits = gemm_get_state()->auto_bits;
    double most = product_rounding(v);
    for (size_t i = 0; v->chooses && i < gemm_variant_count; ++i)
        if (gemm_may_take(&gemm_variants[i], bits))
            most = fmax(most, product_rounding(&gemm_variants[i]));
    return 64 * most;
}

/* Another row must not silently replace a row that the user named, because A/B figures would be
   wrong. */
static const char *unusable;     /* why the row of the first call cannot run, or NULL */

static void require_usable(void)
{
    unusable = gemm_unusable(state.impl);
}

/* A child may be unable to use what its parent could. */
GEMM_ONCE_A_PROCESS(require_usable)

/* After the first call, a load and a pthread_once are all that this costs. */
const gemm_variant *gemm_chosen(void)
{
    const gemm_state *s = gemm_get_state();
    once_require_usable();
    if (!unusable) return s->impl;
    gemm_die_first("GEMM_IMPL=%s cannot run here: %s (gemm-bench --list shows what can)",
                   state.impl->name, unusable);
    return last.impl;
}

void gemm_set_variant(const gemm_variant *v)
{
    gemm_get_state();
    state.impl = v;
}

void gemm_set_threads(int threads)
{
    gemm_get_state();
    if (threads < 1 || threads > GEMM_MAX_THREADS)
        gemm_die("threads=%d is no whole number from 1 to %d", threads, GEMM_MAX_THREADS);
    state.threads = threads;
    state.threads_by = "a call";
}

void gemm_set_conv(gemm_conv_mode mode)
{
    gemm_get_state();
    state.conv = mode;
}

void gemm_wait_for_compilers(void)
{
    gemm_get_state();
    state.never_waits = false;
}

void gemm_set_prepare_first(bool first)
{
    gemm_get_state();
    state.prepare_first = first;
}
