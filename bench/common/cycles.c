/* SPDX-License-Identifier: MIT */
/* Cycles by perf_event_open. A virtual machine may not have them, and perf_event_paranoid > 2 hides
   them. */
#include "common/cycles.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int counter = -2;        /* -2: not tried, -1: not there */

static void open_counter(void)
{
    struct perf_event_attr what = {.type = PERF_TYPE_HARDWARE, .size = sizeof(what),
                                   .config = PERF_COUNT_HW_CPU_CYCLES, .disabled = 1,
                                   .exclude_kernel = 1, .exclude_hv = 1};
    counter = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0);
}

void cycles_start(void)
{
    if (counter == -2) open_counter();
    if (counter < 0) return;
    ioctl(counter, PERF_EVENT_IOC_RESET, 0);
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
}

double cycles_stop(void)
{
    uint64_t cycles;
    if (counter < 0) return -1;
    ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
    if (read(counter, &cycles, sizeof(cycles)) != sizeof(cycles) || cycles == 0) return -1;
    return (double)cycles;
}
