/*
 * Where the device sees the caller's matrices: two policies behind one interface. For the OpenCL
 * files only; called with gemm_cl_lock held.
 */
#ifndef GEMM_CL_MEMORY_H
#define GEMM_CL_MEMORY_H

#include "cl/device.h"

/* A matrix as it lies in the caller's memory, and where the device has it. */
typedef struct gemm_cl_view {
    float *host;
    size_t rows, cols, ld;          /* as stored: a transposed matrix is not turned here */
    cl_mem mem;
    size_t offset, device_ld;       /* of the first element; between rows; in floats */
    size_t copied;                  /* bytes between the CPU and the device, so far */
    struct host_block *block;       /* the driver's memory it lies in, or NULL */
    bool in_place;                  /* the device works on the caller's memory */
    bool overwrite;                 /* an output that is written, never read or added to */
    cl_event ready;                 /* of the upload, when that runs on its own queue */
} gemm_cl_view;

typedef enum gemm_cl_slot {
    SLOT_A, SLOT_B, SLOT_C, SLOT_PACKED_A, SLOT_PACKED_B, SLOT_PARTS, SLOT_NORM, SLOT_COUNT
} gemm_cl_slot;

typedef struct gemm_cl_policy {
    const char *name;
    int (*input)(gemm_cl_view *, gemm_cl_slot);     /* A or B, as the device needs them */
    int (*output)(gemm_cl_view *);                  /* C, before the kernels */
    int (*result)(gemm_cl_view *);                  /* the one wait: C is right for the CPU */
    void (*close)(gemm_cl_view *);                  /* the CPU's again; safe after any failure */
} gemm_cl_policy;

const gemm_cl_policy *gemm_cl_memory_policy(void);

/* Whether a pointer lies in driver memory that the policy uses in place. */
bool gemm_cl_is_shared(const float *);

/* A buffer of at least these bytes that lasts until the slot is asked for more; NULL: refused. */
cl_mem gemm_cl_scratch(gemm_cl_slot, size_t bytes);

/* An image of RGBA float, not in use by another panel of this call; NULL: refused. */
cl_mem gemm_cl_image_get(size_t width, size_t height);
void gemm_cl_images_done(void);

/* After a failure: forgets what the device is believed to hold. */
void gemm_cl_memory_doubt(void);

/* Frees what the policies keep, but for memory that the caller still holds. */
void gemm_cl_memory_close(void);

#endif
