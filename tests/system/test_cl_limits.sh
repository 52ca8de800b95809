#!/bin/sh
# SPDX-License-Identifier: MIT
# The OpenCL rows on devices with other limits, and on one whose unwritten memory is NaN. PoCL is the
# device, and layers of the ICD loader make it another one.
#
#   tests/system/test_cl_limits.sh UNTRAINED_WEIGHTS
#
# Needs PoCL. It uses what test_cl and test_cl_checks have compiled before it: PoCL keeps that.
. tests/support/lib.sh
use_pocl || { skip cl-limits "$no_pocl"; finish; }

cfg=cfg/$(few_or_all kite-demo yolov3-tiny).cfg
weights=$(few_or_all "$root/cfg/kite-demo.weights" "$(realpath "$1")")
bin=$OUT/tests
tile() { "$bin/test_cl_checks" --tile; }
darknet_folder "$work/here"
export GEMM_IMPL=cl GEMM_CACHE_DIR="$work/quick"

detect() { (cd "$work/here" && timeout 300 ./darknet detect $cfg "$weights" data/kite.jpg); }

# under LAYER NAME PROGRAM ARGUMENTS...: its tests through the sed script $filter, NAME in front
under()
{
    layer=$1 name=$2 program=$3
    shift 3
    OPENCL_LAYERS=$bin/layer_$layer.so:$bin/layer_quick.so plain "$bin/$program" --seed ${SEED:-1} "$@" >"$work/$name" 2>&1
    status=$?
    [ $status -le 1 ] || fail "$name" "status $status: $(tail -n 1 "$work/$name")"
    sed "${filter:-}" "$work/$name" | relay "$name-"
}
# This one waits more than it works: its results are printed at the end.
{
    under unwritten unwritten test_cl --cases $(few_or_all 4 8)
    under unwritten unwritten test_cl_checks
} >"$work/unwritten-reports" &
unwritten=$!
under adreno adreno test_cl --cases $(few_or_all 4 12)
under adreno adreno test_cl_checks
filter='s/ # SKIP machine: the OpenCL device has less local memory.*/-says-why-not/'
ADRENO_LOCAL=8192 under adreno adreno330 test_cl --small --cases $(few_or_all 4 60)
ADRENO_LOCAL=8192 under adreno adreno330 test_cl_checks --small
# A driver that does not say how much local memory a kernel takes.
ADRENO_SILENT=1 under adreno adreno-silent test_cl --row cl_winograd4-8x32 --small --cases $(few_or_all 4 60)
filter=
# Built kernels with small groups, on a GPU on a bus and on an Adreno.
for items in 1 20 64; do
    STRICT_GROUP=$items under strict strict-$items test_cl_checks --groups
    STRICT_GROUP=$items under adreno.so:$bin/layer_strict strict-adreno-$items test_cl_checks --groups
done
# cl_half_fast, with arithmetic of 32 bits.
ADRENO_DEVICE=640 under adreno adreno-fp16 test_cl --row half --cases $(few_or_all 6 12)
# The tile by the model, and a smaller one where the compiler spills.
for case in 640::8x4 610::4x4 735::8x8 735:-DCOLS=8:8x4 735:-DROWS=8:4x4; do
    model=${case%%:*} spills=${case#*:} tile=${case##*:}
    ADRENO_DEVICE=$model ADRENO_SPILLS=${spills%:*} OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so \
        expect "cl-tile-on-A$model-${spills%:*}" "cl_image $tile group" tile
done
# Where all choices spill, the first one runs. A row that the user named does not.
ADRENO_SPILLS=-DROWS OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so \
    expect cl-tile-all-spill 'cl_image 8x4 group 16x8 spills 64' tile
ADRENO_SPILLS=-DROWS OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so GEMM_IMPL=cl_image expect_failure \
    cl-row-spills 'GEMM_IMPL=cl_image cannot run here: the OpenCL compiler spills' detect
# A row that the user named takes its smaller tile.
named()
{
    rm -f "$work/named.csv"
    (cd "$work/here" && GEMM_IMPL=$1 GEMM_CHECK=1 GEMM_TRACE=$work/named.csv ./darknet speed cfg/kite-demo.cfg 1) &&
        grep -o "$1 [0-9]*x4" "$work/named.csv" | sort -u
}
for row in cl_image cl_direct; do
    ADRENO_SPILLS=-DROWS=8 OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so \
        expect "cl-row-smaller-$row" "$row 4x4" named $row
    if grep -q "$row 8x4" "$work/output"; then fail "cl-row-smaller-$row-only" 'it ran 8x4 too'; fi
done
OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so GEMM_CHECK=1 expect cl-adreno-detect 'Predicted in' detect
# No launch for an image of the taps: 13 convolutions and 8 launches of other layers. Small inputs would
# cut K into parts, which takes more.
for device in 640 740 830; do
    ADRENO_DEVICE=$device OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so:$bin/layer_fail.so \
        "$bin/test_cl_layers" --launches 21 cfg/yolov3-tiny.cfg 2>/dev/null | relay "adreno-$device-"
done
# Whole detections by a long driver text, without a model, twice, and by Mesa's limits. test_cl_devices
# has all devices.
for device in 650 QCS8550 X2-90 FD630; do
    ADRENO_DEVICE=$device OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so \
        expect "cl-detect-on-$device" 'Predicted in' detect
done
# Texts longer than any buffer are kept whole, so the second run finds its programs.
long_texts()
{
    GEMM_CACHE_DIR=$work/long ADRENO_DEVICE=long OPENCL_LAYERS=$bin/layer_adreno.so \
        ./gemm-bench --impl cl -s 64,64,64 --samples 3
}
check cl-long-texts long_texts
if long_texts 2>&1 | grep '^gemm_cl'; then
    fail cl-long-texts-kept 'a program was not kept'
elif ls "$work"/long/*.clbin >/dev/null 2>&1; then
    pass cl-long-texts-kept
else
    fail cl-long-texts-kept 'nothing was kept'
fi
for shown in '650:QUALCOMM Adreno(TM) 650, driver' 'FD630:FD630 (Adreno 630), driver 25.0.7-2'; do
    ADRENO_DEVICE=${shown%%:*} OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so \
        expect "cl-list-on-${shown%%:*}" "; on ${shown#*:}" ./gemm-bench --list
done

# im2col writes where an image can lie, so that nothing of B is copied: rows of 1x1 layers aside,
# whose B is the layer's input.
OPENCL_LAYERS=$bin/layer_adreno.so:$bin/layer_quick.so GEMM_IMPL=cl_image GEMM_CONV=im2col GEMM_CHECK=1 \
    GEMM_TRACE=$work/im2col.csv expect cl-image-im2col-detect 'calls right, worst error' detect
copied=$(awk -F, 'NR > 1 && $6 % 9 == 0 { ++rows; bytes += $10 + $11 + $12 }
    END { print rows + 0, bytes + 0 }' "$work/im2col.csv")
if [ "$copied" = "$(grep -c '^size=3' $cfg) 0" ]; then
    pass cl-image-im2col-copies-nothing
else
    fail cl-image-im2col-copies-nothing "3x3 layers and bytes copied: $copied"
fi

wait $unwritten
cat "$work/unwritten-reports"

finish
