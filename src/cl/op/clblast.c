/* SPDX-License-Identifier: MIT */
/*
 * CLBlast for comparison, loaded with dlopen: the file of GEMM_REF_CLBLAST, else libclblast.so
 * of any version.
 * The project neither needs it nor links it.
 */
#include "cl/op/clblast.h"
#include "util/library.h"
#include "util/text.h"

#include <dlfcn.h>
#include <stdbool.h>

/* clblast_c.h: CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes */
enum { ROW_MAJOR = 101, TRANSPOSE_NO = 111, TRANSPOSE_YES = 112 };

typedef int sgemm_fn(int layout, int ta, int tb, size_t m, size_t n, size_t k, float alpha,
                     cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset,
                     size_t b_ld, float beta, cl_mem c, size_t c_offset, size_t c_ld,
                     cl_command_queue *, cl_event *);

static sgemm_fn *sgemm;

/* NULL: there is none, and `why` says so. */
static void *open_clblast(const char *path, gemm_text *why)
{
    static const char file[] = "libclblast.so";
    const bool named = path && *path;
    void *library = named ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : gemm_open_library(file);
    if (library) return library;
    if (named)
        gemm_text_add(why, "GEMM_REF_CLBLAST=%s: %s", path, dlerror());
    else
        gemm_text_add(why, "%s is not installed (Debian: libclblast[0-9]*; or "
                           "GEMM_REF_CLBLAST=path)", file);
    return NULL;
}

const char *gemm_clblast_missing(const char *path)
{
    static gemm_text why;
    static bool tried;
    if (!tried) {
        tried = true;
        void *library = open_clblast(path, &why);
        void *symbol = library ? dlsym(library, "CLBlastSgemm") : NULL;
        if (symbol)
            *(void **)&sgemm = symbol;
        else if (library)
            gemm_text_add(&why, "%s%s has no CLBlastSgemm",
                          path && *path ? "GEMM_REF_CLBLAST=" : "",
                          path && *path ? path : "libclblast.so");
    }
    return sgemm ? NULL : gemm_text_part(&why);
}

int gemm_clblast_enqueue(const gemm_cl_device *d, const gemm_call *g, const gemm_cl_view *A,
                         const gemm_cl_view *B, const gemm_cl_view *C)
{
    cl_command_queue queue = d->queue;
    const int error = sgemm(ROW_MAJOR, g->TA ? TRANSPOSE_YES : TRANSPOSE_NO,
                            g->TB ? TRANSPOSE_YES : TRANSPOSE_NO, (size_t)g->M, (size_t)g->N,
                            (size_t)g->K, g->ALPHA, A->mem, A->offset, A->device_ld, B->mem,
                            B->offset, B->device_ld, 1.0f, C->mem, C->offset, C->device_ld, &queue,
                            NULL);
    if (error == 0) return 0;
    gemm_cl_say_failed(__FILE__, __LINE__, "CLBlastSgemm", error);
    return -1;
}
