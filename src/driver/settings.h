/* SPDX-License-Identifier: MIT */
/*
 * The environment as one struct. No other part of src/ reads the environment.
 */
#ifndef GEMM_SETTINGS_H
#define GEMM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum { GEMM_MAX_THREADS = 1024 };

/* The values of GEMM_CONV. */
typedef enum gemm_conv_mode {
    GEMM_HOOK,                  /* whole layers, by whatever algorithm is fastest */
    GEMM_DIRECT,                /* whole layers, without Winograd's algorithm */
    GEMM_IM2COL,                /* Darknet's way: its own layers, and gemm */
} gemm_conv_mode;

/* Texts are NULL where the variable is not set, and names of files also where gemm_is_privileged.
   They live as long as the program. */
typedef struct gemm_settings {
    const char *impl;           /* GEMM_IMPL, else "auto" */
    int threads;                /* GEMM_THREADS, else another library's; 0: start.c counts */
    const char *threads_by;     /* the variable that gave the number, or NULL */
    const char *isa;            /* GEMM_ISA */
    bool bind;                  /* GEMM_BIND: workers are bound to cores */
    gemm_conv_mode conv;        /* GEMM_CONV */
    bool prepare_first;         /* GEMM_PREPARE=first */
    bool reproducible;          /* GEMM_REPRODUCIBLE */
    const char *way;            /* GEMM_WAY, or NULL */
    const char *int8;           /* GEMM_INT8: the file of scales */
    size_t keep;                /* GEMM_KEEP, in bytes; SIZE_MAX: the variable is not set */
    bool check;                 /* GEMM_CHECK */
    const char *trace;          /* GEMM_TRACE: a file, "-" for stderr */
    const char *calibrate;      /* GEMM_CALIBRATE: the file that is written at the end */
    const char *cl_device;      /* GEMM_CL_DEVICE */
    const char *cl_library;     /* GEMM_CL_LIBRARY */
    const char *pocl_dir;       /* POCL_CACHE_DIR: PoCL's own variable, for messages only */
    bool cl_try;                /* GEMM_CL_TRY: OpenCL programs are tried before they are used */
    bool tune;                  /* GEMM_TUNE */
    int tune_seconds;           /* GEMM_TUNE_SECONDS */
    int auto_bits;              /* GEMM_AUTO_BITS: 32, 16 or 8 */
    const char *cache_dir;      /* GEMM_CACHE_DIR */
    const char *cache_home;     /* XDG_CACHE_HOME */
    const char *home;           /* HOME */
} gemm_settings;

/* Reads and checks all variables. A bad value is refused, and its default taken. */
gemm_settings gemm_read_settings(void);

/* Remembers the first bad value, as a line that names the variable, the value and what is allowed.
   start.c ends the program with it. */
void gemm_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* That line, or NULL. */
const char *gemm_refused(void);

/* Whether this program has more rights than its caller: it is set-user-ID, set-group-ID, or has
   capabilities. It obeys no name of a file that the caller's environment has. */
bool gemm_is_privileged(void);

/* All variables, for a further process. */
char **gemm_environment(void);

/* LD_PRELOAD, or NULL. *asked: whether a variable GEMM_... is set. */
const char *gemm_preload(bool *asked);

#endif
