/* Memory that Darknet and an OpenCL device share. */
#ifndef GEMM_MEMORY_H
#define GEMM_MEMORY_H

#include "gemm_variant.h"

#include <stdbool.h>

/* Whether gemm_host_alloc takes memory of the device's driver while this row is chosen. */
bool gemm_shares_memory(const gemm_variant *);

/* `why` is what gemm_cl_give_to_cpu or a function of turns.h returned. Ends the program unless it
   is NULL. */
void gemm_die_if_lost(const char *why);

#endif
