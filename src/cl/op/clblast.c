/* SPDX-License-Identifier: MIT */
/*
 * CLBlast for comparison, loaded with dlopen: libclblast.so of any version.
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

const char *gemm_clblast_missing(void)
{
    static const char file[] = "libclblast.so";
    static gemm_text why;
    static bool tried;
    if (!tried) {
        tried = true;
        void *library = gemm_open_library(file);
        void *symbol = library ? dlsym(library, "CLBlastSgemm") : NULL;
        if (symbol)
            *(void **)&sgemm = symbol;
        else if (library)
            gemm_text_add(&why, "%s has no CLBlastSgemm", file);
        else
            gemm_text_add(&why, "%s is not installed (Debian: libclblast[0-9]*; or "
                                "LD_LIBRARY_PATH names its folder)", file);
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
