/* Memory that Darknet and an OpenCL device share. */
#ifndef GEMM_MEMORY_H
#define GEMM_MEMORY_H

#include "gemm_variant.h"

#include <stdbool.h>

/* Whether gemm_host_alloc takes memory of the device's driver while this row is chosen. */
bool gemm_shares_memory(const gemm_variant *);

#endif
