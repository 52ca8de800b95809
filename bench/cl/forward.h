/* SPDX-License-Identifier: MIT */
/* Forward passes of whole networks, for make bench-cl. */
#ifndef CL_FORWARD_H
#define CL_FORWARD_H

#include <stdbool.h>

/* Prints a table: stock, packed, cl by im2col, cl by layers, hybrid and auto on each cfg. Returns
   false when outputs are wrong. `rounds` is at most 9. */
bool forward_table(char **cfgs, int count, int rounds);

#endif
