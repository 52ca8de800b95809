/* SPDX-License-Identifier: MIT */
/* Memory that Darknet and an OpenCL device share. */
#ifndef GEMM_MEMORY_H
#define GEMM_MEMORY_H

#include "op/op.h"

/* Whether gemm_host_alloc takes memory of the device's driver while this row is chosen. */
bool gemm_shares_memory(const gemm_variant *);

/* Before a variant that reads the CPU's memory: another layer may have left its output on a
   device. */
void gemm_operands_to_cpu(const gemm_op *);

/* Behind a variant that may leave its output there. */
void gemm_read_back(const gemm_op *);

#endif
