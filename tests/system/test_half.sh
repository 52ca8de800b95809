#!/bin/sh
# SPDX-License-Identifier: MIT
# Detections with operands of 16 bits: the labels of an unpatched Darknet, within 3 points.
#
#   tests/system/test_half.sh MODELS_FOLDER
#
# The demonstration network and the trained ones, by gemm and by whole convolutions, with each set of
# micro-kernels. GEMM_CHECK with the rounding's own bound. The comparison itself sees other labels.
. tests/support/lib.sh

models=$1
darknet_folder "$work/here"

# packed_fp16 runs on arm64 only.
formats='bf16 fp16'
if why=$("$root/gemm-bench" --list | sed -n 's/^packed_fp16\tunusable: \([^\t]*\).*/\1/p') && [ -n "$why" ]; then
    formats=bf16
    expect_failure fp16-refused "gemm: GEMM_IMPL=packed_fp16 cannot run here: $why" sh -c \
        'cd "$0" && GEMM_IMPL=packed_fp16 ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg' "$work/here"
    case $(uname -m)/$why in
    aarch64/*) fail fp16-reason "arm64 has fp16" ;;
    */'this processor has no fp16 instructions of arm64 (Armv8.2 multiplies in fp16)') pass fp16-reason ;;
    *) fail fp16-reason "$why" ;;
    esac
fi

# labels PROGRAM CFG WEIGHTS PICTURE...: what one process prints about the pictures, but for the times
labels()
{
    program=$1 cfg=$2 weights=$3
    shift 3
    for picture; do echo "data/$picture.jpg"; done |
        (cd "$work/here" && "$program" detect "$cfg" "$weights" 2>"$work/error") |
        sed 's/^Enter Image Path: //; s/: Predicted in .*//'
}

# near FILE: its labels are the expected ones, within 3 points
near()
{
    awk -v POINTS=3 -f "$root/tests/support/near_labels.awk" "$work/expected" "$1" >"$work/differences"
}

# compare NAME ARGUMENTS OF LABELS BEHIND THE PROGRAM...
compare()
{
    name=$1
    shift
    labels "$BUILD/upstream/darknet" "$@" >"$work/expected"
    for run in $(for format in $formats; do echo $format-im2col-best $format-hook-best $format-im2col-generic $format-hook-generic; done); do
        isa=${run##*-} conv=${run#*-}
        (
            export GEMM_CONV=${conv%-*} GEMM_IMPL=packed_${run%%-*}
            [ "$isa" = best ] || export GEMM_ISA=$isa
            labels ./darknet "$@" >"$work/labels"
        )
        if near "$work/labels"; then
            pass "$name-$run"
        else
            fail "$name-$run" "$(head -n 1 "$work/differences") $(tail -n 1 "$work/error")"
        fi
    done
}

compare demo "$root/cfg/kite-demo.cfg" "$root/cfg/kite-demo.weights" $(few_or_all "kite dog person" "kite dog horses giraffe eagle person scream")
for network in yolo-fastest-1.1 $(few_or_all "" yolo-fastest-1.1-xl); do
    if [ ! -f "$models/$network.weights" ]; then
        skip "$network" "no $network.weights in $models (MODELS=folder)"
        continue
    fi
    model=$(cd "$models" && pwd)/$network
    compare "$network" "$(by_pjreddie "$model.cfg")" "$model.weights" kite dog person
done

# The comparison: a box that is missing, one too many, a percentage that is 4 off, another class.
printf 'data/a.jpg\nkite: 80%%\nkite: 53%%\nperson: 60%%\n' >"$work/expected"
while read -r want what; do
    printf 'data/a.jpg\n' >"$work/labels"
    echo "$what" | tr ',' '\n' | sed 's/=/: /' >>"$work/labels"
    near "$work/labels" && got=near || got=far
    [ $got = $want ] && pass "near-labels-$what" || fail "near-labels-$what" "it is called $got"
done <<'END'
near kite=80%,kite=53%,person=60%
near person=63%,kite=51%,kite=77%
near kite=80%,person=60%,kite=50%
near kite=80%,person=60%
near kite=80%,kite=53%,person=60%,dog=53%
far kite=80%,kite=53%,person=60%,dog=54%
far kite=84%,kite=53%,person=60%
far kite=80%,kite=53%
far kite=80%,kite=53%,dog=60%
END

# Every multiply and every layer within the bound of the rounding, and some of them in 16 bits.
for format in $formats; do
    for conv in im2col hook; do
        (
            export GEMM_CONV=$conv GEMM_IMPL=packed_$format GEMM_CHECK=1 GEMM_TRACE=$work/trace.csv
            labels ./darknet "$root/cfg/kite-demo.cfg" "$root/cfg/kite-demo.weights" kite >"$work/labels"
        )
        checked=$(sed -n 's/^gemm: GEMM_CHECK: \([0-9]*\) calls right, worst error 0\..*/\1/p' "$work/error")
        [ "${checked:-0}" -ge 7 ] && pass "checked-$format-$conv" || fail "checked-$format-$conv" "$(tail -n 1 "$work/error")"
    done
    layers=$(grep -c ",implicit; $format," "$work/trace.csv")
    [ "$layers" -ge 2 ] && pass "layers-in-$format" || fail "layers-in-$format" "$layers layers of the trace are in $format"
done

finish
