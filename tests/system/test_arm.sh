#!/bin/sh
# SPDX-License-Identifier: MIT
# arm64, under qemu-aarch64: detections have the labels of this machine's own build, and the library
# reaches an unpatched program by each of its ways.
#
#   tests/system/test_arm.sh MODELS_FOLDER OUT_OF_ARM64 QEMU...
. tests/support/lib.sh
. tests/support/host.sh

models=$1 arm=$2
shift 2

# ---- the library ----
cc=aarch64-linux-gnu-gcc
build_host $cc
$cc "$work/main.o" "$work/work.o" "$work/gemm.o" $wrap "$arm/libdarknet-gemm.a" -o "$work/wrapped" -lm -ldl -pthread

# with IMPL QEMU... PROGRAM...: what it prints; the trace is left in $work/trace
with()
{
    GEMM_IMPL=$1 GEMM_TRACE=$work/trace
    export GEMM_IMPL GEMM_TRACE
    shift
    "$@" 2>&1
}
preload="LD_PRELOAD=$arm/libdarknet-gemm.so"
is arm-stock-preload "$own" "$(with stock "$@" -E "$preload" "$work/loading" "$work/libhost.so")"
is arm-packed-preload "$right" "$(with packed "$@" -E "$preload" "$work/loading" "$work/libhost.so")"
is arm-packed-preload-trace '2 packed' "$(sed 1d "$work/trace" | cut -d , -f 1 | uniq -c | sed 's/^ *//')"
is arm-stock-wrap "$own" "$(with stock "$@" "$work/wrapped")"
is arm-packed-wrap "$right" "$(with packed "$@" "$work/wrapped")"

# ---- detections ----
if [ ! -f "$models/yolo-fastest-1.1.weights" ]; then
    skip labels-arm "no yolo-fastest-1.1.weights in $models (MODELS=folder)"
    finish
fi

# labels COMMAND...: what it prints about $image, but for the time
labels()
{
    "$@" detect "$models/yolo-fastest-1.1.cfg" "$models/yolo-fastest-1.1.weights" "data/$image.jpg" 2>"$work/error" |
        grep -v 'Predicted in'
}

for image in dog person; do
    labels ./darknet >"$work/expected"
    labels "$@" "$arm/darknet" >"$work/arm"
    if ! grep -q '%' "$work/expected"; then
        fail "labels-arm-$image" "this machine's own build sees nothing"
    elif cmp -s "$work/arm" "$work/expected"; then
        pass "labels-arm-$image"
    else
        fail "labels-arm-$image" "$(tr '\n' ' ' <"$work/arm") instead of $(tr '\n' ' ' <"$work/expected"): $(tail -n 1 "$work/error")"
    fi
done
finish
