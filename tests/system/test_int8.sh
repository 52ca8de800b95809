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

sed 's/@[A-Z]*@/none/g' install/darknet-gemm.in >"$work/darknet-gemm"
chmod +x "$work/darknet-gemm"
images() { printf 'data/%s.jpg\n' "$@"; }

# run_calibrate FILE COMMAND...
run_calibrate() { (cd "$work/here" && "$work/darknet-gemm" calibrate "$@"); }

# ---- make calibrate ----
env -u MAKELEVEL make -s INSTALL=0 "BUILD=$BUILD" "OUT=$OUT" calibrate "CFG=$demo.cfg" "WEIGHTS=$demo.weights" \
    'IMAGES=data/dog.jpg data/kite.jpg' >"$work/said" 2>&1
is calibrate-status 0 $?
is calibrate-table 11 "$(grep -c ' fp32: \| int8: ' "$work/said")"
is calibrate-file 'gemm-int8 3 11 11' "$(head -n 1 "$demo.int8") $(grep -c ^layer "$demo.int8")"
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
expect_failure wrong-usage 'usage: calibrate.sh [--error E] DARKNET CFG WEIGHTS IMAGE...' calibrate "$demo.cfg"
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

# ---- the error of the outputs ----
sum="$(sed -n 's/^# the outputs differ by \(.*\) of the largest, at most 0.05: \([0-9]*\) of 11 layers in 8 bits, \([0-9]*\) kept for their error, \([0-9]*\) for .*/\1 \2 \3 \4/p' "$demo.int8")"
is error-line 1 "$(grep -c '^the outputs differ by .* of the largest, at most 0.05: ' "$work/said")"
is error-line-counts "$(grep '^layer' "$demo.int8" | grep -vc ' fp32 ') $(grep -c '^# .* fp32: too much error' "$demo.int8")" "$(echo "$sum" | cut -d ' ' -f 2,3)"
# What it says of the error is what a run with the file says.
for impl in packed packed_int8; do
    mkdir -p "$work/search"
    images dog kite | sed "s|^|$root/|" | (cd "$work/here" && GEMM_IMPL=$impl GEMM_INT8=$demo.int8 GEMM_CALIBRATE=$work/search/ \
        ./darknet detect "$demo.cfg" "$demo.weights") >"$work/output" 2>&1
done
check error-is-measured sh -c "sed -n 's/.*gemm: GEMM_CALIBRATE: error //p' '$work/output' | awk -v said='${sum%% *}' \
    '{ e = \$1 / 1e6; right = said <= .05 && e <= said * 1.01 && e >= said * .99 } END { exit !right }'"
layers_at() { bench/calibrate/calibrate.sh --error "$1" ./darknet "$odd/kite-demo.cfg" "$odd/kite-demo.weights" data/dog.jpg data/kite.jpg >"$work/said" 2>&1; grep '^layer' "$odd/kite-demo.int8" | grep -vc ' fp32 '; }
least=$(layers_at 0.001) most=$(layers_at 1)
taken=$(echo "$sum" | cut -d ' ' -f 2)
is error-decides "fewer, more" "$([ "$least" -lt "$taken" ] && echo fewer), $([ "$most" -gt "$least" ] && echo more)"
for error in 0 0.0 -1 nan 1e-3 1.5 two ''; do
    expect_failure "error-wrong-$error" "calibrate: ERROR='$error' is no number above 0 and at most 1, such as 0.05" \
        bench/calibrate/calibrate.sh --error "$error" ./darknet "$demo.cfg" "$demo.weights" data/dog.jpg
    expect_failure "error-wrong-run-$error" "darknet-gemm: the error '$error' is no number above 0 and at most 1, such as 0.05" \
        run_calibrate --error "$error" "$work/run.int8" -- true
done

# A changed weight: byte 200 is of the first convolution, behind 20 bytes of header and 4 x 8 floats.
cp "$demo.weights" "$work/demo/other.weights"
printf '\1' | dd of="$work/demo/other.weights" bs=1 seek=200 conv=notrunc 2>"$work/dd"
cmp -s "$demo.weights" "$work/demo/other.weights" && fail other-weights-differ 'byte 200 was 1 before'
expect_failure other-weights "GEMM_INT8=$demo.int8 was made for other weights" env GEMM_IMPL=packed_int8 \
    "GEMM_INT8=$demo.int8" "$OUT/tests/boxes" "$demo.cfg" "$work/demo/other.weights" data/dog.jpg

# ---- darknet-gemm calibrate ----
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
expect_failure run-usage 'darknet-gemm calibrate [--error E] FILE' run_calibrate "$work/run.int8" --
run_calibrate "$work/run.int8" sh -c 'exit 7' >"$work/said" 2>&1
is run-status-of-the-command 7 $?
check run-keeps-the-file cmp "$work/run.int8" "$work/before"
is run-leaves-nothing '' "$(ls -A "$work" | grep part)"

# A command that plays the library: the errors of its layers are known, and add up as if they were independent. A layer has
# its number as M; N is its multiplications; line 3 of the settings has its error with a clip, line 4 without.
cat >"$work/play" <<'END'
search=$GEMM_CALIBRATE
read -r line; [ "$line" = pictures ] || exit 9
[ "$GEMM_IMPL" = packed_int8 ] || {
    for kind in percentile range; do
        echo "gemm-int8 3 $(echo $1 | wc -w)"
        for work in $1; do i=$((${i:-0} + 1)); echo "layer 000000000000000$i $i $work 1 0.5 0 $kind 40.0"; done
        i=0
        for work in $1; do i=$((i + 1)); echo "# $i $i $work 1 1 40.0  int8: $kind"; done
        i=0
        echo '# 9 of 9 layers in int8'
    done | awk -v folder="$search" '/^gemm-int8/ { file = folder (++n == 1 ? "steps" : "wide") } { print >file }'
    echo outputs >"${search}outputs"
    exit
}
echo "$GEMM_INT8" >>"$4"
awk -v steps="$2" -v wide="$3" 'BEGIN { split(steps, s); split(wide, w) }
    $6 != "fp32" && /^layer/ { e = $8 == "range" ? w[$3] : s[$3]; sum += e * e } END { printf "gemm: GEMM_CALIBRATE: error %d millionths\n", 1e6 * sqrt(sum) }' \
    "$GEMM_INT8" >&2
END
# plays NAME WANTED MOST_RUNS ERROR WORK STEPS WIDE: the layers that are taken, and whether they are clipped
plays()
{
    rm -f "$work/runs"
    echo pictures | run_calibrate --error "$4" "$work/play.int8" -- sh "$work/play" "$5" "$6" "$7" "$work/runs" >"$work/said" 2>&1
    is "search-$1" "$2" "$(awk '/^layer/ && $6 != "fp32" { printf "%s%d%s", n++ ? " " : "", $3, $8 == "range" ? "w" : "s" }' "$work/play.int8")"
    check "search-$1-runs" [ "$(wc -l <"$work/runs")" -le "$3" ]
}
plays all '1s 2s 3s' 1 0.05 '100 100 100' '.01 .01 .01' '.1 .1 .1'
plays wide '1w 2w 3w' 2 0.05 '100 100 100' '.1 .1 .1' '.01 .01 .01'
plays both '1s 2w 3s' 10 0.05 '100 100 100' '.02 .1 .02' '.1 .02 .1'
plays best '1w 3w 5w' 24 0.05 '900 100 900 100 900' '.9 .9 .9 .9 .9' '.02 .04 .02 .04 .02'
plays none '' 24 0.05 '900 900' '.9 .9' '.9 .9'
check search-reason grep -qx '# 1 1 900 1 1 40.0  fp32: too much error' "$work/play.int8"
check search-line grep -qx 'darknet-gemm: the outputs differ by 0 of the largest, at most 0.05: 0 of 2 layers in 8 bits, 2 kept for their error, 0 for the reasons in the table' "$work/said"

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
        judge "${name%:*}" "$network" "${name#*:}" 15
        keeps_labels "${name%:*}"
    else
        skip "f1-of-${name%:*}" "no ${network##*/}.weights in $models (MODELS=folder)"
    fi
done

finish
