#!/bin/sh
# SPDX-License-Identifier: MIT
# A start without random numbers changes nothing that can be seen, and neither does the faster way to
# read, draw and write pictures (0002, 0004 and 0010 in patches/pjreddie/extra).
#
#   tests/system/test_start.sh FIXED_TIME.so      (an absolute path)
#
# Against unpatched Darknet, under row stock: the first weights of a network without a weights file,
# the weights after some iterations of `detector train`, and what detect draws and prints.
. tests/support/lib.sh

fixed_time=$1
cfg=cfg/kite-demo.cfg
weights=cfg/kite-demo.weights
darknet_folder "$work/here"

# program upstream|patched: its path
program()
{
    case $1 in
    upstream) echo "$BUILD/upstream/darknet" ;;
    patched) echo "$root/darknet" ;;
    esac
}

# same NAME EXPECTED FOUND: two files with the same content, and with any
same()
{
    if [ -s "$2" ] && cmp -s "$2" "$3"; then
        pass "$1"
    else
        fail "$1" "$(wc -c <"$2") bytes of unpatched Darknet, $(wc -c <"$3") here, not the same"
    fi
}

# The first weights: `partial` writes them, and no rand() comes before them.
for name in kite-demo resnet18 darknet19; do
    for side in upstream patched; do
        (cd "$work/here" && "$(program $side)" partial cfg/$name.cfg '' "$work/$side.weights" 1000) \
            >"$work/output" 2>&1
    done
    same "start-first-weights-$name" "$work/upstream.weights" "$work/patched.weights"
done

# Training from nothing and from weights of the first layers alone. With one picture a batch, one
# loader thread alone draws random numbers.
mkdir "$work/images" "$work/labels"
cp data/dog.jpg "$work/images"
cp demo/dog.txt "$work/labels"
echo "$work/images/dog.jpg" >"$work/list"
sed 's/^max_batches=.*/max_batches=3/; s/^burn_in=.*/burn_in=0/' $cfg >"$work/few.cfg"
"$(program upstream)" partial $cfg $weights "$work/first.weights" 5 >"$work/output" 2>&1

# train SIDE FOLDER [WEIGHTS]: leaves FOLDER/few_final.weights
train()
{
    side=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    printf 'classes=34\ntrain=%s\nbackup=%s\nnames=data/coco.names\n' "$work/list" "$folder" \
        >"$folder/data"
    LD_PRELOAD=$fixed_time GEMM_IMPL=stock \
        "$(program $side)" detector train "$folder/data" "$work/few.cfg" "$@" >"$folder/output" 2>&1
}
# The weights of another network end inside a layer.
head -c 9000 $weights >"$work/inside.weights"
for start in nothing first inside; do
    file=$work/$start.weights
    [ $start != nothing ] || file=
    train upstream "$work/upstream-$start" $file
    train patched "$work/patched-$start" $file
    same "start-training-from-$start" "$work/upstream-$start/few_final.weights" \
        "$work/patched-$start/few_final.weights"
done
check start-training-inside-said grep -q 'it ends at layer 2, and what is missing stays as it was, Done!' \
    "$work/patched-inside/output"
if cmp -s "$work/upstream-nothing/few_final.weights" "$work/upstream-first/few_final.weights"; then
    fail start-training-weights "the weights of the first layers make no difference"
else
    pass start-training-weights
fi

# ---- Pictures ----
# Where the compiler rounds as C says, the two writers give the same bytes.
for side in upstream darknet; do
    ${CC:-cc} -std=gnu11 -O2 -ffp-contract=off -w -DSTB_IMAGE_IMPLEMENTATION -DSTB_IMAGE_WRITE_IMPLEMENTATION \
        -D_GNU_SOURCE -I "$BUILD/$side/src" tests/support/pictures.c -o "$work/pictures-$side" -lm &&
        "$work/pictures-$side" write "$work/$side.written" data/*.jpg
done
same start-written-bytes "$work/upstream.written" "$work/darknet.written"

# same_pixels NAME EXPECTED FOUND: two pictures that nobody can tell apart. Darknet is compiled with
# -Ofast, where the compiler may round two copies of a loop differently.
same_pixels()
{
    found=$("$work/pictures-upstream" differ "$2" "$3") || found='no two pictures of one size'
    echo "$found" | awk '{ exit !(NF == 3 && $1 <= 16 && $2 <= $3 / 100) }' && pass "$1" ||
        fail "$1" "largest difference, samples that differ, all samples: $found"
}

# detect NAME CFG PICTURE OPTION...: prints and draws the same as unpatched Darknet
detect()
{
    name=$1 with=$2 picture=$3
    shift 3
    for side in upstream patched; do
        (cd "$work/here" && rm -f predictions.jpg && GEMM_IMPL=stock \
            "$(program $side)" detect "$with" $weights "data/$picture" "$@" 2>/dev/null) |
            grep -v Predicted >"$work/$side.labels"
        mv "$work/here/predictions.jpg" "$work/$side.jpg"
    done
    same "$name-labels" "$work/upstream.labels" "$work/patched.labels"
    same_pixels "$name-picture" "$work/upstream.jpg" "$work/patched.jpg"
}
for picture in kite dog horses giraffe eagle person scream; do detect "start-$picture" $cfg $picture.jpg; done

# A layer that the file does not fill keeps its random weights. Here it is the last one, so the
# boxes mean nothing.
for option in dontload numload; do
    awk -v option="$option" '{ print } /^\[convolutional\]/ && ++n == 11 { print option "=1" }' \
        $cfg >"$work/$option.cfg"
    detect "start-$option" "$work/$option.cfg" dog.jpg -thresh .9
done

# ---- Letters ----
# The letters are there when the program has gone elsewhere and closed its files.
${CC:-cc} -std=gnu11 -w -I "$BUILD/darknet/include" tests/support/letters.c "$OUT/libdarknet.so" \
    -Wl,-rpath,"$OUT" -lm -o "$work/letters"
for text in dog жук 'é	?'; do
    (cd "$work/here" && "$work/letters" leave "$text") >>"$work/found" 2>&1
done
for text in dog '???' '??'; do
    (cd "$work/here" && "$work/letters" stay "$text") >>"$work/expected" 2>&1
done
same start-letters "$work/expected" "$work/found"
check start-letters-long sh -c "cd '$work/here' && '$work/letters' long собака"

# detect reads a letter when it is drawn, and says at the start that there are none.
darknet_folder "$work/lean"
rm "$work/lean/data"
mkdir -p "$work/lean/data/labels"
ln -s "$root"/data/*.jpg "$root"/data/*.names "$work/lean/data"
cp "$root"/data/labels/32_*.png "$work/lean/data/labels"
lean() { (cd "$work/lean" && ./darknet detect $cfg $weights data/kite.jpg); }
expect_failure start-letter-missing "Couldn't open file: data/labels/" lean
check start-letter-missing-boxes grep -q '^kite: ' "$work/output"
cp "$root"/data/labels/*_[0-3].png "$work/lean/data/labels"
check start-letters-of-small-sizes lean
(cd "$work/here" && ./darknet detect $cfg $weights data/kite.jpg >"$work/output" 2>&1)
same start-letters-drawn "$work/here/predictions.jpg" "$work/lean/predictions.jpg"
rm -r "$work/lean/data/labels"
expect_failure start-letters-missing "Couldn't open file: data/labels/32_0.png" lean
check start-letters-missing-first [ "$(wc -l <"$work/output")" = 1 ]

# ---- A picture as bytes ----
${CC:-cc} -std=gnu11 -w -I "$BUILD/darknet/include" tests/support/one_picture.c "$OUT/libdarknet.so" \
    -Wl,-rpath,"$OUT" -lm -o "$work/one_picture"
for picture in kite dog eagle; do
    check "start-bytes-$picture" sh -c "cd '$work/here' && '$work/one_picture' data/$picture.jpg && cmp floats.jpg bytes.jpg"
done

# Weights for some layers only: detect says so.
expect_failure start-short-weights 'Weights file is too short' \
    ./darknet detect $cfg "$work/first.weights" data/dog.jpg

finish
