#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs of a network under `cl`: known before its first pass, and compiled by several processes where the device
# is a GPU. PoCL is the device, and a layer of the ICD loader makes it a desktop GPU.
#
#   tests/system/test_cl_programs.sh
. tests/support/lib.sh
use_pocl || { skip cl-programs "$no_pocl"; finish; }

[ "$(nproc)" -gt 1 ] || { skip_machine cl-programs 'one processor begins no further process'; finish; }

bin=$OUT/tests
export GEMM_IMPL=cl GEMM_CACHE_DIR="$work/programs" DESKTOP_BUILDS="$work/builds"
cat >"$work/few.cfg" <<'END'
[net]
batch=1
width=32
height=32
channels=4

[convolutional]
filters=8
size=3
stride=1
pad=1
activation=leaky

[maxpool]
size=2
stride=2

[convolutional]
filters=32
size=1
stride=1
activation=leaky

[convolutional]
filters=16
size=3
stride=2
pad=1
activation=linear

[upsample]
stride=2
END

# run VARIABLES...: one pass of the network; the lines of gemm_cl are in said
pass_of()
{
    plain env OPENCL_LAYERS="${LAYERS:-$bin/layer_desktop.so}" "$@" timeout 300 "$OUT/darknet" speed "${CFG:-$work/few.cfg}" 1 >"$work/said" 2>&1
}
cold()
{
    rm -rf "$GEMM_CACHE_DIR" "$work/builds"
    mkdir -m 700 "$GEMM_CACHE_DIR"
    pass_of "$@"
}
# DONE ALL LEFT of the line
said_of()
{
    sed -n 's/^gemm_cl: compiling OpenCL programs for Desktop GPU, once: \([0-9]*\) of \([0-9]*\) done in [0-9.]* s, \([0-9]*\) left; they are kept in .*/\1 \2 \3/p' "$work/said"
}
files() { find "$GEMM_CACHE_DIR" -name "$1" | wc -l; }
processes() { sort -u "$work/builds" | wc -l; }
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "$2 instead of $3: $(grep gemm "$work/said")"; fi; }

# ---- all are foreseen, and a line says how many are left ----
cold DESKTOP_SLOW=600 DESKTOP_WAIT=1
total=$(said_of)
check cl-programs-left awk "BEGIN { exit split(\"$total\", n) != 3 || n[1] + n[3] != n[2] }"
set -- $total
is cl-programs-foreseen "${2:-none}" "$(wc -l <"$work/builds")"
is cl-programs-kept "$(files '*.clbin') $(files '*.note')" "${2:-none} 0"
is cl-programs-processes "$([ "$(processes)" -gt 1 ] && echo several)" several
mv "$work/builds" "$work/before"
pass_of
is cl-programs-again "$(grep -c '^gemm' "$work/said") $(ls "$work/builds" 2>&1 | wc -l) $([ -e "$work/builds" ] && echo built)" '0 1 '

# ---- the stand-in of a program that spills registers is built with the others ----
few=$2
CFG=tests/unit/cfg/chain.cfg cold DESKTOP_SLOW=600 DESKTOP_SPILLS='-DBK=8 -DSIZE=3'
set -- $(said_of)
is cl-programs-stand-in "${2:-none}" "$(wc -l <"$work/builds")"
is cl-programs-stand-in-there "$(cat "$GEMM_CACHE_DIR"/*.clbin | grep -ac '^options .*-DBK=4 .*-DDEPTHWISE')" 1

# ---- one process: a CPU, a folder that cannot be written, a program that cannot begin itself ----
# Each program takes so long that a child which should not be there comes in time.
cold DESKTOP_SLOW=500 DESKTOP_CPU=1
is cl-programs-cpu "$(processes) $?" '1 0'
cold DESKTOP_SLOW=500 GEMM_CACHE_DIR=/proc/nowhere
is cl-programs-unwritable "$(processes) $(grep -c 'cannot be kept in /proc/nowhere' "$work/said")" '1 1'
cold DESKTOP_SLOW=500 LD_PRELOAD="$bin/preload_no_spawn.so"
is cl-programs-no-proc "$(processes) $(files '*.clbin')" "1 $few"

# ---- a child that ends costs its program, which is left out as behind a crash of a process alone ----
for signal in 6 9; do
    cold DESKTOP_WAIT=1 DESKTOP_SIGNAL=$signal
    is cl-programs-signal-$signal "$? $(files '*.note') $(grep -c 'left out on .*: an earlier process ended while it was tried' "$work/said")" \
        "0 $(($(processes) - 1)) $(($(processes) - 1))"
done

# ---- children end behind their program when the parent has ended, and leave nothing half done ----
# The parent's own note stays, as without children.
rm -rf "$GEMM_CACHE_DIR" "$work/builds"
mkdir -m 700 "$GEMM_CACHE_DIR"
env POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable OPENCL_LAYERS="$bin/layer_desktop.so" DESKTOP_SLOW=4000 \
    "$OUT/darknet" speed "$work/few.cfg" 1 >"$work/said" 2>&1 &
parent=$!
begun() { [ -e "$work/builds" ] && [ "$(processes)" -gt 1 ] && [ "$(grep -cx "$parent" "$work/builds")" = 2 ]; }
wait_until() { tries=0; until [ $tries = 600 ] || "$@"; do sleep 0.1; tries=$((tries + 1)); done; }
ended()
{
    for child in $(grep -vx "$parent" "$work/builds"); do
        case $(ps -o stat= -p "$child") in '' | Z*) ;; *) return 1 ;; esac
    done
}
wait_until begun
kill -9 $parent
wait $parent 2>/dev/null
wait_until ended
check cl-programs-parent-ends ended
is cl-programs-parent-notes "$(files '*.note') $(files '.new-*') $(grep -vx "$parent" "$work/builds" | sort | uniq -d)" '1 0 '
is cl-programs-parent-children "$([ "$(processes)" -gt 1 ] && echo some)" some

# The argument of a child, without a parent.
is cl-programs-alone "$("$OUT/darknet" --compile-opencl-programs </dev/null 2>&1) $?" ' 0'
finish
