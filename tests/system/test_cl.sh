#!/bin/sh
# SPDX-License-Identifier: MIT
# The OpenCL rows where things go wrong or are different: devices, libraries, the cache, compilers,
# memory that moves.
#
#   tests/system/test_cl.sh UNTRAINED_WEIGHTS
#
# Needs PoCL. test_cl_limits.sh has other devices' limits, test_cl_faults.sh calls that fail, and
# test_oclgrind.sh races and strays.
. tests/support/lib.sh
use_pocl || { skip cl "$no_pocl"; finish; }

cfg=cfg/$(few_or_all kite-demo yolov3-tiny).cfg
weights=$(few_or_all "$root/cfg/kite-demo.weights" "$(realpath "$1")")
bin=$OUT/tests
darknet_folder "$work/here"

detect() { (cd "$work/here" && timeout 300 ./darknet detect $cfg "$weights" data/kite.jpg); }

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

# ---- GEMM_WAY ----
expect_failure cl-way "GEMM_WAY='Direct' is no way of cl; the ways are: gemv direct direct_image direct_winograd winograd2 winograd4 tile" \
    env GEMM_WAY=Direct "$OUT/darknet" speed "$root/cfg/kite-demo.cfg" 1
expect_failure cl-way-of-row "GEMM_WAY='tile': cl_direct has one way only" \
    env GEMM_IMPL=cl_direct GEMM_WAY=tile "$OUT/darknet" speed "$root/cfg/kite-demo.cfg" 1
# plan VARIABLE=VALUE...: make plan of kite-demo, which has five 3x3 layers of stride 1 and two of stride 2
plan() { env "$@" "$root/bench/studies/plan.sh" "$OUT/darknet" "$root/cfg/kite-demo.cfg" 2>&1 | grep '^| .* batch'; }
# goes WAY KERNEL ROW WHY: under GEMM_WAY the layers that can go so do, and no other way comes before it
goes()
{
    plan GEMM_IMPL="${3:-cl}" "GEMM_WAY=$1" >"$work/plan"
    grep -q "^| 3x3/1 .* | $2 [^|]*| [^|]*|[^|]*|$4[^;]*|\$" "$work/plan" && pass "cl-way-${3:-cl}-$1" ||
        fail "cl-way-${3:-cl}-$1" "$(cat "$work/plan")"
}
goes direct cl_direct cl ' '
goes direct_image 'cl_direct .* direct' cl ' '
goes direct_winograd 'cl_direct .* winograd2' cl ' '
goes winograd2 'cl_winograd .* winograd2' cl ' winograd2: '
goes winograd4 'cl_winograd .* winograd4' cl ' winograd4: '
goes tile cl_conv_wide cl ' '
# The trace says whether the way ran.
for run in 'direct_image ^cl_direct ' 'winograd4 ,winograd4,'; do
    way=${run%% *}
    OPENCL_LAYERS=$bin/layer_desktop.so GEMM_WAY=$way GEMM_CHECK=1 GEMM_TRACE=$work/right \
        expect cl-way-right-$way 'calls right, worst error 0.' \
        "$OUT/darknet" detect "$root/cfg/kite-demo.cfg" "$root/cfg/kite-demo.weights" "$root/data/kite.jpg"
    check cl-way-ran-$way grep -q "${run#* }" "$work/right"
done
# MFLOP is computed from rounded times.
plan GEMM_IMPL=cl_direct | cut -d '|' -f 1-4,6- >"$work/row"
plan GEMM_WAY=direct | cut -d '|' -f 1-4,6- >"$work/way"
if cmp -s "$work/way" "$work/row"; then pass cl-way-is-row; else fail cl-way-is-row "$(diff "$work/row" "$work/way")"; fi

# auto and hybrid hand on a way that the variant lacks, and the trace says so.
plan GEMM_IMPL=auto GEMM_WAY=direct >"$work/plan"
check cl-way-not-of-packed [ "$(grep -c '| packed (default); direct: no way of packed; ' "$work/plan")" = 11 ]
plan GEMM_IMPL=auto GEMM_WAY=winograd2 >"$work/plan"
check cl-way-auto grep -q '^| 3x3/1 .* | packed winograd2 |' "$work/plan"

# ---- make plan, with way and why ----
plan GEMM_IMPL=cl >"$work/plan"
check cl-plan-layers grep -q '^| maxpool .* | cl_maxpool | .* | by rows: the device is a CPU |$' "$work/plan"
check cl-plan-each [ "$(grep -c '|  |$' "$work/plan")" = 0 ]
plan GEMM_IMPL=hybrid >"$work/plan"
check cl-plan-hybrid [ "$(grep -c ': [0-9.]* of packed at a multiply' "$work/plan")" = "$(grep -c . "$work/plan")" ]

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
# A CPU multiplies by cl_wide, but no layer of this network does: it need not be compiled.
if ls "$work"/cache/cl_wide-* >/dev/null 2>&1; then fail cl-cache-needed 'cl_wide was compiled'; else pass cl-cache-needed; fi
file=$(ls "$work"/cache/cl_conv_wide-*.clbin 2>/dev/null | head -n 1)
if [ -z "$file" ]; then
    fail cl-cache-file 'no cl_conv_wide-*.clbin was written'
else
    pass cl-cache-file
    cp "$file" "$work/good"
    cut_short() { head -c -9 "$work/good" >"$file"; }
    one_byte() { head -c -2 "$work/good" >"$file"; printf 'x\n' >>"$file"; }
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
        [ -p "$file" ] || [ "$(head -c 3000 "$file" | wc -c)" = 3000 ] || detect >/dev/null 2>&1
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

# ---- binaries, where a CPU's driver compiles once more for them ----
# lines NAME COUNT TEXT: the last output has so many lines with TEXT
lines()
{
    count=$(grep -c -- "$3" "$work/output")
    if [ "$count" = "$2" ]; then pass "$1"; else fail "$1" "$count lines of '$3' instead of $2"; fi
}
cache() { export GEMM_CACHE_DIR="$work/$1"; }
# files NAME [WITHOUT]: there are files of programs, and so many have no binary. None: all have none
files()
{
    all=$(find "$GEMM_CACHE_DIR" -name '*.clbin' | wc -l)
    bare=$(find "$GEMM_CACHE_DIR" -name '*.clbin' -exec grep -al '^bytes 0 sum ' {} + | wc -l)
    if [ "$all" -gt 0 ] && [ "$bare" = "${2:-$all}" ]; then pass "$1"; else fail "$1" "$bare of $all files have no binary"; fi
}
# A detection where the first launch of each program compiles.
late()
{
    (cd "$work/here" && CL_LATE_COMPILER=1 CL_SAY_BUILDS=1 OPENCL_LAYERS=$bin/layer_faulty.so \
        ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg)
}
multiply() { ./gemm-bench --impl cl -s 64,64,64 --samples 3; }

cache starts
expect cl-start-1 'Predicted in' late
files cl-start-1-keeps-no-binary
# Kernels of one text and the same options are built once.
check cl-start-1-shares [ "$(grep -c 'layer_faulty: builds' "$work/output")" -lt "$all" ]
before=$(ls -l --time-style=full-iso "$GEMM_CACHE_DIR")
expect cl-start-2 'Predicted in' late
lines cl-start-2-asks-for-no-binary 0 'layer_faulty: gives a binary'
if [ "$before" = "$(ls -l --time-style=full-iso "$GEMM_CACHE_DIR")" ]; then pass cl-start-2-writes-nothing; else fail cl-start-2-writes-nothing 'files were written anew'; fi
# A driver without binaries is not asked to write the same file again.
cache without-binaries
for start in 1 2 3; do
    OPENCL_LAYERS=$bin/layer_quick.so check "cl-without-binaries-$start" multiply
    files "cl-without-binaries-$start-files"
    [ $start = 1 ] || [ "$before" = "$(ls -l --time-style=full-iso "$GEMM_CACHE_DIR")" ] ||
        fail "cl-without-binaries-$start-rewritten" 'files were written anew'
    before=$(ls -l --time-style=full-iso "$GEMM_CACHE_DIR")
done
# At once where the build has compiled all, and on a GPU.
cache compiled
CL_BUSY_BUILD=500 OPENCL_LAYERS=$bin/layer_faulty.so check cl-binary-of-what-is-compiled multiply
files cl-binary-of-what-is-compiled-kept 0
# Nobody waits for a binary that cannot be kept.
# asked FOLDER: a multiply says how many binaries it asked for
asked()
{
    GEMM_CACHE_DIR=$1 CL_SAY_BUILDS=1 CL_BUSY_BUILD=500 OPENCL_LAYERS=$bin/layer_faulty.so multiply 2>&1 >/dev/null |
        grep -c 'layer_faulty: gives a binary'
}
check cl-binary-asked-for [ "$(asked "$work/asked")" -gt 0 ]
check cl-binary-not-in-vain [ "$(asked /proc/nowhere)" = 0 ]
cache gpu
CL_LATE_COMPILER=1 ADRENO_DEVICE=650 OPENCL_LAYERS=$bin/layer_faulty.so:$bin/layer_adreno.so check cl-binary-of-a-gpu multiply
files cl-binary-of-a-gpu-kept 0
cache cache

# ---- programs that a faulty compiler makes ----
# A detection of a small network under layer_faulty.so, whose results are checked.
faulty()
{
    (cd "$work/here" && OPENCL_LAYERS=$bin/layer_faulty.so GEMM_CHECK=1 CL_SAY_BUILDS=1 \
        ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg)
}

GEMM_CACHE_DIR=$work/trials OPENCL_LAYERS=$bin/layer_faulty.so:$bin/layer_quick.so plain $bin/test_cl_trials | relay
for tried in 1 0; do
    GEMM_CL_TRY=$tried OPENCL_LAYERS=$bin/layer_faulty.so:$bin/layer_quick.so plain $bin/test_cl_tune --wrong 2>/dev/null | relay
done

# One that is wrong: the next choice runs, and the next process tries nothing again.
cache wrong
export CL_MUTATE='cl_conv_wide|r->y = r->tap = 0|r->y = r->tap = 1'
expect cl-wrong-next-choice 'calls right, worst error' faulty
lines cl-wrong-said "$(find "$GEMM_CACHE_DIR" -name 'cl_conv_wide-*.note' | wc -l)" \
    '^gemm_cl: kernels/cl_conv_wide.cl is left out on .*: it gives wrong results'
expect cl-wrong-known "(remove $GEMM_CACHE_DIR/cl_conv_wide-" faulty
lines cl-wrong-not-built-again 0 'layer_faulty: builds void cl_conv_wide .*-DTAPS'
note=$(find "$GEMM_CACHE_DIR" -name 'cl_conv_wide-*.note' | head -n 1)
echo hello >"$note"
expect cl-note-damaged "cache file $note is not used, it is not what it should be" faulty
lines cl-note-damaged-tried-again 1 'layer_faulty: builds void cl_conv_wide .*-DTAPS'
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
lines cl-abort-said $starts '/cl_[a-z]*\.cl is left out on .*: an earlier process ended while it was'
unset CL_ABORT_BUILD
rm -f "$GEMM_CACHE_DIR"/*.note
expect cl-abort-removed-note 'calls right, worst error' faulty
lines cl-abort-tried-again 1 'layer_faulty: builds void cl_copy'

# Builds that fail are not tried again by every process.
cache fails
export CL_FAIL_BUILD=cl_maxpool
expect cl-fail-next-choice 'calls right, worst error' faulty
lines cl-fail-said 1 '^gemm_cl: kernels/cl_maxpool.cl is left out on .*: it cannot be built'
expect cl-fail-known 'calls right, worst error' faulty
lines cl-fail-not-built-again 0 'layer_faulty: builds void cl_copy'
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

# ---- a long compilation is said once, on a terminal too, and never when the cache is warm ----
# compilations: how often a detection says that it compiles, when each build takes 0.6 s longer
compilations()
{
    (export GEMM_CACHE_DIR="$work/cold" CL_SLOW_BUILD=600 OPENCL_LAYERS="$bin/layer_fail.so"; detect) >"$work/said" 2>&1
    grep -c "^gemm_cl: compiling OpenCL programs" "$work/said"
}
rm -rf "$work/cold"
for cache in cold:1 warm:0; do
    times=$(compilations)
    [ $cache = warm:0 ] ||
        check cl-compiling-said grep -q ", once: [0-9]* of [0-9]* done in [0-9.]* s, [0-9]* left; they are kept in $work/cold\$" "$work/said"
    if [ "$times" = "${cache#*:}" ]; then
        pass "cl-compiling-${cache%:*}"
    else
        fail "cl-compiling-${cache%:*}" "said $times times instead of ${cache#*:}"
    fi
done
# Where nothing can be kept, no line says that it is.
pocl=${POCL_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/pocl/kcache}
for folder in /proc/nowhere ''; do
    if [ -n "$folder" ]; then kind=unwritable why="cannot be kept in $folder"; else kind=none why='are not kept'; fi
    (unset XDG_CACHE_HOME HOME
        POCL_CACHE_DIR=$pocl GEMM_CACHE_DIR=$folder CL_SLOW_BUILD=600 OPENCL_LAYERS=$bin/layer_fail.so detect) >"$work/output" 2>&1
    if grep -q '^gemm_cl: compiling OpenCL programs for' "$work/output" && ! grep -q 'are kept in' "$work/output" &&
        [ "$(grep -c "^gemm_cl: compiled programs $why" "$work/output")" = 1 ]; then
        pass "cl-compiling-$kind"
    else
        fail "cl-compiling-$kind" "$(grep '^gemm_cl' "$work/output")"
    fi
done

(
    export GEMM_CACHE_DIR="$work/terminal" CL_SLOW_BUILD=600 OPENCL_LAYERS="$bin/layer_fail.so" SHELL=/bin/sh
    cd "$work/here" &&
        timeout 300 script -qec "./darknet detect $cfg '$weights' data/kite.jpg" /dev/null
) </dev/null 2>&1 | tr -d '\r' >"$work/output"
lines cl-compiling-terminal 1 '^gemm_cl: compiling OpenCL programs for .* kept in '

# ---- make test ON=opencl: an OpenCL that cannot be had ----
# missing REQUIRED: what run.sh makes of Intel's runtime where python3 fails
missing()
{
    PATH=$work/bin:$PATH GEMM_REQUIRE=$1 tests/support/run.sh \
        "tests/support/on_opencl.sh intel $work/intel $bin/test_cl_checks --tile" >"$work/output" 2>&1
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
cache cache

# ---- hybrid: the side that multiplies faster has all layers ----
# From the first pass on, because that one compiles what is missing
GEMM_IMPL=hybrid GEMM_PREPARE=first GEMM_CHECK=1 GEMM_TRACE=$work/shared.csv \
    expect hybrid-detect 'calls right, worst error' kites 13
sides=$(awk -F, 'NR > 1 && $14 != "" { print $1 ~ /^cl_/ ? "cl" : $1 }' "$work/shared.csv" | sort -u)
case $sides in
cl | packed) pass hybrid-detect-sides ;;
*) fail hybrid-detect-sides "the sides of 13 passes: $sides" ;;
esac

finish
