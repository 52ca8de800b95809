#!/bin/sh
# SPDX-License-Identifier: MIT
# Detections in 8 bits: make calibrate and darknet-gemm calibrate, what they refuse, and the boxes of
# packed_int8 beside those of packed.
#
#   tests/system/test_int8.sh MODELS_FOLDER
#
# The boxes are judged on pictures that were not calibrated on: each half of the pictures after a
# calibration on the other half.
. tests/support/lib.sh

models=$1
unset MAKEFLAGS
export GEMM_THREADS=2
darknet_folder "$work/here"
mkdir "$work/demo"
cp cfg/kite-demo.cfg cfg/kite-demo.weights "$work/demo"
demo=$work/demo/kite-demo
first='dog kite person' second='eagle giraffe horses scream'

# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted '$2', got '$3'"; fi; }

# ---- the setting ----
# refuses NAME MESSAGE SETTING...
refuses()
{
    name=$1 message=$2
    shift 2
    expect_failure "refuses-$name" "$message" env "GEMM_CALIBRATE=$work/none.int8" "$@" \
        "$work/here/darknet" detect "$demo.cfg" "$demo.weights" "$root/data/dog.jpg"
}

cd "$work/here" || exit 1
refuses stock 'GEMM_CALIBRATE needs whole layers in single precision, and GEMM_IMPL=stock computes none' GEMM_IMPL=stock
refuses bf16 'in single precision, and GEMM_IMPL=packed_bf16 computes none' GEMM_IMPL=packed_bf16
refuses im2col 'GEMM_CALIBRATE needs whole layers, and GEMM_CONV=im2col has none' GEMM_CONV=im2col
refuses folder "GEMM_CALIBRATE='nowhere/a.int8' cannot be written: No such file" GEMM_CALIBRATE=nowhere/a.int8
refuses directory "GEMM_CALIBRATE='$work' cannot be written: it is no regular file" "GEMM_CALIBRATE=$work"
refuses no-name "GEMM_CALIBRATE='' cannot be written: it names no file" GEMM_CALIBRATE=
refuses int8 'in single precision, and GEMM_IMPL=packed_int8 computes none' GEMM_IMPL=packed_int8
refuses auto-16 'GEMM_CALIBRATE needs single precision, and GEMM_AUTO_BITS=16 allows less' GEMM_AUTO_BITS=16
cd "$root" || exit 1
is refuses-writes-nothing '' "$(ls "$work" | grep none)"

# ---- make calibrate ----
env -u MAKELEVEL make -s INSTALL=0 "BUILD=$BUILD" "OUT=$OUT" calibrate "CFG=$demo.cfg" "WEIGHTS=$demo.weights" \
    'IMAGES=data/dog.jpg data/kite.jpg' >"$work/said" 2>&1
is calibrate-status 0 $?
is calibrate-table 11 "$(grep -c ' fp32: \| int8: ' "$work/said")"
is calibrate-file 'gemm-int8 2 11 11' "$(head -n 1 "$demo.int8") $(grep -c ^layer "$demo.int8")"
is calibrate-leaves-nothing 'kite-demo.cfg kite-demo.int8 kite-demo.weights' "$(ls -A "$work/demo" | paste -sd ' ')"
check calibrate-is-small [ "$(wc -c <"$demo.int8")" -lt 4096 ]
tail -n 1 "$work/said" >"$work/next"
is calibrate-next "GEMM_IMPL=packed_int8 GEMM_INT8=$demo.int8 ./darknet detect $demo.cfg $demo.weights data/dog.jpg" \
    "$(cat "$work/next")"
check calibrate-next-runs sh -c "cd '$work/here' && . '$work/next' 2>/dev/null | grep '^dog: '"
cp "$demo.int8" "$work/before"
sed '/^layer/{ 10,$d }' "$demo.int8" >"$work/cut.int8"
expect_failure cut-file "gemm: GEMM_INT8: $work/cut.int8: it has 8 layers, and its first line names 11: it is cut; make calibrate makes a new one" \
    env GEMM_IMPL=packed_int8 "GEMM_INT8=$work/cut.int8" "$OUT/tests/boxes" "$demo.cfg" "$demo.weights" data/dog.jpg
calibrate() { bench/calibrate/calibrate.sh ./darknet "$@"; }
GEMM_THREADS=1 calibrate "$demo.cfg" "$demo.weights" data/dog.jpg data/kite.jpg >"$work/said" 2>&1
check calibrate-threads cmp "$demo.int8" "$work/before"

# What goes wrong is one line, and the file stays as it is.
# wrong NAME MESSAGE CFG WEIGHTS IMAGE...
wrong()
{
    name=$1 message=$2
    shift 2
    expect_failure "wrong-$name" "calibrate: $message" calibrate "$@"
    is "wrong-$name-one-line" 1 "$(wc -l <"$work/output")"
}
wrong image "IMAGES='data/none.jpg' is no file that can be read" "$demo.cfg" "$demo.weights" data/dog.jpg data/none.jpg
wrong folder "IMAGES='data' is a folder: name the files in it" "$demo.cfg" "$demo.weights" data/dog.jpg data
wrong cfg-is-folder "CFG='data' is a folder: name the file" data "$demo.weights" data/dog.jpg
wrong no-picture 'IMAGES names no picture' "$demo.cfg" "$demo.weights"
wrong first-picture 'Darknet ended after 0 of 1 pictures: Cannot load image' "$demo.cfg" "$demo.weights" data/coco.names
wrong picture "Darknet ended after 1 of 2 pictures: Cannot load image \"$(realpath data/coco.names)\": it is no PNG" "$demo.cfg" "$demo.weights" data/dog.jpg data/coco.names
wrong cfg "CFG='none.cfg' is no file that can be read" none.cfg "$demo.weights" data/dog.jpg
wrong weights "WEIGHTS='none.weights' is no file that can be read" "$demo.cfg" none.weights data/dog.jpg
wrong short 'Darknet ended after 0 of 1 pictures: ' "$demo.cfg" "$demo.cfg" data/dog.jpg
expect_failure wrong-usage 'usage: calibrate.sh DARKNET CFG WEIGHTS IMAGE...' calibrate "$demo.cfg"
is wrong-leaves-nothing 'kite-demo.cfg kite-demo.int8 kite-demo.weights' "$(ls -A "$work/demo" | paste -sd ' ')"
check wrong-keeps-the-file cmp "$demo.int8" "$work/before"

# The words of the command that it prints are quoted.
odd="$work/it's a folder"
cp -R "$work/demo" "$odd"
rm "$odd/kite-demo.int8"
calibrate "$odd/kite-demo.cfg" "$odd/kite-demo.weights" data/dog.jpg data/kite.jpg >"$work/said" 2>&1
check odd-file cmp "$odd/kite-demo.int8" "$work/before"
tail -n 1 "$work/said" >"$work/next"
check odd-next-runs sh -c "cd '$work/here' && . '$work/next' 2>/dev/null | grep '^dog: '"

# A changed weight: byte 200 is of the first convolution, behind 20 bytes of header and 4 x 8 floats.
cp "$demo.weights" "$work/demo/other.weights"
printf '\1' | dd of="$work/demo/other.weights" bs=1 seek=200 conv=notrunc 2>"$work/dd"
cmp -s "$demo.weights" "$work/demo/other.weights" && fail other-weights-differ 'byte 200 was 1 before'
expect_failure other-weights "GEMM_INT8=$demo.int8 was made for other weights" env GEMM_IMPL=packed_int8 \
    "GEMM_INT8=$demo.int8" "$OUT/tests/boxes" "$demo.cfg" "$work/demo/other.weights" data/dog.jpg

# ---- darknet-gemm calibrate ----
sed 's/@[A-Z]*@/none/g' install/darknet-gemm.in >"$work/darknet-gemm"
chmod +x "$work/darknet-gemm"
images() { printf 'data/%s.jpg\n' "$@"; }

# run_calibrate FILE COMMAND...
run_calibrate() { (cd "$work/here" && "$work/darknet-gemm" calibrate "$@"); }

images dog kite | run_calibrate "$work/run.int8" -- GEMM_CHECK=0 ./darknet detect "$demo.cfg" "$demo.weights" >"$work/said" 2>&1
is run-status 0 $?
check run-same-file cmp "$work/run.int8" "$work/before"
is run-next "darknet-gemm: $work/run.int8 is written. Now: GEMM_IMPL=packed_int8 GEMM_INT8=$work/run.int8 and the same command" \
    "$(tail -n 1 "$work/said")"
# Two processes of one command: what the first one found stays.
run_calibrate "$work/two.int8" -- sh -c 'for image in dog kite; do echo data/$image.jpg | ./darknet detect "$@"; done' sh \
    "$demo.cfg" "$demo.weights" >"$work/said" 2>&1
is run-two-processes '0 2 files, 1 line' "$? $(grep -l '^gemm-int8 ' "$work"/two.int8* | wc -l) files, $(grep -c 'two.int8.[0-9]* is of another process' "$work/said") line"
expect_failure run-nothing 'no whole layer reached the library' run_calibrate "$work/run.int8" true
expect_failure run-folder "the file '/nowhere/a.int8' cannot be written" run_calibrate /nowhere/a.int8 true
expect_failure run-usage 'darknet-gemm calibrate FILE' run_calibrate "$work/run.int8" --
run_calibrate "$work/run.int8" sh -c 'exit 7' >"$work/said" 2>&1
is run-status-of-the-command 7 $?
check run-keeps-the-file cmp "$work/run.int8" "$work/before"
is run-leaves-nothing '' "$(ls -A "$work" | grep part)"

# ---- the measure: boxes_f1.awk and near_labels.awk see what differs ----
printf 'a 1 .9 0 1 0 1\na 1 .8 2 3 0 1\nb 2 .7 0 1 0 1\n' >"$work/expected"
while read -r want what; do
    sed "$what" "$work/expected" >"$work/found"
    is "f1-$what" "$want" "$(awk -f tests/support/boxes_f1.awk "$work/expected" "$work/found" | cut -d ' ' -f 1)"
done <<'END'
1.0000 s/a/a/
1.0000 s/3/2.6/
0.6667 s/3/2.4/
0.6667 s/^b 2/b 3/
0.6667 s/^b/a/
0.8000 3d
0.8571 3p
0.0000 d
END

# ---- boxes in 8 bits ----
# boxes NAME...: of $network in these pictures of data/, under the settings
boxes()
{
    files=
    for image; do files="$files data/$image.jpg"; done
    "$OUT/tests/boxes" "$network.cfg" "$network.weights" $files 2>"$work/error"
}

# half CALIBRATED JUDGED: adds the boxes of the judged pictures to two files
half()
{
    GEMM_IMPL=packed GEMM_CALIBRATE=$work/half.int8 boxes $1 >"$work/boxes"
    GEMM_IMPL=packed boxes $2 >>"$work/expected"
    GEMM_IMPL=packed_int8 GEMM_INT8=$work/half.int8 boxes $2 >>"$work/found"
    layers=$((layers + $(awk '$1 == "layer" && $6 != "fp32"' "$work/half.int8" | wc -l)))
}

# labels FILE: as `darknet detect` prints them
labels() { awk '{ if ($1 != last) print last = $1; printf "%s: %.0f%%\n", $2, 100 * $3 }' "$1"; }

# keeps_labels NAME: those of `half`, and their percentages within 10 points
keeps_labels()
{
    labels "$work/expected" >"$work/labels"
    labels "$work/found" >"$work/labels.found"
    if awk -v POINTS=10 -f tests/support/near_labels.awk "$work/labels" "$work/labels.found" >"$work/differences"; then
        pass "labels-of-$1"
    else
        fail "labels-of-$1" "$(cat "$work/differences")"
    fi
}

# judge NAME NETWORK LEAST_F1 LEAST_LAYERS
judge()
{
    network=$2 layers=0
    : >"$work/expected"
    : >"$work/found"
    half "$first" "$second"
    half "$second" "$first"
    f1=$(awk -f tests/support/boxes_f1.awk "$work/expected" "$work/found")
    if awk -v f1="${f1%% *}" -v least="$3" 'BEGIN { exit !(f1 >= least) }'; then
        pass "f1-of-$1"
    else
        fail "f1-of-$1" "F1, right, expected, found: $f1; at least $3 is wanted: $(tail -n 1 "$work/error")"
    fi
    if [ $layers -ge "$4" ]; then pass "layers-of-$1"; else fail "layers-of-$1" "$layers layers in 8 bits"; fi
}

# One box of the demonstration network falls below the threshold (docs/int8.md).
judge demo "$demo" .9 4
for name in yolo-fastest-1.1:.9 $(few_or_all "" yolo-fastest-1.1-xl:.95); do
    network=$models/${name%:*}
    if [ -f "$network.weights" ]; then
        judge "${name%:*}" "$network" "${name#*:}" 30
        keeps_labels "${name%:*}"
    else
        skip "f1-of-${name%:*}" "no ${network##*/}.weights in $models (MODELS=folder)"
    fi
done

finish
