#!/bin/sh
# SPDX-License-Identifier: MIT
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

detect() { (cd "$work/here" && timeout 300 ./darknet detect cfg/yolov3-tiny.cfg "$weights" data/kite.jpg); }

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
OCL_ICD_VENDORS=/nonexistent expect_failure cl-no-platform \
    'no OpenCL device on this machine: libOpenCL.so.1 has no platform; ' detect
for tried in libOpenCL.so /vendor/lib64/libOpenCL.so /system/vendor/lib64/libOpenCL.so \
    libOpenCL_adreno.so.1; do
    if grep -qF "; $tried" "$work/output"; then
        pass "cl-no-platform-says-$tried"
    else
        fail "cl-no-platform-says-$tried" "$(cat "$work/output")"
    fi
done
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

# ---- where OpenCL's library is ----
opencl=$(ldconfig -p | awk '/libOpenCL\.so\.1 / { print $NF; exit }')
mkdir "$work/lib"
fake=$work/lib/libOpenCL.so.1
GEMM_CL_LIBRARY=$work/none.so expect_failure cl-library-missing \
    "GEMM_CL_LIBRARY=$work/none.so cannot be used: $work/none.so: cannot open" detect
GEMM_CL_LIBRARY=libm.so.6 expect_failure cl-library-other \
    'GEMM_CL_LIBRARY=libm.so.6 cannot be used: libm.so.6 has no clBuildProgram' detect
GEMM_CL_LIBRARY=$bin/fake_opencl.so expect_failure cl-library-empty \
    "GEMM_CL_LIBRARY=$bin/fake_opencl.so cannot be used: $bin/fake_opencl.so has no platform" detect
GEMM_CL_LIBRARY=$opencl expect cl-library-named 'Predicted in' detect
# A library without a platform, or without a function, is no reason to stop.
for file in "$bin/fake_opencl.so" "$(ldconfig -p | awk '/libm\.so\.6 / { print $NF; exit }')"; do
    ln -sf "$file" "$fake"
    ln -sf "$opencl" "$work/lib/libOpenCL_adreno.so.1"
    ln -sf "$file" "$work/lib/libOpenCL.so"
    LD_LIBRARY_PATH=$work/lib expect "cl-library-next-$(basename "$file")" 'Predicted in' detect
done
rm "$work"/lib/*
# Android's loader for a vendor's driver, where dlopen does not get it.
for name in libOpenCL.so.1 libOpenCL.so; do echo 'no library' >"$work/lib/$name"; done
ln -sf "$bin/fake_opencl.so" "$work/lib/libvndksupport.so"
FAKE_VENDOR=$opencl LD_LIBRARY_PATH=$work/lib \
    expect cl-library-vendor 'the vendor loads libOpenCL.so.1' detect
LD_LIBRARY_PATH=$work/lib expect_failure cl-library-vendor-none \
    "no OpenCL device on this machine: $work/lib/libOpenCL.so.1: " detect

# ---- PoCL, where it cannot write ----
why='Portable Computing Language has no device, because it cannot write its folder'
POCL_CACHE_DIR=/proc/nowhere expect_failure cl-pocl-unwritable "$why /proc/nowhere (" detect
(unset POCL_CACHE_DIR XDG_CACHE_HOME
    HOME=/proc/nowhere expect_failure cl-pocl-home "$why /proc/nowhere/.cache/pocl/kcache (" detect
    XDG_CACHE_HOME=/proc/other expect_failure cl-pocl-xdg "$why /proc/other/pocl/kcache (" detect)
if grep -q 'no OpenCL device' "$work/output"; then
    fail cl-pocl-unwritable-only 'the wrong reason was said too'
else
    pass cl-pocl-unwritable-only
fi

# ---- kernels that do not compile ----
GEMM_CACHE_DIR=$work/none CL_BREAK_SOURCE=1 OPENCL_LAYERS=$bin/layer_fail.so \
    expect_failure cl-broken-kernel 'is left out on' detect
for said in 'does not compile with -cl-mad-enable' 'broken by the layer'; do
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
    fifo() { rm "$file" && mkfifo "$file"; }
    open_to_all() { cp "$work/good" "$file" && chmod 666 "$file"; }
    large() { rm "$file" && truncate -s 12G "$file"; }
    for damage in 'cut_short:it is cut short' 'one_byte:it is damaged' \
        'other_driver:it is of another driver' 'no_header:it is not what it should be' \
        'empty:it cannot be read' 'fifo:it is no regular file' 'open_to_all:others may write it' \
        'large:it is larger than 64 MiB'; do
        ${damage%%:*}
        expect "cl-cache-${damage%%:*}" "${damage#*:}" detect
        if [ ! -p "$file" ] && [ "$(stat -c '%a' "$file")" = 600 ] && [ "$(stat -c %s "$file")" -lt 9999999 ] &&
            { cmp -s "$file" "$work/good" || [ "$(wc -c <"$file")" -gt 2000 ]; }; then
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

# ---- programs that a faulty compiler makes ----
# A detection of a small network under layer_faulty.so, whose results are checked.
faulty()
{
    (cd "$work/here" && OPENCL_LAYERS=$bin/layer_faulty.so GEMM_CHECK=1 CL_SAY_BUILDS=1 \
        ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg)
}
# lines NAME COUNT TEXT: the last output has so many lines with TEXT
lines()
{
    count=$(grep -c -- "$3" "$work/output")
    if [ "$count" = "$2" ]; then pass "$1"; else fail "$1" "$count lines of '$3' instead of $2"; fi
}
cache() { export GEMM_CACHE_DIR="$work/$1"; }

GEMM_CACHE_DIR=$work/trials OPENCL_LAYERS=$bin/layer_faulty.so $bin/test_cl_trials | relay

# One that is wrong: the next choice runs, and the next process tries nothing again.
cache wrong
export CL_MUTATE='cl_conv_wide|r->y = r->tap = 0|r->y = r->tap = 1'
expect cl-wrong-next-choice 'calls right, worst error' faulty
lines cl-wrong-said "$(find "$GEMM_CACHE_DIR" -name 'cl_conv_wide-*.note' | wc -l)" \
    '^gemm_cl: kernels/cl_conv_wide.cl is left out on .*: it gives wrong results'
expect cl-wrong-known "(remove $GEMM_CACHE_DIR/cl_conv_wide-" faulty
lines cl-wrong-not-built-again 0 'layer_faulty: builds'
note=$(find "$GEMM_CACHE_DIR" -name 'cl_conv_wide-*.note' | head -n 1)
echo hello >"$note"
expect cl-note-damaged "cache file $note is not used, it is not what it should be" faulty
lines cl-note-damaged-tried-again 1 'layer_faulty: builds'
if grep -q 'it gives wrong results' "$note"; then
    pass cl-note-damaged-remade
else
    fail cl-note-damaged-remade 'the note is as bad as before'
fi
GEMM_IMPL=cl_naive CL_MUTATE='cl_naive|k < K|k < K - 1' expect_failure cl-wrong-row \
    'GEMM_IMPL=cl_naive cannot run here: kernels/cl_naive.cl is left out on' faulty
lines cl-wrong-row-one-line 1 'cl_naive.cl is left out'
GEMM_IMPL=cl_naive CL_MUTATE='cl_naive|k < K|k < K - 1' GEMM_CL_TRY=0 \
    expect_failure cl-wrong-untried 'GEMM_CHECK: cl_naive is wrong' faulty
GEMM_CACHE_DIR= HOME= XDG_CACHE_HOME= expect cl-wrong-without-folder 'calls right, worst error' faulty
unset CL_MUTATE

# Builds that end the process: each start leaves out one more, until it runs.
cache aborts
export CL_ABORT_BUILD=cl_maxpool
starts=0
while faulty >"$work/output" 2>&1; [ $? = 134 ] && [ $starts -lt 9 ]; do starts=$((starts + 1)); done
if [ $starts -gt 0 ] && grep -q 'calls right, worst error' "$work/output"; then
    pass cl-abort-left-out
else
    fail cl-abort-left-out "$starts starts were aborted: $(tail -n 2 "$work/output" | tr '\n' ' ')"
fi
lines cl-abort-said $starts 'cl_maxpool.cl is left out on .*: an earlier process ended while it was'
unset CL_ABORT_BUILD
rm -f "$GEMM_CACHE_DIR"/*.note
expect cl-abort-removed-note 'calls right, worst error' faulty
lines cl-abort-tried-again $starts 'layer_faulty: builds'

# Builds that fail are not tried again by every process.
cache fails
export CL_FAIL_BUILD=cl_maxpool
expect cl-fail-next-choice 'calls right, worst error' faulty
lines cl-fail-said 1 '^gemm_cl: kernels/cl_maxpool.cl is left out on .*: it cannot be built'
faulty >"$work/output" 2>&1
expect cl-fail-known 'calls right, worst error' faulty
lines cl-fail-not-built-again 0 'layer_faulty: builds'
unset CL_FAIL_BUILD

# Two processes at the same time, on an empty cache.
cache both
faulty >"$work/other" 2>&1 &
expect cl-two-processes 'calls right, worst error' faulty
wait $!
if grep -q 'calls right, worst error' "$work/other" &&
    ! ls "$GEMM_CACHE_DIR"/*.note >/dev/null 2>&1 && ! grep -q 'left out' "$work/other"; then
    pass cl-two-processes-other
else
    fail cl-two-processes-other "$(tail -n 2 "$work/other" | tr '\n' ' ')"
fi
cache cache

# ---- a long compilation is said once in a run with a trace, and never when the cache is warm ----
# compilations [VARIABLE=VALUE]: how often a detection says that it compiles, when each build takes
# 0.6 s longer
compilations()
{
    (export GEMM_CACHE_DIR="$work/cold" CL_SLOW_BUILD=600 OPENCL_LAYERS="$bin/layer_fail.so" "$@"; detect) 2>&1 |
        grep -c "^gemm_cl: compiling OpenCL programs"
}
rm -rf "$work/cold"
times=$(compilations GEMM_CACHE_DIR="$work/silent")
if [ "$times" = 0 ] && [ -d "$work/silent" ]; then pass cl-compiling-silent; else fail cl-compiling-silent "said $times times"; fi
for cache in cold:1 warm:0; do
    times=$(compilations GEMM_TRACE="$work/cold.csv")
    if [ "$times" = "${cache#*:}" ]; then
        pass "cl-compiling-${cache%:*}"
    else
        fail "cl-compiling-${cache%:*}" "said $times times instead of ${cache#*:}"
    fi
done
# Where nothing can be kept, no line says that it is.
for folder in /proc/nowhere ''; do
    if [ -n "$folder" ]; then kind=unwritable why="cannot be kept in $folder"; else kind=none why='are not kept'; fi
    (unset XDG_CACHE_HOME HOME
        POCL_CACHE_DIR=$work/pocl GEMM_CACHE_DIR=$folder GEMM_TRACE=$work/cold.csv CL_SLOW_BUILD=600 OPENCL_LAYERS=$bin/layer_fail.so detect) >"$work/output" 2>&1
    if grep -q '^gemm_cl: compiling OpenCL programs for' "$work/output" && ! grep -q 'are kept in' "$work/output" &&
        [ "$(grep -c "^gemm_cl: compiled programs $why" "$work/output")" = 1 ]; then
        pass "cl-compiling-$kind"
    else
        fail "cl-compiling-$kind" "$(grep '^gemm_cl' "$work/output")"
    fi
done

# On a terminal a line is written again before each build, and taken away behind it.
(
    export GEMM_CACHE_DIR="$work/terminal" CL_SLOW_BUILD=600 OPENCL_LAYERS="$bin/layer_fail.so" SHELL=/bin/sh
    cd "$work/here" &&
        timeout 300 script -qec "./darknet detect cfg/yolov3-tiny.cfg '$weights' data/kite.jpg" /dev/null
) </dev/null 2>&1 | tr '\r' '\n' >"$work/terminal.txt"
if awk '/^\033\[Kgemm_cl: compiling OpenCL programs: [0-9]+ done in [0-9]+ s$/ { ++lines; shown = 1; next }
        shown && !/^\033\[K/ { bad = 1 }
        { shown = 0 }
        /gemm_cl: compiling/ { bad = 1 }
        END { exit !(lines > 1 && !bad && !shown) }' "$work/terminal.txt"; then
    pass cl-compiling-terminal
else
    fail cl-compiling-terminal "$(tail -n 5 "$work/terminal.txt" | tr '\n\033' ' ^')"
fi

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
# Built kernels with small groups, on a GPU on a bus and on an Adreno.
for items in 1 20 64; do
    STRICT_GROUP=$items under strict strict-$items --groups
    STRICT_GROUP=$items under adreno.so:$bin/layer_strict strict-adreno-$items --groups
done
# cl_half_fast, with arithmetic of 32 bits.
ADRENO_DEVICE=640 under adreno adreno-fp16 --row half --cases 12
# The tile by the model, and a smaller one where the compiler spills.
for case in 640::8x4 610::4x4 735::8x8 735:-DCOLS=8:8x4 735:-DROWS=8:4x4; do
    model=${case%%:*} spills=${case#*:} tile=${case##*:}
    ADRENO_DEVICE=$model ADRENO_SPILLS=${spills%:*} OPENCL_LAYERS=$bin/layer_adreno.so \
        expect "cl-tile-on-A$model-${spills%:*}" "cl_image $tile group" $test_cl --tile
done
# Where all choices spill, the first one runs. A row that the user named does not.
ADRENO_SPILLS=-DROWS OPENCL_LAYERS=$bin/layer_adreno.so \
    expect cl-tile-all-spill 'cl_image 8x4 group 16x8 spills 64' $test_cl --tile
ADRENO_SPILLS=-DROWS OPENCL_LAYERS=$bin/layer_adreno.so GEMM_IMPL=cl_image expect_failure \
    cl-row-spills 'GEMM_IMPL=cl_image cannot run here: the OpenCL compiler spills' detect
OPENCL_LAYERS=$bin/layer_adreno.so GEMM_CHECK=1 expect cl-adreno-detect 'Predicted in' detect
# No launch for an image of the taps: 13 convolutions and 8 launches of other layers.
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
OPENCL_LAYERS=$bin/layer_adreno.so GEMM_IMPL=cl_image GEMM_CONV=im2col GEMM_CHECK=1 \
    GEMM_TRACE=$work/im2col.csv expect cl-image-im2col-detect 'calls right, worst error' detect
copied=$(awk -F, 'NR > 1 && $6 % 9 == 0 { ++rows; bytes += $10 + $11 + $12 }
    END { print rows + 0, bytes + 0 }' "$work/im2col.csv")
if [ "$copied" = '9 0' ]; then
    pass cl-image-im2col-copies-nothing
else
    fail cl-image-im2col-copies-nothing "3x3 layers and bytes copied: $copied, not 9 0"
fi

# ---- make test-opencl: an OpenCL that cannot be had ----
# missing REQUIRED: what run.sh makes of Intel's runtime where python3 fails
missing()
{
    PATH=$work/bin:$PATH GEMM_REQUIRE=$1 LEAVE_OUT= tests/support/run.sh \
        "tests/support/on_opencl.sh intel $work/intel $test_cl --tile" >"$work/output" 2>&1
    tail -n 1 "$work/output"
}
mkdir -p "$work/bin"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/python3"
chmod +x "$work/bin/python3"
if [ "$(missing all)" = '0 passed, 1 failed, 0 skipped' ] &&
    grep -q '# SKIP python3 -m venv fails' "$work/output"; then
    pass opencl-missing-fails
elif grep -q '# SKIP machine' "$work/output"; then
    skip_machine opencl-missing-fails "Intel's runtime needs an x86-64 with AVX2"
else
    fail opencl-missing-fails "$(cat "$work/output")"
fi
expect_failure opencl-name 'no such OpenCL; allowed are pocl, intel, llvmpipe and freedreno' \
    tests/support/on_opencl.sh nvidia "$work/nvidia" true

# ---- memory that the driver moves between two maps ----
# moved NAME MODE WHAT: three detections in one process are right, and the trace says WHAT
moved()
{
    CL_MOVES=$2 OPENCL_LAYERS=$bin/layer_moves.so GEMM_CHECK=1 GEMM_TRACE=$work/moved.csv \
        expect "cl-moves-$1" 'calls right, worst error' three_kites
    if grep -q "^cl_direct .* $3," "$work/moved.csv"; then
        pass "cl-moves-$1-trace"
    else
        fail "cl-moves-$1-trace" "no '$3' in: $(sed -n 2p "$work/moved.csv")"
    fi
}
# kites COUNT: so many detections in one process
kites()
{
    (cd "$work/here" && yes data/kite.jpg | head -n "$1" |
        ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights)
}
three_kites() { kites 3; }
cache moved
moved always driver host-ptr
moved user-memory-too all copies
moved later late host-ptr
CL_MOVES=taken OPENCL_LAYERS=$bin/layer_moves.so expect_failure cl-moves-and-keeps-the-place \
    'gemm: the output of a layer is lost on the OpenCL device: the OpenCL driver moved' three_kites
GEMM_IMPL=hybrid OPENCL_LAYERS=$bin/layer_moves.so GEMM_CHECK=1 \
    expect hybrid-moves 'calls right, worst error' kites 13
cache cache

# ---- hybrid: the device has five passes, then the CPU, and then both. Their first three shares are halves ----
GEMM_IMPL=hybrid GEMM_CHECK=1 GEMM_TRACE=$work/shared.csv \
    expect hybrid-detect 'calls right, worst error' kites 13
# The first convolution of each pass: by the device (d), by the CPU (c), or by both (b).
sides=$(awk -F, '$4 == 8 && $5 == 43264 { printf "%s", $1 ~ /\+ packed$/ ? "b" : $1 ~ /^cl_/ ? "d" : "c" }' "$work/shared.csv")
if [ "$sides" = dddddcccccbbb ]; then
    pass hybrid-detect-sides
else
    fail hybrid-detect-sides "the sides of 13 passes: $sides"
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
    # Here the kernels of rows are looked at, on the problems of these tests alone.
    export GEMM_CACHE_DIR=$work/oclgrind GEMM_CL_TRY=0
    for row in $rows cl_image; do
        oclgrind_row cl-oclgrind-$row --sum $row "$sums" $checks
    done
    for row in $convolving cl_image-8x4 cl_direct-8x4; do
        oclgrind_row cl-oclgrind-conv-$row --conv $row '0u 1d 12u 8d 4u' $checks
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
        oclgrind_row cl-oclgrind-uninitialized-conv-$row --conv $row '10d 21u 22d 13u 9d' $checks
    done
    oclgrind_layers cl-oclgrind-uninitialized-layers $checks
    oclgrind_chains cl-oclgrind-uninitialized-chains $checks
    oclgrind_row cl-oclgrind-uninitialized-conv-cl_direct-8x4 --conv cl_direct-8x4 '0u 1d 2u 14u' $checks
    oclgrind_row cl-oclgrind-uninitialized-conv-cl_image-8x4 --conv cl_image-8x4 '4u 24d 14u' $checks
fi

wait $unwritten
cat "$work/unwritten-reports"

finish
