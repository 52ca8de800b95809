#!/bin/sh
# SPDX-License-Identifier: MIT
# The library in a host that somebody else wrote: what ends it and how, errno, and a host that has
# more rights than its caller.
#
#   tests/system/test_host.sh
. tests/support/lib.sh
. tests/support/host.sh

: "${CC:=gcc}"
host=$work/host_exit
library=${LIBRARY:-$OUT/libdarknet-gemm.so}
$CC -std=c11 -D_GNU_SOURCE -Isrc -O1 tests/support/host_exit.c -rdynamic "$library" \
    -Wl,-rpath,"$(dirname "$library")" -pthread -o "$host"
unset GEMM_IMPL GEMM_TRACE GEMM_CHECK GEMM_TUNE
export GEMM_CACHE_DIR="$work/unused"

# ---- what ends a host: status 1, one line, and its handlers run and may multiply ----
# ends NAME LINE VARIABLE=VALUE...: LINE is a pattern of grep
ends()
{
    name=$1 line=$2
    shift 2
    for threads in 0 4; do
        env "$@" "$host" end $threads >"$work/output" 2>"$work/error"
        is "ends-$name-$threads" "1, handler done, 1 of 1 lines" \
            "$?, $(cat "$work/output"), $(grep -c "$line" "$work/error") of $(wc -l <"$work/error") lines"
    done
}
ends impl "^gemm: GEMM_IMPL='nonsense' is no variant" GEMM_IMPL=nonsense
ends threads "^gemm: GEMM_THREADS='0' is no whole number" GEMM_THREADS=0
ends switch "^gemm: GEMM_CHECK='x' is neither 0 nor 1" GEMM_CHECK=x
ends conv "^gemm: GEMM_CONV='x' is none of" GEMM_CONV=x
ends isa "^gemm: GEMM_ISA='x' is no instruction set" GEMM_ISA=x
ends trace "^gemm: GEMM_TRACE='/nowhere/t' cannot be written" GEMM_TRACE=/nowhere/t
ends trace-full "^gemm: GEMM_TRACE='/dev/full' cannot be written: No space" GEMM_TRACE=/dev/full
mkdir "$work/empty"
$CC -shared -fPIC -x c /dev/null -o "$work/empty/libopenblas.so"
ends unusable '^gemm: GEMM_IMPL=openblas cannot run here: libopenblas.so has no cblas_sgemm' \
    GEMM_IMPL=openblas LD_LIBRARY_PATH="$work/empty"
# Nothing of a long value is cut before the reason.
ends long-trace "^gemm: GEMM_TRACE='/xx*' cannot be written: File name too long" GEMM_TRACE="/$(printf %5000s '' | tr ' ' x)"
ends long-impl "^gemm: GEMM_IMPL='xx*' is no variant; gemm-bench --list has all\$" GEMM_IMPL="$(printf %5000s '' | tr ' ' x)"
# Every thread finds the error, and the first one ends the program.
ends check '^gemm: GEMM_CHECK: stock is wrong' GEMM_IMPL=stock GEMM_CHECK=1

# A trace that is whole, and a handler that multiplies after it was closed.
env GEMM_TRACE="$work/trace" "$host" end 0 >"$work/output" 2>&1
is ends-well "0, handler done, 2 lines" "$?, $(cat "$work/output"), $(wc -l <"$work/trace") lines"

# A summary in place of rows.
env GEMM_TRACE=summary GEMM_IMPL=stock GEMM_THREADS=2 "$host" end 0 >"$work/output" 2>"$work/error"
is ends-summary '0, 2 lines, 1 of all calls, 1 of a way' "$?, $(wc -l <"$work/error") lines, $(grep -c \
    '^gemm: GEMM_IMPL=stock, [a-z0-9]*, threads: 2, calls: 1, [0-9.]* ms$' "$work/error") of all calls, $(grep -c \
    '^gemm: 100.0% *[0-9.]* ms, calls: *1, stock multiply$' "$work/error") of a way"
env GEMM_TRACE=summary GEMM_IMPL=nonsense "$host" end 0 >"$work/output" 2>"$work/error"
is ends-summary-of-none '1 line' "$(wc -l <"$work/error") line"

# ---- the trace of several processes ----
export GEMM_IMPL=packed
# is_traced NAME ROWS FILE: so many rows, behind one header
is_traced()
{
    is "trace-$1" "1 header, $2 rows" "$(grep -c '^variant,TA,' "$3") header, $(grep -c '^packed,0,0,70,70,70,' "$3") rows"
}
trace=$work/rows
for how in fork exec; do
    echo 'of an older run' >"$trace"
    GEMM_TRACE=$trace "$host" rows $how
    is_traced $how 2 "$trace"
    is "trace-$how-only" 3 "$(wc -l <"$trace")"
done
GEMM_TRACE=$trace sh -c '"$1" rows one; "$1" rows exec; "$1" rows one' sh "$host"
is_traced one-run 4 "$trace"
GEMM_TRACE=$trace "$host" rows one
is_traced next-run 1 "$trace"
# Two programs that nobody started together: the first one still runs.
mkfifo "$work/fifo"
rm "$trace"
GEMM_TRACE=$trace "$host" rows wait <"$work/fifo" &
exec 9>"$work/fifo"
tries=200
until [ "$(cat "$trace" 2>/dev/null | wc -l)" = 2 ] || [ $tries = 0 ]; do sleep .05 && tries=$((tries - 1)); done
GEMM_TRACE=$trace "$host" rows one
exec 9>&-
wait
is_traced two-programs 3 "$trace"
GEMM_TRACE=$trace.%p.csv "$host" rows fork
is trace-own-files 2 "$(ls "$trace".*.csv | wc -l)"
for own in "$trace".*.csv; do is_traced own 1 "$own"; done
unset GEMM_IMPL

# ---- errno ----
for first in layers memory dispatch get set cblas none; do
    env GEMM_TRACE="$work/trace" "$host" errno $first >"$work/output" 2>&1
    is "errno-$first" "gemm: sgemm_: argument 3, m=-1: a size is at least 0" "$(cat "$work/output")"
done
mkdir "$work/tuned"
env GEMM_CACHE_DIR="$work/tuned" GEMM_TUNE=1 OCL_ICD_VENDORS=/nonexistent "$host" errno none 2>/dev/null >"$work/output"
is errno-tune '' "$(cat "$work/output")"

# ---- more rights than the caller ----
# A set-user-ID copy that nobody runs, or a copy of another group of this user.
other=
for group in $(id -G); do [ "$group" = "$(id -g)" ] || other=$group; done
mkdir "$work/open" "$work/open/icd"
cp "$host" "$work/privileged"
case $(id -u),$other in
0,*)
    chmod 755 "$work" && chmod 777 "$work/open"
    chown 0 "$work/privileged" && chmod 4755 "$work/privileged"
    as_caller() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; } ;;
*,?*)
    chgrp "$other" "$work/privileged" && chmod 2755 "$work/privileged"
    as_caller() { "$@"; } ;;
*) as_caller() { false; } ;;
esac

printf '#include <stdio.h>\n__attribute__((constructor)) static void f(void) { puts("LOADED"); fflush(stdout); }\n' >"$work/evil.c"
$CC -shared -fPIC "$work/evil.c" -o "$work/open/evil.so"
echo "$work/open/evil.so" >"$work/open/icd/evil.icd"

# obeys PROGRAM VARIABLE=VALUE...: yes when a file was made or a library was loaded
obeys()
{
    program=$1
    shift
    rm -rf "$work"/open/made*
    as_caller env -u GEMM_CACHE_DIR -u XDG_CACHE_HOME -u HOME "$@" "$program" secure >"$work/output" 2>"$work/error"
    if [ -n "$(find "$work/open" -name 'made*')" ] || grep -q LOADED "$work/output"; then echo yes; else echo no; fi
}

# plain NAME VARIABLE=VALUE...: obeyed by a plain program, and not by one that has more rights
privileged()
{
    name=$1
    shift
    is "plain-$name" yes "$(obeys "$host" "$@")"
    is "privileged-$name" no "$(obeys "$work/privileged" "$@")"
    case $name in icd) return ;; esac
    is "privileged-$name-right" 'secure 1, C 70' "$(cat "$work/output")"
}
if ! as_caller "$work/privileged" secure 2>/dev/null | grep -q 'secure 1'; then
    skip_machine privileged 'no other user or group, or a file system without set-user-ID programs'
else
    none=OCL_ICD_VENDORS=/nonexistent
    privileged trace GEMM_TRACE="$work/open/made"
    is privileged-trace-said "gemm: GEMM_TRACE is ignored, because this program has more rights than its caller" \
        "$(cat "$work/error")"
    privileged cache-dir GEMM_CACHE_DIR="$work/open/made" GEMM_TUNE=1 $none
    privileged xdg XDG_CACHE_HOME="$work/open/made" GEMM_TUNE=1 $none
    privileged home HOME="$work/open/made" GEMM_TUNE=1 $none
    for row in openblas:libopenblas blis:libblis onednn:libdnnl; do
        impl=${row%:*}
        cp "$work/open/evil.so" "$work/open/${row#*:}.so"
        is "plain-$impl" yes "$(obeys "$host" LD_LIBRARY_PATH="$work/open" GEMM_IMPL=$impl)"
        is "privileged-$impl" no "$(obeys "$work/privileged" LD_LIBRARY_PATH="$work/open" GEMM_IMPL=$impl)"
    done
    if readelf -Ws "$OUT/gemm.o" | grep -q gemm_cl_open_device; then
        privileged icd OCL_ICD_VENDORS="$work/open/icd" GEMM_IMPL=cl
        is privileged-icd-said 1 "$(grep -c '^gemm: GEMM_IMPL=cl cannot run here: OpenCL loads libraries' "$work/error")"
    fi
fi

finish
