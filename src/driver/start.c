/*
 * Looks up what the settings name, hands each part of src/ its settings, and changes them later.
 */
#include "driver/start.h"

#include "cl/configure.h"
#include "driver/auto.h"
#include "driver/driver.h"
#include "driver/settings.h"
#include "driver/trace.h"
#include "packed/ukernel.h"
#include "ref/ref.h"
#include "util/die.h"
#include "util/text.h"
#include "util/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static gemm_state state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Words for an error message, with a blank before each. Words that do not fit are left out. */
typedef struct word_list {
    char text[1024];
    size_t used;
} word_list;

static void add_word(word_list *l, const char *word)
{
    const size_t left = sizeof l->text - l->used, length = strlen(word) + 1;
    if (length >= left) return;
    snprintf(l->text + l->used, left, " %s", word);
    l->used += length;
}

static const gemm_variant *find_impl(const char *name)
{
    const gemm_variant *v = gemm_find(name);
    if (v) return v;
    word_list names = {.used = 0};
    for (size_t i = 0; i < gemm_variant_count; ++i) add_word(&names, gemm_variants[i].name);
    gemm_die("GEMM_IMPL='%s' is no variant; the variants are:%s", name, names.text);
}

static const gemm_ukernel *find_isa(const char *name)
{
    const gemm_ukernel *isa = gemm_ukernel_find(name);
    if (isa) return isa;
    word_list names = {.used = 0};
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u)
        if ((*u)->supported()) add_word(&names, (*u)->name);
    gemm_die(
        "GEMM_ISA='%s' is no instruction set that this processor and this build have; they have:%s",
        name, names.text);
}

static int all_cores(void)
{
    const int cores = gemm_allowed_cores();
    return cores < GEMM_MAX_THREADS ? cores : GEMM_MAX_THREADS;
}

/* The folder of compiled programs and of the tuning table. NULL: the environment names none. */
static const char *cache_folder(const gemm_settings *s)
{
    static char path[1024];
    bool named = false;
    if (s->cache_dir && *s->cache_dir)
        named = gemm_append(path, sizeof path, "%s", s->cache_dir);
    else if (s->cache_home && *s->cache_home)
        named = gemm_append(path, sizeof path, "%s/darknet-gemm", s->cache_home);
    else if (s->home && *s->home)
        named = gemm_append(path, sizeof path, "%s/.cache/darknet-gemm", s->home);
    return named ? path : NULL;
}

static void start(void)
{
    const gemm_settings s = gemm_read_settings();
    const char *folder = cache_folder(&s);
    state = (gemm_state){
        .impl = find_impl(s.impl),
        .threads = s.threads ? s.threads : all_cores(),
        .isa = find_isa(s.isa),
        .conv = s.conv, .check = s.check, .trace = s.trace,
    };
    gemm_threads_bind(s.bind);
    gemm_ref_set_path(&gemm_ref_openblas, s.ref_openblas);
    gemm_ref_set_path(&gemm_ref_blis, s.ref_blis);
    gemm_ref_set_path(&gemm_ref_onednn, s.ref_onednn);
    gemm_cl_configure(&(gemm_cl_configuration){
        .device = s.cl_device, .clblast = s.ref_clblast, .cache_dir = folder,
        .untried = !s.cl_try,
    });
    gemm_auto_configure(&(gemm_tuning_file){.folder = folder, .isa = state.isa->name,
                                            .rows = gemm_variants,
                                            .row_count = gemm_variant_count},
                        s.tune ? GEMM_AUTO_TUNE : GEMM_AUTO_READ);
    if (s.trace) gemm_trace_open(s.trace);
}

const gemm_state *gemm_get_state(void)
{
    pthread_once(&once, start);
    return &state;
}

gemm_context gemm_make_context(gemm_note *note)
{
    return gemm_state_context(gemm_get_state(), note);
}

const char *gemm_unusable(const gemm_variant *v)
{
    gemm_get_state();
    return v->unusable ? v->unusable(v->params) : NULL;
}

/* Another row must not silently replace a row that the user named, because A/B figures would be
   wrong. */
static void require_usable(void)
{
    const gemm_variant *v = gemm_get_state()->impl;
    const char *reason = gemm_unusable(v);
    if (reason)
        gemm_die("GEMM_IMPL=%s cannot run here: %s (gemm-bench --list shows what can)", v->name,
                 reason);
}

/* After the first call, one pthread_once is all that this costs. */
const gemm_variant *gemm_chosen(void)
{
    static pthread_once_t checked = PTHREAD_ONCE_INIT;
    pthread_once(&checked, require_usable);
    return state.impl;
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
}

void gemm_set_conv(gemm_conv_mode mode)
{
    gemm_get_state();
    state.conv = mode;
}
