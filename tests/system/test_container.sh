#!/bin/sh
# SPDX-License-Identifier: MIT
# In a control group with a quota of CPU time the default number of threads is the quota, rounded up. In one with
# fewer processors it is theirs.
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

# ---- processors: the process joins a group of one after libgomp bound it, and knows the places of all ----
# use_core: makes a group of one processor, where this system allows that
use_core()
{
    one=$(awk '{ at = index($0, " - cgroup "); if (at && $NF ~ /(^|,)cpuset(,|$)/) { print $5; exit } }' /proc/self/mountinfo)
    [ -n "$one" ] || one=$(awk 'index($0, " - cgroup2 ") { print $5; exit }' /proc/self/mountinfo)
    [ -n "$one" ] && mkdir "$one/$outer.core" || return 1
    trap 'rmdir "$top/$outer/inner" "$top/$outer" "$one/$outer.core" 2>/dev/null; rm -rf "$work"' EXIT
    [ ! -w "$one/cgroup.subtree_control" ] || echo +cpuset >"$one/cgroup.subtree_control"
    echo 0 >"$one/$outer.core/cpuset.mems"
    echo 0 >"$one/$outer.core/cpuset.cpus"
}
cat >"$work/joins.c" <<'END'
#include <stdio.h>
int darknet_gemm_get_threads(void);
int main(int argc, char **argv)
{
    FILE *group = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!group || fputs("0\n", group) < 0 || fclose(group)) return 1;
    printf("%d\n", darknet_gemm_get_threads());
    return 0;
}
END
: "${CC:=gcc}"
$CC "$work/joins.c" "$OUT/libdarknet-gemm.so" -Wl,--no-as-needed -lgomp -Wl,-rpath,"$OUT" -o "$work/joins"
# bound FILE: the threads of a process that writes there which group it joins
bound() { env -u GEMM_THREADS -u OMP_NUM_THREADS OMP_PROC_BIND=true "$work/joins" "$1" 2>&1; }
if ! use_core 2>/dev/null || [ -z "$made" ]; then
    skip_machine container-core 'no control group of one processor can be made here'
else
    said="$(bound /dev/null) $(bound "$one/$outer.core/cgroup.procs")"
    if [ "$said" = "$cores 1" ]; then pass container-core; else fail container-core "threads outside and inside: $said"; fi
fi
finish
