#!/bin/sh
# SPDX-License-Identifier: MIT
# GEMM_IMPL=packed_int8 on the demonstration network, with scales written by hand. Files of scales that are
# missing, malformed, or made for other weights end with one line.
. tests/support/lib.sh

darknet_folder "$work/here"
cd "$work/here" || exit 1
detect="./darknet detect $root/cfg/kite-demo.cfg $root/cfg/kite-demo.weights data/kite.jpg"

# unset_steps ROW REASON
unset_steps()
{
    expect_failure "unset-$1" "gemm: GEMM_IMPL=$1 cannot run here: $2" env GEMM_IMPL=$1 $detect
    expect "listed-$1" "$1	unusable: $2" "$root/gemm-bench" --list
}
names='GEMM_INT8 names no file of steps; make calibrate '
unset_steps packed_int8 "$names"
# What the build or the device lacks comes before the setting.
lacks=$("$root/gemm-bench" --list | sed -n 's/^cl\tunusable: \([^\t]*\).*/\1/p')
unset_steps cl_int8 "${lacks:-$names}"
export GEMM_IMPL=packed_int8
expect_failure no-name "gemm: GEMM_INT8='' names no file" env GEMM_INT8= $detect
expect_failure missing "gemm: GEMM_INT8: none.int8: No such file" env GEMM_INT8=none.int8 $detect
mkdir directory
expect_failure directory "gemm: GEMM_INT8: directory: Is a directory" env GEMM_INT8=directory $detect
: >empty.int8
expect_failure empty "gemm: GEMM_INT8: empty.int8: the first line has to be: gemm-int8 3 LAYERS; make calibrate makes a new one" env GEMM_INT8=empty.int8 $detect
printf 'gemm-int8 2 1\nlayer 0123456789abcdef 16 1 27 twice 0 - -\n' >bad.int8
echo 'gemm-int8 1' >older.int8
expect_failure older "gemm: GEMM_INT8: older.int8:1: the version is '1', allowed are 2 and 3; make calibrate makes a new one" \
    env GEMM_INT8=older.int8 $detect
expect_failure malformed "gemm: GEMM_INT8: bad.int8:2: SCALE 'twice' is neither fp32 nor a number from" \
    env GEMM_INT8=bad.int8 $detect
expect_failure malformed-for-another-row "bad.int8:2: SCALE 'twice'" env GEMM_IMPL=packed GEMM_INT8=bad.int8 $detect
printf 'gemm-int8 2 1\nlayer 0123456789abcdef 16 1 27 fp32 0 - -\n' >other.int8
expect_failure other-weights \
    "gemm: GEMM_INT8=other.int8 was made for other weights: no layer of 8 filters, K 27 has the fingerprint " \
    env GEMM_INT8=other.int8 $detect

# A file that fits, from what the line says of each layer in turn. Every layer but the first has a scale.
# with_head FILE: its lines behind their number
with_head() { echo "gemm-int8 3 $(wc -l <"$1")" && cat "$1"; }
: >layers
with_head layers >demo.int8
scale=fp32 left=40
while [ $left -gt 0 ] && ! GEMM_INT8=demo.int8 $detect >output 2>error; do
    sed -n "s/.* no layer of \([0-9]*\) filters, K \([0-9]*\) has the fingerprint \([0-9a-f]*\) .*/layer \3 \1 1 \2 $scale -30 - -/p" \
        error >>layers
    with_head layers >demo.int8
    scale=0.05 left=$((left - 1))
done
known=$(grep -c '^layer' demo.int8)
[ "$left" -gt 0 ] && [ "$known" -ge 7 ] && pass scales-by-hand || fail scales-by-hand "$known layers: $(tail -n 1 error)"

# Every layer is right, and most of them are in 8 bits: whole numbers, and the floats behind them.
for isa in $(GEMM_ISA=none $detect 2>&1 | sed -n 's/.*they have: //p'); do
    GEMM_ISA=$isa GEMM_INT8=demo.int8 GEMM_CHECK=1 GEMM_TRACE=trace.csv $detect >output 2>error
    checked=$(sed -n 's/^gemm: GEMM_CHECK: \([0-9]*\) calls right, .*/\1/p' error)
    [ "${checked:-0}" -ge 7 ] && pass "checked-$isa" || fail "checked-$isa" "$(tail -n 1 error)"
    layers=$(grep -c ',int8,' trace.csv)
    [ "$layers" -ge 6 ] && pass "layers-in-int8-$isa" || fail "layers-in-int8-$isa" "$layers layers of the trace"
done
# The trace says why a layer is in 8 bits or not.
check why-in-8 [ "$(grep -c ',int8,,GEMM_INT8 has it in 8 bits,' trace.csv)" = "$(grep -c ',int8,,' trace.csv)" ]
check why-in-32 grep -q ',[a-z]*,,int8: GEMM_INT8 has it in fp32' trace.csv

# The OpenCL device gives the same outputs.
GEMM_INT8=demo.int8 $detect 2>error | sed 's/: Predicted in .*//' >expected
GEMM_IMPL=cl_int8 GEMM_INT8=demo.int8 GEMM_CHECK=1 GEMM_TRACE=trace.csv $detect 2>error |
    sed 's/: Predicted in .*//' >output
if cmp -s expected output && grep -q %$ output && [ "$(grep -c '^cl_int8_wide .*,int8,' trace.csv)" -ge 6 ]; then
    pass cl_int8-as-packed_int8
else
    fail cl_int8-as-packed_int8 "$(tail -n 1 error): $(diff expected output | head -n 3)"
fi

# GEMM_CONV=im2col has no layers: every multiply is that of packed.
expect_nothing_of_int8()
{
    GEMM_CONV=im2col GEMM_INT8=demo.int8 GEMM_TRACE=trace.csv $detect >output 2>error
    if [ $? = 0 ] && [ "$(grep -c '^packed_int8,' trace.csv)" -ge 7 ] && ! grep -q ',int8,' trace.csv; then
        pass im2col-in-single-precision
    else
        fail im2col-in-single-precision "$(tail -n 1 error) $(tail -n 1 trace.csv)"
    fi
}
expect_nothing_of_int8

finish
