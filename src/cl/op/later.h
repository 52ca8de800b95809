/* SPDX-License-Identifier: MIT */
/*
 * Programs that a thread builds beside the calls, while another row computes.
 *
 * A row that can give an op to `cl` or to the CPU asks for the op's programs first
 * (gemm_cl_postpone). Missing ones are wanted. The thread waits until no more are, and builds them.
 * It takes gemm_cl_lock for one program after the other.
 */
#ifndef GEMM_CL_LATER_H
#define GEMM_CL_LATER_H

#include "cl/device/program.h"

/* Whether the thread builds programs now, and holds gemm_cl_lock for long. One load. */
bool gemm_cl_is_busy(void);

/*
 * Behind a question for the programs of an op, without gemm_cl_lock: whether the op shall go
 * elsewhere. It does while programs are missing, and then until a whole pass lacked none. `op`, or
 * NULL, is another address for each op of a pass.
 */
bool gemm_cl_is_late(gemm_cl_lack, const void *op);

/* What it said last. One load. */
bool gemm_cl_was_late(void);

/* At exit, without gemm_cl_lock: waits until the program that is being built is there. False: that
   takes too long, and the thread still uses the device. */
bool gemm_cl_end_building(void);

#endif
