/*
 * The environment as one struct. No other part of src/ reads the environment.
 */
#ifndef GEMM_SETTINGS_H
#define GEMM_SETTINGS_H

#include <stdbool.h>

enum { GEMM_MAX_THREADS = 1024 };

/* The values of GEMM_CONV. */
typedef enum gemm_conv_mode {
    GEMM_HOOK,                  /* whole layers, by whatever algorithm is fastest */
    GEMM_DIRECT,                /* whole layers, without Winograd's algorithm */
    GEMM_IM2COL,                /* Darknet's way: its own layers, and gemm */
} gemm_conv_mode;

/* Texts are NULL where the variable is not set. They live as long as the program. */
typedef struct gemm_settings {
    const char *impl;           /* GEMM_IMPL, else "auto" */
    int threads;                /* GEMM_THREADS, else OMP_NUM_THREADS, else 0: all cores */
    const char *isa;            /* GEMM_ISA */
    bool bind;                  /* GEMM_BIND: workers are bound to cores */
    gemm_conv_mode conv;        /* GEMM_CONV */
    bool check;                 /* GEMM_CHECK */
    const char *trace;          /* GEMM_TRACE: a file, "-" for stderr */
    const char *cl_device;      /* GEMM_CL_DEVICE */
    bool cl_try;                /* GEMM_CL_TRY: OpenCL programs are tried before they are used */
    bool tune;                  /* GEMM_TUNE */
    const char *cache_dir;      /* GEMM_CACHE_DIR */
    const char *cache_home;     /* XDG_CACHE_HOME */
    const char *home;           /* HOME */
    const char *ref_openblas, *ref_blis, *ref_onednn, *ref_clblast;     /* GEMM_REF_<NAME> */
} gemm_settings;

/* Reads and checks all variables. A bad value ends the program with one line that names the
   variable, the value and what is allowed. */
gemm_settings gemm_read_settings(void);

#endif
