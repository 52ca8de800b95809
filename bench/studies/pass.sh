#!/bin/sh
# SPDX-License-Identifier: MIT
# The launches of one pass of a network under `cl`, as an Adreno would get them:
#
#   bench/studies/pass.sh DARKNET LAYERS CFG [ADRENO_DEVICE]
#
# DARKNET is the patched program, LAYERS the folder of layer_launches.so and layer_adreno.so. PoCL
# runs the kernels, and layer_adreno answers as ADRENO_DEVICE (640 by default). Prints the lines of
# tests/support/layer_launches.c of the second pass: what two passes launch, less what the first
# one does. Of the arguments it prints the first 25, of the options none of the arithmetic. The
# weights are drawn.
set -eu
export LC_ALL=C
darknet=$1 layers=$2 cfg=$3 device=${4:-640}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

for passes in 1 2; do
    : >"$work/launches$passes"
    GEMM_IMPL=cl GEMM_CL_TRY=0 GEMM_PREPARE=second CL_LAUNCHES=$work/launches$passes ADRENO_DEVICE=$device \
        OPENCL_LAYERS=$layers/layer_launches.so:$layers/layer_adreno.so:$layers/layer_quick.so \
        "$darknet" speed "$cfg" $passes >"$work/said" 2>&1 || {
        echo "pass.sh: $cfg cannot run under cl:" >&2
        tail -n 3 "$work/said" >&2
        exit 1
    }
done
# Waits before the first launch are those of the weights, and those behind the last one are of the
# end of the program too: a pass waits at its end as often as the first one does before the second.
first=$(grep -c '^cl_' "$work/launches1") || :
both=$(grep -c '^cl_' "$work/launches2") || :
if [ "$both" -le "$first" ]; then
    echo "pass.sh: the second pass of $cfg launches nothing" >&2
    exit 1
fi
awk -F '\t' -v first="$first" -v both="$both" '
    /^cl_/ {
        if (++launches <= first) next
        gsub(/-cl-[a-z-]+ */, "", $2)           # the same in all of them
        line = $1
        for (i = 2; i <= NF && i <= 33; ++i) line = line "\t" $i
        print line
        next
    }
    launches >= first && launches < both { print }' "$work/launches2"
