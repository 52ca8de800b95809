/* SPDX-License-Identifier: MIT */
/* time() that stands still, so that a program which seeds rand() from it repeats (LD_PRELOAD). */
#include <time.h>

time_t time(time_t *t)
{
    if (t) *t = 17;
    return 17;
}
