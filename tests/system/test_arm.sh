#!/bin/sh
# SPDX-License-Identifier: MIT
# arm64 or armhf, under qemu: detections have the labels of this machine's own build, and the library
# reaches an unpatched program by each of its ways. The library of the arm64 wheel detects too.
#
#   tests/system/test_arm.sh NAME COMPILER MODELS_FOLDER OUT_OF_BUILD QEMU...
. tests/support/lib.sh
. tests/support/host.sh

name=$1 cc=$2 models=$3 arm=$4
shift 4

# ---- the library ----
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
is $name-stock-preload "$own" "$(with stock "$@" -E "$preload" "$work/loading" "$work/libhost.so")"
is $name-packed-preload "$right" "$(with packed "$@" -E "$preload" "$work/loading" "$work/libhost.so")"
is $name-packed-preload-trace '2 packed' "$(sed 1d "$work/trace" | cut -d , -f 1 | uniq -c | sed 's/^ *//')"
is $name-stock-wrap "$own" "$(with stock "$@" "$work/wrapped")"
is $name-packed-wrap "$right" "$(with packed "$@" "$work/wrapped")"

# ---- detections ----
if [ ! -f "$models/yolo-fastest-1.1.weights" ]; then
    skip labels-$name "no yolo-fastest-1.1.weights in $models (MODELS=folder)"
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
        fail "labels-$name-$image" "this machine's own build sees nothing"
    elif cmp -s "$work/arm" "$work/expected"; then
        pass "labels-$name-$image"
    else
        fail "labels-$name-$image" "$(tr '\n' ' ' <"$work/arm") instead of $(tr '\n' ' ' <"$work/expected"): $(tail -n 1 "$work/error")"
    fi
done

# ---- the wheel's library, as Python calls it ----
# Of arm64 alone. Labels become numbers, in any order.
[ $name = arm64 ] || finish
awk -v names=data/coco.names '
    BEGIN { while ((getline line <names) > 0) number[line] = n++ }
    split($0, part, ": ") == 2 && part[1] in number { print number[part[1]] ": " part[2] }' "$work/expected" |
    sort >"$work/numbers"
check wheel-$name-client $cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Isrc -isystem "$BUILD/darknet/include" \
    tests/support/python_client.c -o "$work/client" -ldl
"$@" "$work/client" "$arm/wheel/libdarknet.so" "$models/yolo-fastest-1.1.cfg" "$models/yolo-fastest-1.1.weights" \
    "data/$image.jpg" 2>"$work/error" | sort >"$work/arm"
if [ -s "$work/numbers" ] && cmp -s "$work/arm" "$work/numbers"; then
    pass wheel-$name
else
    fail wheel-$name "$(tr '\n' ' ' <"$work/arm") instead of $(tr '\n' ' ' <"$work/numbers"): $(tail -n 1 "$work/error")"
fi
finish
