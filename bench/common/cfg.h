/* SPDX-License-Identifier: MIT */
/*
 * The gemm calls of a forward pass through a Darknet cfg file.
 *
 * A child process reads the cfg with Darknet's own parser and runs the network once, on a row that
 * notes its calls and computes nothing. So the calls are those that Darknet makes. Darknet's memory
 * and its exit() on a bad file stay in the child.
 */
#ifndef BENCH_CFG_H
#define BENCH_CFG_H

#include "gemm_dispatch.h"

/* Called once for each call of gemm, in order; the pointers of the call are NULL. Not 0: stop. */
typedef int cfg_each(void *argument, const gemm_call *);

/* `batch` images in the pass; 0: as many as the file says. Returns 0, what `each` returned, or -1
   with a message in `error`. */
int cfg_calls(const char *path, int batch, cfg_each *each, void *argument, char *error,
              size_t error_size);

#endif
