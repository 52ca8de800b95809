/* SPDX-License-Identifier: MIT */
/*
 * Times a row for benchmarks.
 */
#include "cl/timing.h"

#include "cl/op/multiply.h"
#include "util/clock.h"

static int time_calls(gemm_cl_job *j, int reps, gemm_cl_times *times)
{
    int rc = 0;
    CL_TRY(clFinish(j->w.device->queue));
    const double begin = gemm_now_ms();
    for (int i = 0; i < reps && rc == 0; ++i) {
        rc = gemm_cl_enqueue(j);
        gemm_cl_empty_panels(&j->panels);
    }
    CL_TRY(clFinish(j->w.device->queue));
    times->wall_ms = (gemm_now_ms() - begin) / reps;
    times->device_ms = gemm_cl_stages_ms(&j->w, STAGE_PREPARE, STAGE_SUM) / reps;
    times->kernel_ms = gemm_cl_stages_ms(&j->w, STAGE_MULTIPLY, STAGE_MULTIPLY) / reps;
    gemm_cl_describe_work(&j->w, times->ran, sizeof times->ran);
    return rc;
fail:
    return -1;
}

static gemm_status time_row(const gemm_call *g, const gemm_cl_row *row, int reps,
                            gemm_cl_times *times)
{
    gemm_cl_job j;
    gemm_note note;
    const bool failed = gemm_cl_prepare(&j, g, row, NULL) ||
                        gemm_cl_show(&j, GEMM_CL_RESIDENT) ||
                        time_calls(&j, reps, times);
    return gemm_cl_end_job(&j, failed, &note);
}

int gemm_cl_time(const gemm_call *g, const gemm_cl_row *row, int reps, gemm_cl_times *times)
{
    gemm_cl_times untimed;
    gemm_cl_lock();
    gemm_cl_want_times(false);
    gemm_status status = time_row(g, row, reps, &untimed);
    gemm_cl_want_times(true);
    if (status == GEMM_DONE) status = time_row(g, row, reps, times);
    times->wall_ms = untimed.wall_ms;
    gemm_cl_unlock();
    return status == GEMM_DONE ? 0 : -1;
}
