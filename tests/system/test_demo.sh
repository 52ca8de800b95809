#!/bin/sh
# SPDX-License-Identifier: MIT
# The demonstration network on the pictures that it was trained on.
#
#   tests/system/test_demo.sh [ROW...]   the rows to be compared; without any, all usable rows
#
# Files: their size. Unpatched Darknet: what it has to find, and no class besides. Rows: the
# same labels as unpatched Darknet, by gemm (GEMM_CONV=im2col) and by whole convolutions (hook), and
# raw outputs as stock. `make detect` with and without the published weights. Weights of another cfg.
# Training: the same weights from two runs; Ctrl-C; bad input.
. tests/support/lib.sh

cfg=cfg/kite-demo.cfg
weights=cfg/kite-demo.weights
pictures='kite dog horses giraffe eagle person scream'
hooked=packed,cl,hybrid,auto
# Of rows that are not hooked, `make test` draws each fourth one for the labels. Outputs are of all rows.
every=1
if [ $# = 0 ]; then
    set -- $(./gemm-bench --list | awk -F '\t' '$2 == "usable" { print $1 }')
    every=$(few_or_all 4 1)
fi
rows=$*
darknet_folder "$work/here"

size=$(cat $cfg $weights | wc -c)
if [ "$size" -le 500000 ]; then
    pass demo-size
else
    fail demo-size "cfg and weights have $size bytes, not 500000 at most"
fi

# labels PROGRAM [PICTURE...]: what one process prints about them, or all, but for the times
labels()
{
    program=$1
    shift
    [ $# != 0 ] || set -- $pictures
    for picture; do echo "data/$picture.jpg"; done |
        (cd "$work/here" && "$program" detect $cfg $weights 2>/dev/null) |
        sed 's/^Enter Image Path: //; s/: Predicted in .*//'
}

# found PICTURE: its lines of unpatched Darknet, as "class=count ..." in alphabetical order
found()
{
    awk -v picture="data/$1.jpg" '/^data\// { mine = $1 == picture; next }
        mine && /%$/ { sub(/: .*/, ""); print }' "$work/expected" |
        sort | uniq -c | awk '{ printf "%s%s=%d", NR == 1 ? "" : " ", $2, $1 }'
}

# expect_found PICTURE "CLASS=COUNT ...": these classes, each so often, and no other
expect_found()
{
    if [ "$(found "$1")" = "$2" ]; then
        pass "demo-finds-$1"
    else
        fail "demo-finds-$1" "unpatched Darknet finds '$(found "$1")', not '$2'"
    fi
}

labels "$BUILD/upstream/darknet" >"$work/expected"
expect_found kite 'kite=7 person=10'
expect_found dog 'bicycle=1 dog=1 motorbike=1 truck=1'
expect_found horses 'horse=5'
expect_found giraffe 'giraffe=1 zebra=1'
expect_found eagle 'bird=1'
expect_found person 'dog=1 horse=1 person=1'
expect_found scream 'person=1'

# `make test` compares most rows on one picture.
labels "$BUILD/upstream/darknet" kite >"$work/expected.kite"

# compare_labels NAME CONV ROW
compare_labels()
{
    seen= expected=$work/expected
    case ,stock,hybrid,$hooked, in
    *,$3,*) ;;
    *) seen=$(few_or_all kite '') expected=$work/expected$(few_or_all .kite '') ;;
    esac
    if GEMM_CONV=$2 GEMM_IMPL=$3 labels ./darknet $seen | cmp -s - "$expected"; then
        pass "$1"
    else
        repeat="GEMM_CONV=$2 GEMM_IMPL=$3 ./darknet detect $cfg $weights data/kite.jpg"
        fail "$1" "not the labels of unpatched Darknet; repeat with: $repeat"
    fi
}

number=${SEED:-1}
for row in $rows; do
    case $row in *_bf16 | *_fp16) continue ;; esac      # they round: test_half.sh allows for that
    number=$((number + 1))
    case ,stock,$hooked, in *,$row,*) ;; *) [ $((number % every)) = 0 ] || continue ;; esac
    compare_labels "demo-labels-$row" im2col "$row"
    case ,$hooked, in *,$row,*) compare_labels "demo-labels-hook-$row" hook "$row" ;; esac
done

# Those labels must be of Winograd's algorithm too, which computes layers of this network.
case " $rows " in *' packed '*)
    GEMM_CONV=hook GEMM_IMPL=packed GEMM_CHECK=1 GEMM_TRACE=$work/trace.csv labels ./darknet \
        >"$work/labels"
    layers=$(grep -c ',winograd[24],,' "$work/trace.csv")
    if cmp -s "$work/labels" "$work/expected" && [ "$layers" -ge 7 ]; then
        pass demo-labels-winograd
    else
        fail demo-labels-winograd "not the labels of unpatched Darknet, or only $layers layers of 7 pictures by Winograd"
    fi
    ;;
esac

# compare_outputs NAME CONV ROW...: a line of detect_all's table for each row, and none that differs
compare_outputs()
{
    name=$1 conv=$2
    shift 2
    GEMM_CONV=$conv "$OUT/bench/detect_all" --rows "$(echo "$@" | tr ' ' ,)" $cfg $weights \
        $(few_or_all data/dog.jpg 'data/kite.jpg data/dog.jpg') >"$work/table" 2>"$work/error"
    status=$?
    equal=$(awk 'NR > 1 && $4 == "yes" && $6 == ""' "$work/table" | wc -l)
    if [ $status = 0 ] && [ "$equal" = $# ]; then
        pass "$name"
    else
        wrong=$(grep -E 'NO|WRONG' "$work/table" | head -n 1)
        fail "$name" "$equal of $# rows as stock; $(tail -n 1 "$work/error") $wrong"
    fi
}

compare_outputs demo-outputs im2col $rows
set --
for row in $rows; do
    case ,$hooked, in *,$row,*) set -- "$@" "$row" ;; esac
done
[ $# = 0 ] || compare_outputs demo-outputs-hook hook "$@"

# `make detect`, with weights that can be downloaded and with none. It leaves its picture in $root.
[ ! -f predictions.jpg ] || mv predictions.jpg "$work/before.jpg"
cp "$BUILD/yolov3-tiny-untrained.weights" "$work/published"
WEIGHTS_SHA256=$(sha256sum <"$work/published" | cut -d ' ' -f 1)
export WEIGHTS_SHA256

# make_detect FOLDER: its output; the downloaded or untrained weights go to FOLDER
make_detect()
{
    mkdir -p "$work/$1"
    rm -f predictions.jpg
    make detect INSTALL=0 DETECTED="$work/detect" GEMM_IMPL=stock TRAINED="$work/$1/got.weights" \
        UNTRAINED="$work/$1/none-untrained.weights" WEIGHTS_URLS="file://$work/published" \
        >"$work/$1/output" 2>&1
}

if make_detect online && [ "$(grep -c 'Predicted in' "$work/online/output")" = 1 ] &&
    [ -f "$work/online/got.weights" ] && ! grep -q demo "$work/online/output"; then
    pass detect-online
else
    fail detect-online "not one detection with the published weights: $(tail -n 3 "$work/online/output")"
fi
echo more >>"$work/published"
make_detect offline
status=$?
(cd "$work/here" && GEMM_IMPL=stock ./darknet detect $cfg $weights data/kite.jpg >/dev/null 2>&1)
if [ $status = 0 ] && [ ! -f "$work/offline/got.weights" ] &&
    [ "$(grep -c '^untrained, for its time: data/kite.jpg: Predicted in' "$work/offline/output")" = 1 ] &&
    [ "$(grep -c '^kite-demo, for its boxes: .*%$' "$work/offline/output")" = 17 ]; then
    pass detect-offline
else
    fail detect-offline "status $status, not two detections: $(tail -n 3 "$work/offline/output")"
fi
if cmp predictions.jpg "$work/here/predictions.jpg" >"$work/output" 2>&1; then
    pass detect-offline-picture
else
    fail detect-offline-picture "not the boxes of kite-demo: $(cat "$work/output")"
fi
unset WEIGHTS_SHA256
rm -f predictions.jpg
[ ! -f "$work/before.jpg" ] || mv "$work/before.jpg" predictions.jpg

# Weights and a cfg that do not belong together; a cfg with other classes.
untrained=$BUILD/yolov3-tiny-untrained.weights
expect demo-weights-of-tiny 'this cfg needs its first 443704 bytes alone' ./darknet detect $cfg "$untrained" data/kite.jpg
expect_failure demo-cfg-of-tiny 'too short' ./darknet detect cfg/yolov3-tiny.cfg $weights data/kite.jpg
sed 's/^classes=34$/classes=20/; s/^filters=117$/filters=75/; s/^filters=156$/filters=100/' $cfg \
    >"$work/fewer.cfg"
sed 's/^classes=34$/classes=80/; s/^filters=117$/filters=255/; s/^filters=156$/filters=340/' $cfg \
    >"$work/more.cfg"
expect demo-fewer-classes 'this cfg needs its first' \
    ./darknet detect "$work/fewer.cfg" $weights data/kite.jpg
expect_failure demo-more-classes 'too short' ./darknet detect "$work/more.cfg" $weights data/kite.jpg
cp $weights "$work/longer.weights"
printf 1234 >>"$work/longer.weights"
expect demo-longer-weights 'this cfg needs its first 443704 bytes alone' \
    ./darknet detect $cfg "$work/longer.weights" data/kite.jpg
head -c 443700 $weights >"$work/shorter.weights"
expect_failure demo-shorter-weights 'Weights file is too short for this cfg' \
    ./darknet detect $cfg "$work/shorter.weights" data/kite.jpg

pictures_paths=$(for picture in $pictures; do echo "data/$picture.jpg"; done)

# Two short trainings, with one thread and with all: the same weights.
train()
{
    "$OUT/demo/train" --no-times --iterations 3 "$BUILD/demo/train.cfg" "$work/$1" demo \
        $pictures_paths >"$work/output" 2>&1
}
if GEMM_THREADS=1 train first && train second &&
    cmp "$work/first" "$work/second" >"$work/output" 2>&1; then
    pass demo-training-repeats
else
    fail demo-training-repeats "$(tail -n 1 "$work/output")"
fi
if cmp -s "$work/first" $weights; then
    fail demo-training-trains "3 iterations give the weights of the tree"
else
    pass demo-training-trains
fi

# Interrupted before any weights are good: the file that was there stays.
cp "$work/first" "$work/interrupted"
"$OUT/demo/train" --no-times --iterations 100000 "$BUILD/demo/train.cfg" \
    "$work/interrupted" demo $pictures_paths >"$work/output" 2>"$work/error" &
training=$!
while kill -0 $training 2>/dev/null && ! grep -q Training "$work/output"; do sleep 0.1; done
kill -INT $training
wait $training
status=$?
if [ $status = 130 ] && cmp -s "$work/first" "$work/interrupted" &&
    grep -q 'not written' "$work/output"; then
    pass demo-training-interrupted
else
    fail demo-training-interrupted "status $status: $(tail -n 1 "$work/output")"
fi

expect_failure demo-training-batch 'batch is not the number of pictures' \
    "$OUT/demo/train" $cfg "$work/third" demo data/kite.jpg data/dog.jpg
expect_failure demo-training-labels "Couldn't open file" \
    "$OUT/demo/train" $cfg "$work/third" "$work" data/kite.jpg

finish
