/* SPDX-License-Identifier: MIT */
/*
 * What the driver tells the OpenCL rows, and the memory that it asks them for. Needs no OpenCL
 * header.
 */
#ifndef GEMM_CL_CONFIGURE_H
#define GEMM_CL_CONFIGURE_H

#include <stdbool.h>
#include <stddef.h>

/* Texts are NULL where the environment has none, and live as long as the program. */
typedef struct gemm_cl_configuration {
    const char *device;         /* gpu, cpu, platform:device, or part of a name */
    const char *library;        /* the file of OpenCL's library; NULL: the usual ones */
    const char *cache_dir;      /* the folder of compiled programs. It may not exist yet */
    bool privileged;            /* no device is opened, because OpenCL obeys the environment */
    const char *pocl_dir, *cache_home, *home;   /* PoCL's folder is the first of them, or in one */
    bool untried;               /* programs are used without a trial, and nothing is kept of them */
    bool layers;                /* the rows are used for whole layers, not for multiplies alone */
    bool foreseen;              /* gemm_cl_make_foreseen comes before the pass of a network */
    bool tune;                  /* GEMM_CL_MEASURES at first, else GEMM_CL_TUNED */
} gemm_cl_configuration;

/* Before any other call. */
void gemm_cl_configure(const gemm_cl_configuration *);

/* Names the device and its driver in one line, and opens the device for that. The caller frees the
   text. NULL: there is no device, or no memory. */
char *gemm_cl_identify(void);

/* The name of way i of `cl` that GEMM_WAY may have, or NULL behind the last one (cl/op/ways.c). */
const char *gemm_cl_way(int i);

/* The texts and limits of the open device in one line; NULL when none is open. */
const char *gemm_cl_describe(void);

/* Whether the device is another processor than the CPU. Opens the device. */
bool gemm_cl_has_gpu(void);

/* Whether the parent of this process opened the device before it forked: a child cannot use it. */
bool gemm_cl_is_of_parent(void);

/* Whether `cl` takes the forms of its table: how it computes an op, as it was measured on the
   device (cl/tune/tune.h). */
typedef enum gemm_cl_tuning {
    GEMM_CL_UNTUNED,            /* no: always the choice by what the device says */
    GEMM_CL_TUNED,              /* yes, for shapes that the table has */
    GEMM_CL_MEASURES            /* and other shapes are measured at first sight */
} gemm_cl_tuning;

/* The functions for forms are called only while no other thread runs a call. */
void gemm_cl_set_tuning(gemm_cl_tuning);

/* Ends the measuring of a network. kept: its forms stay, else its shapes get the choice by what the
   device says. Returns how many of them had another form. */
int gemm_cl_settle_forms(bool kept);

/* Zeroed memory of the device's driver, mapped for the CPU; NULL when there is none. */
void *gemm_cl_alloc(size_t bytes);

/* Frees memory of gemm_cl_alloc; false for any other pointer, which is left alone. */
bool gemm_cl_free(void *);

/* The bytes of a block of gemm_cl_alloc that this pointer lies in, else 0. */
size_t gemm_cl_alloc_size(const void *);

/* What the CPU is about to do with memory. */
typedef enum gemm_cl_cpu_use {
    GEMM_CL_CPU_READS,
    GEMM_CL_CPU_WRITES          /* all of these bytes: what a device holds of them is out of date */
} gemm_cl_cpu_use;

/* Makes the block of gemm_cl_alloc that these bytes lie in the CPU's. NULL, or why what the device
   had is lost. Any other pointer is allowed. */
const char *gemm_cl_give_to_cpu(const void *data, size_t bytes, gemm_cl_cpu_use);

/* Whether the device may hold something that the CPU does not have: one load. */
bool gemm_cl_has_left(void);

/* Makes the programs that calls with `foresees` of their context told. */
void gemm_cl_make_foreseen(void);

/* Further processes may compile programs: /proc/self/exe with this argument and environment, which
   then calls gemm_cl_serve. That compiles what the process asks for that began it. */
void gemm_cl_compile_apart(const char *argument, char **(*environment)(void));
void gemm_cl_serve(void);

/* For tests: forces a memory policy. 'u' is unified, 'd' discrete, 0 what the device needs. Only
   while no other thread makes a call. */
void gemm_cl_force_memory(int policy);

#endif
