/* SPDX-License-Identifier: MIT */
/*
 * What the system lets this process have: the CPU time and the memory of its control groups, as
 * containers have them, and the limits of the process itself.
 *
 * `root` is the folder in which proc/self is looked for, and what mountinfo names. "" is the
 * machine; a test has folders of its own.
 */
#ifndef GEMM_LIMITS_H
#define GEMM_LIMITS_H

#include <stddef.h>

/* The processors whose time the groups allow, rounded up; 0: no group has a quota. */
int gemm_quota_cores(const char *root);

/* The least memory that a group of this process may have, in bytes; SIZE_MAX: none is limited. */
size_t gemm_group_memory(const char *root);

/*
 * What this process may take for good where its memory is limited: half of what is left when as
 * much again as it takes now stays free. For a program does not look whether it gets memory, and
 * what it still needs is not known. `group` is what gemm_group_memory returned. RLIMIT_AS and
 * RLIMIT_DATA count too. SIZE_MAX: nothing is limited.
 */
size_t gemm_spare_memory(const char *root, size_t group);

#endif
