#!/bin/sh
# The OpenCL rows where things go wrong or are different: devices, the cache, layers, Oclgrind.
#
#   tests/system/test_cl.sh UNTRAINED_WEIGHTS
#
# Needs PoCL; each part that needs more says SKIP without it.
. tests/support/lib.sh

weights=$(realpath "$1")
bin=$OUT/tests
test_cl=$bin/test_cl
darknet_folder "$work/here"

detect() { (cd "$work/here" && ./darknet detect cfg/yolov3-tiny.cfg "$weights" data/kite.jpg); }

# expect NAME MESSAGE COMMAND...: ends well and says MESSAGE (a fixed string)
expect()
{
    name=$1 message=$2
    shift 2
    if ! "$@" >"$work/output" 2>&1 </dev/null; then
        fail "$name" "failed: $(tail -n 2 "$work/output" | tr '\n' ' ')"
    elif ! grep -qF -- "$message" "$work/output"; then
        fail "$name" "no '$message' in: $(tail -n 2 "$work/output" | tr '\n' ' ')"
    else
        pass "$name"
    fi
}

# ---- devices ----
export GEMM_IMPL=cl
OCL_ICD_VENDORS=/nonexistent expect_failure cl-no-platform 'no OpenCL device on this machine' detect
OCL_ICD_VENDORS=/nonexistent GEMM_IMPL=auto expect cl-no-platform-auto 'Predicted in' detect
OCL_ICD_VENDORS=/nonexistent GEMM_IMPL=hybrid \
    expect_failure hybrid-no-platform 'no OpenCL device on this machine' detect
for device in gpu 0:7 7:0 0: 0:0x Radeon; do
    GEMM_CL_DEVICE=$device expect_failure "cl-device-$device" \
        "GEMM_CL_DEVICE=$device: no such OpenCL device; allowed are gpu, cpu, or the number" detect
done
for device in cpu 0:0; do
    GEMM_CL_DEVICE=$device expect "cl-device-$device" 'Predicted in' detect
done
# A part of the name, as the message has it, in other letters: HASWELL of pthread-haswell-AMD EPYC.
name=$(GEMM_CL_DEVICE=7:0 detect 2>&1 | sed -n 's/.*a part of the name of 0:0 \([^,(]*\).*/\1/p')
part=$(echo "${name#*-}" | cut -c 1-7 | tr '[:lower:]' '[:upper:]')
GEMM_CL_DEVICE=${part:-none} expect cl-device-part-of-name 'Predicted in' detect

# ---- kernels that do not compile ----
GEMM_CACHE_DIR=$work/none CL_BREAK_SOURCE=1 OPENCL_LAYERS=$bin/layer_fail.so \
    expect_failure cl-broken-kernel 'cannot be built for' detect
for said in 'does not compile with -cl-fast-relaxed-math' 'broken by the layer'; do
    if grep -qF -- "$said" "$work/output"; then
        pass "cl-broken-kernel-says-$(echo "$said" | cut -d' ' -f1)"
    else
        fail "cl-broken-kernel-says-$(echo "$said" | cut -d' ' -f1)" "no '$said'"
    fi
done

printf '#include "cl_missing.h"\n' >"$work/lost.cl"
expect_failure cl-include-missing "lost.cl:1: no $work/cl_missing.h" kernels/embed.sh "$work/lost.cl"

# ---- the cache ----
export GEMM_CACHE_DIR=$work/cache
GEMM_CACHE_DIR=/proc/nowhere \
    expect cl-cache-unwritable 'compiled programs cannot be kept in /proc/nowhere' detect
expect cl-cache-filled 'Predicted in' detect
file=$(ls "$work"/cache/cl_conv_wide-*.clbin 2>/dev/null | head -n 1)
if [ -z "$file" ]; then
    fail cl-cache-file 'no cl_conv_wide-*.clbin was written'
else
    pass cl-cache-file
    cp "$file" "$work/good"
    cut_short() { head -c 2000 "$work/good" >"$file"; }
    one_byte() { head -c -1 "$work/good" >"$file"; printf 'x' >>"$file"; }
    other_driver() { sed '3s/.*/driver 0.0 of somebody/' "$work/good" >"$file"; }
    no_header() { echo 'hello' >"$file"; }
    empty() { : >"$file"; }
    for damage in 'cut_short:it is cut short' 'one_byte:it is damaged' \
        'other_driver:it is of another driver' 'no_header:it is not what it should be' \
        'empty:it cannot be read'; do
        ${damage%%:*}
        expect "cl-cache-${damage%%:*}" "${damage#*:}" detect
        if cmp -s "$file" "$work/good" || [ "$(wc -c <"$file")" -gt 2000 ]; then
            pass "cl-cache-${damage%%:*}-rebuilt"
        else
            fail "cl-cache-${damage%%:*}-rebuilt" 'the file is as bad as before'
        fi
    done
    before=$(ls -l --time-style=full-iso "$file")
    detect >"$work/output" 2>&1
    after=$(ls -l --time-style=full-iso "$file")
    if [ "$before" = "$after" ] && ! grep -q gemm_cl "$work/output"; then
        pass cl-cache-used
    else
        fail cl-cache-used 'a good file was written anew, or something was said'
    fi
fi
if ls "$work"/cache/.new-* >/dev/null 2>&1; then
    fail cl-cache-temporary 'a temporary file is left'
else
    pass cl-cache-temporary
fi

# ---- a long compilation is said once, and never when the cache is warm ----
# compilations: how often a detection says that it compiles, when each build takes 0.6 s longer
compilations()
{
    GEMM_CACHE_DIR=$work/cold CL_SLOW_BUILD=600 OPENCL_LAYERS=$bin/layer_fail.so detect 2>&1 |
        grep -c "^gemm_cl: compiling OpenCL programs for .*; they are kept in $work/cold\$"
}
for cache in cold:1 warm:0; do
    times=$(compilations)
    if [ "$times" = "${cache#*:}" ]; then
        pass "cl-compiling-${cache%:*}"
    else
        fail "cl-compiling-${cache%:*}" "said $times times instead of ${cache#*:}"
    fi
done

# ---- layers: an Adreno's limits; one call after another fails; unwritten memory is NaN ----
# under LAYER NAME ARGUMENTS...: the tests of test_cl through the sed script $filter, NAME in front.
# layer_quick.so keeps no program, so none comes from another device's cache.
under()
{
    layer=$1 name=$2
    shift 2
    OPENCL_LAYERS=$bin/layer_$layer.so:$bin/layer_quick.so $test_cl "$@" >"$work/$name" 2>&1
    status=$?
    [ $status -le 1 ] || fail "$name" "status $status: $(tail -n 1 "$work/$name")"
    sed "${filter:-}" "$work/$name" | relay "$name-"
}
# This one waits more than it works: its results are printed at the end.
under unwritten unwritten --cases 8 >"$work/unwritten-reports" &
unwritten=$!
under adreno adreno --cases 12
filter='s/ # SKIP machine: the OpenCL device has less local memory.*/-says-why-not/'
ADRENO_LOCAL=8192 under adreno adreno330 --small
# A driver that does not say how much local memory a kernel takes.
ADRENO_SILENT=1 under adreno adreno-silent --row cl_winograd4-8x32 --small
filter=
# cl_half_fast, with arithmetic of 32 bits.
ADRENO_FP16=1 under adreno adreno-fp16 --row half --cases 12
# The tile by the model, and a smaller one where the compiler spills.
for case in 640::8x4 610::4x4 740::8x8 740:-DCOLS=8:8x4 740:-DROWS=8:4x4; do
    model=${case%%:*} spills=${case#*:} tile=${case##*:}
    ADRENO_MODEL=$model ADRENO_SPILLS=${spills%:*} OPENCL_LAYERS=$bin/layer_adreno.so \
        expect "cl-tile-on-A$model-${spills%:*}" "cl_image $tile group" $test_cl --tile
done
OPENCL_LAYERS=$bin/layer_adreno.so GEMM_CHECK=1 expect cl-adreno-detect 'Predicted in' detect

# ---- hybrid: three detections in one process, so that layers find what is kept for them ----
shared_detections()
{
    (cd "$work/here" && for i in 1 2 3; do echo data/kite.jpg; done |
        GEMM_IMPL=hybrid GEMM_CHECK=1 GEMM_TRACE=$work/shared.csv \
            ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights)
}
expect hybrid-detect 'calls right, worst error' shared_detections
if grep -q '^cl_conv_wide 0\.[0-9]* + packed,' "$work/shared.csv"; then
    pass hybrid-detect-shares
else
    fail hybrid-detect-shares "no layer was shared: $(sed -n 2p "$work/shared.csv")"
fi

# ---- faults, and waits ----
OPENCL_LAYERS=$bin/layer_fail.so $test_cl --faults | relay
OPENCL_LAYERS=$bin/layer_fail.so $test_cl --waits | relay

# ---- Oclgrind: races, strays, misuse of the API, reads of what nothing wrote ----
# Faults of Oclgrind 21.10, and what is done about them:
# - Its race detector sometimes aborts when a buffer is released, and it keeps the record of what
#   was written to a released buffer at the old size. So each row and shape has a process of its
#   own, which releases nothing.
# - It does not know `freeze`, an instruction of LLVM's optimizer. So reads of what nothing wrote
#   are looked for in kernels that are not optimized.
# - It cannot tell whether an image's pixels were written. So cl_image is checked in a 1x1
#   convolution, which needs no image. For images, the NaN of tests/support/layer_unwritten.c shows
#   such reads.

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
    oclgrind "$@" $bin/test_chain --row cl --seed 3 --cases 1 >"$work/output" 2>"$work/findings"
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
    sums='1x9x5u 9x10x11d 33x35x34u'
    rows='cl_naive cl_block cl_local cl_local_v4 cl_local_v8 cl_local_v16 cl_local_v4_u8 cl'
    convolving='cl_conv_wide-1x8 cl_conv_wide-4x8 cl_thin-2x1 cl_tile-8x4 cl_tile-4x4-8x4
        cl_gemv-4x1 cl_winograd2-4x8 cl_winograd4-4x8'
    checks='--data-races --check-api'
    export GEMM_CACHE_DIR=$work/oclgrind
    for row in $rows cl_image; do
        oclgrind_row cl-oclgrind-$row --sum $row "$sums" $checks
    done
    for row in $convolving cl_image-8x4; do
        oclgrind_row cl-oclgrind-conv-$row --conv $row '0u 1d 12u 8d 4u' $checks
    done
    oclgrind_layers cl-oclgrind-layers --check-api
    oclgrind_chains cl-oclgrind-chains $checks
    checks='--build-options -cl-opt-disable --uninitialized'
    export GEMM_CACHE_DIR=$work/oclgrind-plain
    for row in $rows; do
        oclgrind_row cl-oclgrind-uninitialized-$row --sum $row "$sums" $checks
    done
    for row in $convolving; do
        oclgrind_row cl-oclgrind-uninitialized-conv-$row --conv $row '10d 21u 22d 13u 9d' $checks
    done
    oclgrind_layers cl-oclgrind-uninitialized-layers $checks
    oclgrind_chains cl-oclgrind-uninitialized-chains $checks
    oclgrind_row cl-oclgrind-uninitialized-conv-cl_image-8x4 --conv cl_image-8x4 '4u 24d 14u' $checks
fi

wait $unwritten
cat "$work/unwritten-reports"

finish
