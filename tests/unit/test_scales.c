/* SPDX-License-Identifier: MIT */
/* The file of scales of 8 bits is read as it was written. Lines that are malformed are refused. */
#include "int8/scales.h"
#include "support/report.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Whether the text is read; `why` as gemm_scales_parse sets it. */
static bool parse_text(const char *text, gemm_scales *s, char *why)
{
    FILE *f = tmpfile();
    if (!f || fputs(text, f) < 0) abort();
    rewind(f);
    const bool right = gemm_scales_parse(f, "x.int8", s, why);
    fclose(f);
    return right;
}

static const char *judge_written(void)
{
    gemm_scale layers[] = {{0x0123456789abcdef, 16, 173056, 27, 0, 0, GEMM_SCALE_UNKNOWN, NAN,
                            false},
                           {~UINT64_C(0), 1024, 169, 4608, .0123456789f, -128, GEMM_SCALE_ERROR,
                             31.4f, false},
                           {1, 8, 1, 5, 1e-30f, 127, GEMM_SCALE_PERCENTILE, -3, false}};
    const gemm_scales written = {layers, 3};
    gemm_scales read;
    char why[GEMM_SCALES_WHY], text[1024] = "";
    FILE *f = tmpfile();
    if (!f || !gemm_scales_write(f, &written)) abort();
    rewind(f);
    if (fread(text, 1, sizeof text - 1, f) == 0) abort();
    fclose(f);
    if (strncmp(text, "gemm-int8 3 3\n", 14)) return "another head is written";
    if (!strstr(text, "layer 0123456789abcdef 16 173056 27 fp32 0 - -\n"))
        return "written otherwise";
    if (!parse_text(text, &read, why)) return "what was written is refused";
    const char *wrong = read.count == 3 ? NULL : "another number of layers";
    for (int i = 0; i < 3 && !wrong; ++i) {
        const gemm_scale *a = &layers[i], *b = gemm_scales_find(&read, a->weights, a->M, a->K);
        if (!b || b->N != a->N || b->scale != a->scale || b->zero != a->zero ||
            b->method != a->method)
            wrong = "another layer is read";
        else if (isnan(a->snr) ? !isnan(b->snr) : a->snr != b->snr) wrong = "another SNR is read";
    }
    if (gemm_scales_find(&read, 1, 8, 6) || gemm_scales_find(&read, 2, 8, 5))
        wrong = "a layer is found that is not there";
    gemm_scales_free(&read);
    return wrong;
}

/* Of version 2 narrow layers stay in single precision. */
static const char *judge_older(void)
{
    char text[] = "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 0.5 -3 range 36.5\n";
    char why[GEMM_SCALES_WHY];
    gemm_scales s;
    for (char version = '2'; version <= '3'; ++version) {
        text[10] = version;
        if (!parse_text(text, &s, why)) return "it is refused";
        const bool right = s.layers[0].by_noise == (version == '2') &&
                           s.layers[0].method == GEMM_SCALE_RANGE;
        gemm_scales_free(&s);
        if (!right) return "its layer is another";
    }
    return NULL;
}

static void test_bad_scales(void)
{
    static const struct bad {
        const char *name, *text, *why;
    } bad[] = {
        {"empty", "# nothing\n\n", "x.int8: the first line has to be: gemm-int8 3 LAYERS; make"},
        {"head", "gemm-int8\n", "x.int8:1: the first line has to be: gemm-int8 3 LAYERS; make ca"},
        {"older", "gemm-int8 1\n", "x.int8:1: the version is '1', allowed are 2 and 3; make cali"},
        {"newer", "gemm-int8 4 1\n", "x.int8:1: the version is '4', allowed are 2 and 3; mak"},
        {"count", "gemm-int8 3 -1\n", "x.int8:1: LAYERS '-1' is no whole number from 0 to 2147"},
        {"no-count", "gemm-int8 3\n", "x.int8:1: the first line has to be: gemm-int8 3 LAYERS"},
        {"longer", "gemm-int8 3 0\nlayer 0123456789abcdef 1 2 3 0.5 0 - -\n",
         "x.int8: it has 1 layers, and its first line names 0: it is longer; make calibrate makes"},
        {"words", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 .5 0 -\n",
         "x.int8:2: allowed is: layer HASH M N K SCALE ZERO METHOD SNR"},
        {"more-words", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 0.5 0 - - -\n", "x.int8:2: al"},
        {"hash", "gemm-int8 3 1\n\n# c\nlayer 0123456789abcdeX 1 2 3 0.5 0 - -\n", "x.int8:4: HAS"},
        {"short-hash", "gemm-int8 3 1\nlayer 123 1 2 3 0.5 0 - -\n", "x.int8:2: HASH '123' is not"},
        {"filters", "gemm-int8 3 1\nlayer 0123456789abcdef 0 2 3 0.5 0 - -\n", "x.int8:2: M '0' i"},
        {"taps", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3x 0.5 0 - -\n", "x.int8:2: K '3x' is"},
        {"zero", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 0 0 - -\n", "x.int8:2: SCALE '0' is"},
        {"below", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 -1 0 - -\n", "x.int8:2: SCALE '-1'"},
        {"nan", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 nan 0 - -\n", "x.int8:2: SCALE 'nan'"},
        {"zero-point", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 0.5 -129 - -\n",
         "x.int8:2: ZERO '-129' is no whole number from -128 to 127"},
        {"method", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 0.5 0 best -\n",
         "x.int8:2: METHOD 'best' is none of percentile, error, range, -"},
        {"snr", "gemm-int8 3 1\nlayer 0123456789abcdef 1 2 3 0.5 0 - high\n", "x.int8:2: SNR 'hig"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char name[64], why[GEMM_SCALES_WHY] = "";
        gemm_scales s;
        snprintf(name, sizeof name, "scales-bad-%s", bad[i].name);
        if (parse_text(bad[i].text, &s, why)) report_fail(name, "it is taken");
        else if (strncmp(why, bad[i].why, strlen(bad[i].why)))
            report_fail(name, "it says: %s", why);
        else report_pass(name);
    }
}

/* Cut behind any of its bytes a file is refused, and says that it is cut once it has its head. */
static const char *judge_cut(void)
{
    static const char whole[] = "gemm-int8 3 2\n# c\nlayer 0123456789abcdef 1 2 3 0.5 -3 - 36.5\n"
                                "layer 0123456789abcdee 1 2 3 fp32 0 - -\n";
    const size_t head = sizeof "gemm-int8 3 2\n" - 1;
    char text[sizeof whole], why[GEMM_SCALES_WHY];
    gemm_scales s;
    for (size_t n = 0; n < sizeof whole - 1; ++n) {
        memcpy(text, whole, n);
        text[n] = '\0';
        if (parse_text(text, &s, why)) return gemm_scales_free(&s), "a cut file is taken";
        if (!strstr(why, "; make calibrate makes a new one")) return "no command is named";
        if (n >= head && !strstr(why, "cut")) return "it does not say that the file is cut";
        if (n == head + 4 && strcmp(why, "x.int8: it has 0 layers, and its first line names 2: it "
                                         "is cut; make calibrate makes a new one"))
            return "it says something else behind the head";
    }
    if (!parse_text(whole, &s, why)) return "the whole file is refused";
    gemm_scales_free(&s);
    return NULL;
}

static void test_long_line(void)
{
    char text[600] = "gemm-int8 3 0\n", why[GEMM_SCALES_WHY] = "";
    gemm_scales s;
    memset(text + strlen(text), '#', 500);
    const bool taken = parse_text(text, &s, why);
    report_judged("scales-bad-long", taken ? "it is taken"
                  : strstr(why, "x.int8:2: the line has more than 254") ? NULL : why);
}

int main(void)
{
    report_judged("scales", judge_written());
    test_bad_scales();
    report_judged("scales-older", judge_older());
    report_judged("scales-cut", judge_cut());
    test_long_line();
    return report_status();
}
