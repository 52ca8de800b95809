#!/bin/sh
# SPDX-License-Identifier: MIT
# The OpenCL rows under Oclgrind: races, strays, misuse of the API, reads of what nothing wrote.
#
#   tests/system/test_oclgrind.sh
#
# Faults of Oclgrind 21.10, and what is done about them:
# - Its race detector sometimes aborts when a buffer is released, and it keeps the record of what
#   was written to a released buffer at the old size. So each row and shape has a process of its
#   own, which releases nothing.
# - It does not know `freeze`, an instruction of LLVM's optimizer. So reads of what nothing wrote
#   are looked for in kernels that are not optimized.
# - It cannot tell whether an image's pixels were written. So cl_image is checked in a 1x1
#   convolution, which needs no image. For images, the NaN of tests/support/layer_unwritten.c shows
#   such reads.
. tests/support/lib.sh

bin=$OUT/tests
test_cl=$bin/test_cl
export GEMM_IMPL=cl

# draw "CASE ...": `make test` takes the next one for each row, from one that the seed draws; else all
turn=${SEED:-0}
draw()
{
    drawn=$1 turn=$((turn + 1))
    [ "${TEST_ALL:-0}" != 1 ] || return 0
    set -- $1
    shift $((turn % $#))
    drawn=$1
}

# oclgrind_row NAME --sum|--conv ROW CASES CHECKS...: no findings, and right. CASES are shapes, or
# numbers of convolutions (any geometry, same size, depthwise, grouped, 1x1; 5 to 9 the same with a
# maxpool, and so on). The memory policy follows each.
oclgrind_row()
{
    title=$1 what=$2 row=$3 cases=$4
    shift 4
    for case in $cases; do
        oclgrind "$@" $test_cl $what $row ${case%?} ${case#"${case%?}"} \
            >"$work/output" 2>"$work/findings"
        status=$?
        if [ $status != 0 ] || ! grep -q "^ok [0-9]* - $row" "$work/output"; then
            fail "$title" "$case: status $status: $(tail -n 1 "$work/output" "$work/findings" | tr '\n' ' ')"
            return
        elif grep -qE 'Kernel:|^Oclgrind' "$work/findings"; then
            fail "$title" "$case: $(grep -m 1 -B 1 -E 'Kernel:|^Oclgrind' "$work/findings" | tr '\n' ' ')"
            return
        fi
    done
    pass "$title"
}

# oclgrind_layers NAME CHECKS...: one layer of each kind, in both memory policies. It releases
# buffers, so it is not for the race detector. No two items of these kernels share anything.
oclgrind_layers()
{
    title=$1
    shift
    for case in 0 1 2 3 4 5; do
        oclgrind "$@" $bin/test_packed_layers --row cl --seed 3 --case $case \
            >"$work/output" 2>"$work/findings"
        status=$?
        if [ $status != 0 ] || grep -qE 'Kernel:|^Oclgrind' "$work/findings"; then
            fail "$title" "$case: status $status: $(tail -n 1 "$work/output" "$work/findings" | tr '\n' ' ')"
            return
        fi
    done
    pass "$title"
}

# oclgrind_chains NAME CHECKS...: a depthwise layer with the 1x1 behind it, with each tile for which
# Oclgrind's device has the local memory.
oclgrind_chains()
{
    title=$1
    shift
    oclgrind "$@" $bin/test_chain --row cl --seed 8 --cases 1 >"$work/output" 2>"$work/findings"
    status=$?
    if [ $status != 0 ] || grep -qE 'Kernel:|^Oclgrind' "$work/findings" ||
        ! grep '^ok .*k64' "$work/output" | grep -qv SKIP; then
        fail "$title" "status $status: $(tail -n 1 "$work/output" "$work/findings" | tr '\n' ' ')"
    else
        pass "$title"
    fi
}

if ! command -v oclgrind >/dev/null 2>&1; then
    skip cl-oclgrind 'no oclgrind (Debian: oclgrind)'
else
    sums=$(few_or_all 33x35x34u '1x9x5u 9x10x11d 33x35x34u')
    rows='cl_naive cl_block cl_local cl_local_v4 cl_local_v8 cl_local_v16 cl_local_v4_u8 cl'
    convolving='cl_conv_wide-1x8 cl_conv_wide-4x8 cl_thin-2x1 cl_tile-8x4 cl_tile-4x4-8x4
        cl_gemv-4x1 cl_winograd2-4x8 cl_winograd4-4x8'
    checks='--data-races --check-api'
    # Here the kernels of rows are looked at, on the problems of these tests alone.
    export GEMM_CACHE_DIR=$work/oclgrind GEMM_CL_TRY=0
    for row in $rows cl_image; do
        oclgrind_row cl-oclgrind-$row --sum $row "$sums" $checks
    done
    for row in $convolving cl_image-8x4 cl_direct-8x4 cl_direct2-8x4; do
        draw '0u 1d 12u 8d 4u'
        oclgrind_row cl-oclgrind-conv-$row --conv $row "$drawn" $checks
    done
    oclgrind_layers cl-oclgrind-layers --check-api
    oclgrind_chains cl-oclgrind-chains $checks
    export OCLGRIND_BUILD_OPTIONS='-cl-opt-disable -DLOAD_BY_CALL'
    checks=--uninitialized
    export GEMM_CACHE_DIR=$work/oclgrind-plain
    for row in $rows; do
        oclgrind_row cl-oclgrind-uninitialized-$row --sum $row "$sums" $checks
    done
    for row in $convolving; do
        draw '10d 21u 22d 13u 9d'
        oclgrind_row cl-oclgrind-uninitialized-conv-$row --conv $row "$drawn" $checks
    done
    oclgrind_layers cl-oclgrind-uninitialized-layers $checks
    oclgrind_chains cl-oclgrind-uninitialized-chains $checks
    draw '0u 1d 2u 14u'
    oclgrind_row cl-oclgrind-uninitialized-conv-cl_direct-8x4 --conv cl_direct-8x4 "$drawn" $checks
    draw '4u 24d 44u'
    oclgrind_row cl-oclgrind-uninitialized-conv-cl_image-8x4 --conv cl_image-8x4 "$drawn" $checks
fi

finish
