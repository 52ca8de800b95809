#!/bin/sh
# SPDX-License-Identifier: MIT
# In a control group with a quota of CPU time the default number of threads is the quota, rounded up.
. tests/support/lib.sh

bench=$OUT/bench/gemm_bench
outer=darknet-gemm-test-$$

# use_group VERSION: makes two groups, one in the other, where this system allows that and a process may
# join them. One of real-time priority may not.
use_group()
{
    version=$1
    if [ $version = 1 ]; then
        top=$(awk '{ at = index($0, " - cgroup "); if (at && $NF ~ /(^|,)cpu(,|$)/) { print $5; exit } }' /proc/self/mountinfo)
    else
        top=$(awk 'index($0, " - cgroup2 ") { print $5; exit }' /proc/self/mountinfo)
    fi
    [ -n "$top" ] && mkdir "$top/$outer" 2>/dev/null || return 1
    trap 'rmdir "$top/$outer/inner" "$top/$outer" 2>/dev/null; rm -rf "$work"' EXIT
    [ $version = 1 ] || echo +cpu >"$top/$outer/cgroup.subtree_control" 2>/dev/null
    mkdir "$top/$outer/inner" && set_quota 50000 "$top/$outer" &&
        sh -c 'echo $$ >"$1/cgroup.procs"' sh "$top/$outer/inner"
}

# set_quota MICROSECONDS FOLDER: of 100,000
set_quota()
{
    if [ $version = 1 ]; then
        { echo 100000 >"$2/cpu.cfs_period_us" && echo "$1" >"$2/cpu.cfs_quota_us"; } 2>/dev/null
    else
        echo "$1 100000" 2>/dev/null >"$2/cpu.max"
    fi
}

# threads NAME EXPECTED [VARIABLE=VALUE]...: what --list says in the inner group
threads()
{
    name=$1 expected=$2
    shift 2
    said=$(sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$top/$outer/inner" \
        env -u GEMM_THREADS -u OMP_NUM_THREADS "$@" "$bench" --list 2>&1 >/dev/null | head -n 1)
    if [ "$said" = "gemm-bench: threads $expected" ]; then pass "$name"; else fail "$name" "$said"; fi
}

made=
for version in 1 2; do
    if use_group $version 2>/dev/null; then made=1; break; fi
    [ -z "${top:-}" ] || rmdir "$top/$outer/inner" "$top/$outer" 2>/dev/null
done
cores=$(env -u OMP_NUM_THREADS nproc)
if [ -z "$made" ]; then
    skip_machine container 'no control group can be made and joined here: tests/unit/test_limits.c has made-up ones'
else
    quota='by the quota of CPU time of a control group'
    threads container-outer "1, $quota"
    set_quota 1000000 "$top/$outer"
    set_quota 100001 "$top/$outer/inner"
    if [ "$cores" -gt 2 ]; then
        threads container-rounded-up "2, $quota"
    else
        threads container-rounded-up "$cores, by the processors that this process may use"
    fi
    threads container-own-number '7, by GEMM_THREADS' GEMM_THREADS=7 OMP_NUM_THREADS=5
    threads container-openmp '5, by OMP_NUM_THREADS' OMP_NUM_THREADS=5
fi

finish
