#!/bin/sh
# SPDX-License-Identifier: MIT
# What `cl` launches on a desktop GPU, in a network of chains and shortcuts. PoCL is the device, and
# layers of the ICD loader make it a desktop GPU.
#
#   tests/system/test_cl_desktop.sh
. tests/support/lib.sh
use_pocl || { skip cl-desktop "$no_pocl"; finish; }

bin=$OUT/tests
cfg=tests/unit/cfg/chain.cfg
export GEMM_IMPL=cl GEMM_PREPARE=first GEMM_CACHE_DIR="$work/programs"
mkdir -m 700 "$work/programs"

# on_desktop PASSES: passes of the network; its launches and set arguments go to files
on_desktop()
{
    rm -f "$work/launches" "$work/sets"
    CL_LAUNCHES=$work/launches DESKTOP_SETS=$work/sets \
        OPENCL_LAYERS=$bin/layer_launches.so:$bin/layer_desktop.so:$bin/layer_quick.so \
        timeout 300 "$OUT/darknet" speed $cfg "$1" >"$work/said" 2>&1
}

# is NAME VALUE EXPECTED
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "$2 instead of $3: $(tail -n 1 "$work/said")"; fi; }

export GEMM_CL_TRY=0
on_desktop 2
twice=$(grep -c '^cl_' "$work/launches") sets=$(wc -l <"$work/sets")
on_desktop 3
# 19 layers. Each of five depthwise layers but one is a launch with its 1x1, and of two shortcuts one
# with the chain before it. A route of two inputs is one launch.
is cl-desktop-launches "$(($(grep -c '^cl_' "$work/launches") - twice))" 13
is cl-desktop-shortcut "$(tail -n 13 "$work/launches" | grep -c '^cl_shortcut')" 1
# A chain with a shortcut behind it, and one without, have the same program.
is cl-desktop-chains "$(tail -n 13 "$work/launches" | grep -e '-DDEPTHWISE' | cut -f 2 | sort -u | wc -l)" 1
is cl-desktop-route "$(tail -n 13 "$work/launches" | grep -c '^cl_copy_two')" 2
# From the third pass on all kernel objects have their arguments.
is cl-desktop-sets "$(wc -l <"$work/sets")" "$sets"

# on_checked NAME OPTIONS LAUNCHES: the compiler spills registers of programs with these options. All
# results are right, and nothing is said to have failed. LAUNCHES, 0 or some, have the smaller tile.
on_checked()
{
    GEMM_CHECK=1 DESKTOP_SPILLS=$2 on_desktop 1
    if ! grep -q 'calls right' "$work/said"; then fail "$1" "$(tail -n 1 "$work/said")"
    elif grep -q 'spills' "$work/said"; then fail "$1" "$(grep -m 1 spills "$work/said")"
    else is "$1" "$(grep -c -e '-DBK=4 .*-DDEPTHWISE' "$work/launches" | sed 's/[1-9].*/some/')" "$3"; fi
}
# The trace says why other ways did not run, and how Winograd's algorithm compares on a CPU.
# why NAME LAYERS CFG PATTERN
why()
{
    GEMM_TRACE=$work/$1.csv OPENCL_LAYERS=$2$bin/layer_quick.so "$bin/one_pass" $3 2>"$work/said"
    check "$1" awk -F , -v wanted="$4" 'NF != 17 { exit 1 } $16 ~ wanted { ++n } END { exit !n }' "$work/$1.csv"
}
why cl-why-desktop $bin/layer_desktop.so: $cfg 'direct: for GPUs that share memory; winograd: for CPUs$'
why cl-why-cpu '' cfg/tiny.cfg '; winograd4: 0[.][0-9]+ of the tiles$'

on_checked cl-desktop-checked '' 0
on_checked cl-desktop-spilled-chain '-DBK=8 -DSIZE=3' some
on_checked cl-desktop-spilled-chains -DDEPTHWISE 0
finish
