#!/bin/sh
# Detections on arm64, under qemu-aarch64: the labels are those of this machine's own build.
#
#   tests/system/test_arm.sh MODELS_FOLDER COMMAND...     COMMAND runs the darknet for arm64
. tests/support/lib.sh

models=$1
shift
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
    labels "$@" >"$work/arm"
    if ! grep -q '%' "$work/expected"; then
        fail "labels-arm-$image" "this machine's own build sees nothing"
    elif cmp -s "$work/arm" "$work/expected"; then
        pass "labels-arm-$image"
    else
        fail "labels-arm-$image" "$(tr '\n' ' ' <"$work/arm") instead of $(tr '\n' ' ' <"$work/expected"): $(tail -n 1 "$work/error")"
    fi
done
finish
