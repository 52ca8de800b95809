/* SPDX-License-Identifier: MIT */
/*
 * Each kernel is compiled with one small fault, and its trial must find it.
 *
 *   OPENCL_LAYERS=layer_faulty.so GEMM_CACHE_DIR=an empty folder test_cl_trials
 *
 * tests/support/layer_faulty.c makes the fault. Every file of kernels/ has a line here.
 */
#include "cl/device/program.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "support/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fault {
    const char *kernel, *options, *from, *to;
} fault;

#define WINOGRAD "-DVECTOR=8 -DCOLS=16 -DTILE=4 -DP_EIGHTHS=5 -DQ_EIGHTHS=12"
#define LANES "-DVECTOR=1 -DCOLS=1 -DTILE=4 -DP_EIGHTHS=5 -DQ_EIGHTHS=12"
#define CPU_CONV "-DVECTOR=8 -DROWS=4 -DCOLS=16 -DWX=1 -DWY=1 -DSIZE=3 -DTAPS"
#define DIRECT "-DROWS=8 -DCOLS=4 -DWX=64 -DWY=1 -DCONV"
#define TILE "-DROWS=4 -DCOLS=4 -DWX=16 -DWY=8 -DBK=16"

/* The fault is the first place of the kernel's text that reads `from`. */
static const fault faults[] = {
    {"cl_naive", "-DROWS=1 -DCOLS=1 -DWX=1 -DWY=1", "k < K", "k < K - 1"},
    {"cl_block", "-DROWS=1 -DCOLS=32 -DWX=1 -DWY=32", "k < COLS; ++k", "k < COLS - 1; ++k"},
    {"cl_local", "-DROWS=1 -DCOLS=32 -DWX=1 -DWY=32 -DVECTOR=4", "alpha * sum[j]", "sum[j]"},
    {"cl_image", "-DROWS=8 -DCOLS=4", "M - 1 - i0) * ars", "M - 2 - i0) * ars"},
    {"cl_image", "-DROWS=8 -DCOLS=4 -DCONV -DSIZE=3", "conv_finish4_slope(c[i][p], slope)",
     "conv_finish4_slope(c[i][p], 1.0f)"},
    {"cl_direct", DIRECT " -DSIZE=3 -DSTRIDE=1", "v[r][3] = x.w", "v[r][3] = x.z"},
    {"cl_direct", DIRECT " -DSIZE=3 -DSTRIDE=1 -DWINOGRAD", "*d = second - *d", "*d -= second"},
    {"cl_direct", DIRECT " -DSIZE=3 -DSTRIDE=2", "const bool right = x + 1 < out_w",
     "const bool right = true"},
    {"cl_direct", DIRECT " -DSIZE=5 -DSTRIDE=1", "n - 1 - i", "n - i"},
    {"cl_direct", DIRECT " -DSIZE=1 -DSTRIDE=1", "min(4 * at, N - 4)", "4 * at"},
    {"cl_direct", DIRECT " -DSIZE=3 -DSTRIDE=1 -DPOOL", "vstore4(c[i][p], at, o",
     "vstore4(c[i][p], at + 1, o"},
    {"cl_direct", DIRECT " -DSIZE=3 -DSTRIDE=1 -DTEXTURE", "number / ars", "number / (ars + 1)"},
    {"cl_direct", "-DROWS=1 -DCOLS=4 -DWX=64 -DWY=1 -DCONV -DSIZE=3 -DSTRIDE=1",
     "a[0] = weights[0]", "a[0] = 1.0f"},
    {"cl_wide", "-DROWS=6 -DCOLS=16 -DWX=1 -DWY=1 -DVECTOR=8", "min(KC, K - k0)",
     "min(KC, K - k0 - 1)"},
    {"cl_tile", TILE, "n + 4 <= N", "n + 1 <= N"},
    {"cl_tile", TILE " -DCONV -DTAPS -DPOOL -DSIZE=3", "m = block.y > m ? block.y : m;", ""},
    {"cl_tile", TILE " -DCONV -DDEPTHWISE -DSIZE=3", "sum += *a *", "sum -= *a *"},
    {"cl_tile", TILE " -DCONV -DPACKED -DDEPTHWISE -DSHORTCUT -DSIZE=3",
     "const type name = packed.name", "const type name = packed.name + 1"},
    {"cl_thin", "-DROWS=4 -DCOLS=1 -DWX=64 -DWY=1 -DCONV -DPACKED -DSIZE=3 -DTAPS",
     "ulong)(i0 + i)", "ulong)(i0)"},
    {"cl_tile", TILE " -DCONV -DSHORTCUT -DSIZE=1", "more + (more0", "more + (1 + more0"},
    {"cl_tile", TILE " -DCONV -DDEPTHWISE -DSHORTCUT -DSIZE=3", "(adds ? (x)", "(true ? (x)"},
    {"cl_tile", TILE " -DCONV -DDEPTHWISE -DSHORTCUT -DSIZE=3", "filter, filters) + (x), slope",
     "filter, filters) + 0 * (x), slope"},
    {"cl_thin", "-DROWS=4 -DCOLS=1 -DWX=64 -DWY=1 -DCONV -DSIZE=3 -DTAPS -DSHORTCUT",
     "(ulong)((o) - C)", "c0"},
    {"cl_thin", "-DROWS=4 -DCOLS=1 -DWX=64 -DWY=1 -DCONV -DSIZE=3 -DTAPS", "b += h * w", "b += h"},
    {"cl_conv_wide", CPU_CONV, "r->y = r->tap = 0", "r->y = r->tap = 1"},
    {"cl_conv_wide", CPU_CONV " -DSHIFTED -DPOOL", "lower.odd > most ? lower.odd : most", "most"},
    {"cl_gemv", "-DROWS=4 -DCOLS=1 -DWX=128 -DWY=1 -DCONV", "n > 0; n /= 2", "n > 1; n /= 2"},
    {"cl_winograd_filter", WINOGRAD, "even_q - odd_q", "even_q + odd_q"},
    {"cl_winograd_input", WINOGRAD, "even_p - P * odd_p", "even_p + P * odd_p"},
    {"cl_winograd", WINOGRAD " -DROWS=6 -DWX=1 -DWY=1", "P * odd_p + Q * odd_q",
     "P * odd_p - Q * odd_q"},
    {"cl_winograd_filter", LANES, "even_q - odd_q", "even_q + odd_q"},
    {"cl_winograd_input", LANES, "first % across", "first % (across + 1)"},
    {"cl_winograd_output", LANES, "row < h && x + column < w", "row < h"},
    {"cl_winograd_output", LANES, "o[TILE] > most ? o[TILE]", "o[TILE] > most ? most"},
    {"cl_int8_input", "-DQUADS=1 -DBY_ROW", "* row * QUADS", "* w * QUADS"},
    {"cl_int8_input", "-DQUADS=4", "x < w + pad", "x < w"},
    {"cl_int8", "-DWX=16 -DWY=4 -DSLICES=2", "BYTE(f, 3), p3", "BYTE(f, 2), p3"},
    {"cl_int8", "-DWX=16 -DWY=1 -DSLICES=8", "slice < 2 * half_", "slice < half_ + 1"},
    {"cl_int8", "-DWX=32 -DWY=4 -DSLICES=1 -DDOT -DDOT_BY=dot_of_bytes", "s##i.w = DOT_BY(f, p3",
     "s##i.w = DOT_BY(f, p2"},
    {"cl_int8", "-DWX=32 -DWY=4 -DSLICES=1 -DPOOL", "v.w > most ? v.w", "v.w > most ? most"},
    {"cl_int8_wide", "-DROWS=4 -DCOLS=16 -DSTRIDE=1", "BYTE(q, 3) * b3", "BYTE(q, 2) * b3"},
    {"cl_int8_wide", "-DROWS=4 -DCOLS=8 -DSTRIDE=2", "b[i * STRIDE]", "b[i]"},
    {"cl_fill", "", "b[3 *", "b[2 *"},
    {"cl_fill", "-DCONV -DSIZE=3", "c[i] * stride - pad", "c[i] * stride"},
    {"cl_pack", "", "c < cols ?", "c < cols_out ?"},
    {"cl_pack", "-DHALF", "vstore_half_rte(x, i", "vstore_half_rte(x, i + (i == 3)"},
    {"cl_sum", "", "p < count", "p + 1 < count"},
    {"cl_sum", "-DCONV", "(row) % filters", "(row) / filters"},
    {"cl_sum", "-DCONV -DSHORTCUT", "*MORE(o), (row)", "0, (row)"},
    {"cl_zero", "", "if (x < count)", "if (x + 1 < count)"},
    {"cl_maxpool", "-DBY_ROW", "r < last; ++r", "r < last - 1; ++r"},
    {"cl_maxpool", "", "end = min(left + size, w)", "end = min(left + size, w - 1)"},
    {"cl_avgpool", "-DBY_ROW", "sum / area", "sum / (area + 1)"},
    {"cl_upsample", "", "alpha * in[x]", "in[x]"},
    {"cl_shortcut", "", "SLOPE(LEAKY, 0.1f)", "SLOPE(LEAKY, 0.2f)"},
    {"cl_shortcut", "-DSIZES", "y % sample == 0", "y % sample != 0"},
    {"cl_copy", "", "image * size", "image * n"},
    {"cl_copy_two", "", "second[i - n]", "second[i]"},
    {"cl_copy_two", "", "image * m", "image * n"},
    {"cl_activate", "", "data += d0", "data += 0"},
    {"cl_activate", "-DBY_ROW", "fmin(x, most)", "fmin(x, 2.0f)"},
    {"cl_yolo", "", "entry == 3", "entry == 4"},
};
enum { FAULTS = sizeof faults / sizeof faults[0] };

/* The kernel must be left out with its fault, and be right without it. */
static void test_fault(int number)
{
    const fault *f = &faults[number];
    char name[64], mutation[256], faulty_options[256], apart[256];
    const char *why = NULL, *right = NULL;
    snprintf(name, sizeof name, "cl-trial-%s-%d", f->kernel, number);
    snprintf(mutation, sizeof mutation, "%s|%s|%s", f->kernel, f->from, f->to);
    /* An option without a meaning makes each another program. Trials of others may need the usual
       one, and other kernels of the same text may have a fault too. */
    snprintf(faulty_options, sizeof faulty_options, "%s -DFAULTY=%d", f->options, number);
    snprintf(apart, sizeof apart, "%s -DAPART=%d", f->options, number);
    gemm_cl_lock();
    setenv("CL_MUTATE", mutation, 1);
    const gemm_cl_program *wrong = gemm_cl_build(f->kernel, faulty_options, &why);
    const bool faulty = gemm_cl_is_faulty(why);
    setenv("CL_MUTATE", "", 1);
    gemm_cl_build(f->kernel, apart, &right);
    gemm_cl_unlock();
    if (wrong || !strstr(why, "it gives wrong results") || !faulty)
        report_fail(name, "with its fault: %s", wrong ? "right" : why);
    else if (right)
        report_fail(name, "without its fault: %s", right);
    else
        report_pass(name);
}

/* Whether a line has the kernel, or the file has only kernels of other files. */
static bool has_fault(const gemm_cl_source *s)
{
    char entry[80];
    int i = 0;
    snprintf(entry, sizeof entry, "void %s(", s->name);
    while (i < FAULTS && strcmp(faults[i].kernel, s->name)) ++i;
    return i < FAULTS || !strstr(s->text, entry);
}

int main(void)
{
    const char *why = gemm_unusable(gemm_find("cl"));
    if (why) {
        report_skip("cl-trials", "%s", why);
        return report_status();
    }
    for (size_t i = 0; i < gemm_cl_source_count; ++i) {
        const gemm_cl_source *source = &gemm_cl_sources[i];
        if (!has_fault(source)) report_fail("cl-trials-all", "%s has no fault here", source->name);
    }
    for (int i = 0; i < FAULTS; ++i) test_fault(i);
    return report_status();
}
