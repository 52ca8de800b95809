/* What an OpenCL device had, and lost. */
#ifndef GEMM_MEMORY_H
#define GEMM_MEMORY_H

/* `why` is what gemm_cl_give_to_cpu or a function of turns.h returned. Ends the program unless it
   is NULL. */
void gemm_die_if_lost(const char *why);

#endif
