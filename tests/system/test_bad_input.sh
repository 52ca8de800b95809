#!/bin/sh
# SPDX-License-Identifier: MIT
# Bad input of every kind ends with its message and a non-zero status.
. tests/support/lib.sh

weights=$1      # of cfg/yolov3-tiny.cfg
darknet_folder "$work/here"
cd "$work/here" || exit 1
mkdir directory

detect="./darknet detect cfg/yolov3-tiny.cfg $weights data/kite.jpg"

# own_line NAME PATTERN: of the last output; Darknet's table of layers prints half a line before each layer
own_line()
{
    if grep -q "^$2" "$work/output"; then pass "$1"; else fail "$1" "no line begins with '$2': $(tail -n 2 "$work/output")"; fi
}

# The one line names the variable, the value and the nearest names.
expect_failure env-unknown-impl "gemm: GEMM_IMPL='blok2d' is no variant; did you mean block2d, block1d? gemm-bench --list has all" \
    env GEMM_IMPL=blok2d $detect
own_line env-unknown-impl-line "gemm: GEMM_IMPL='blok2d' "
expect_failure env-unknown-three "did you mean tile_8, tile_2, tile_4? gemm-bench --list has all" env GEMM_IMPL=tile8 $detect
for name in PACKED 'packed '; do
    expect_failure "env-impl-$name" "gemm: GEMM_IMPL='$name' is no variant; did you mean packed? gemm-bench --list has all" \
        env GEMM_IMPL="$name" $detect
done
expect_failure env-empty-impl "GEMM_IMPL='' is no variant" env GEMM_IMPL= $detect
for threads in 0 -1 two 2x 1025 '' ' 2' +2 0x2 99999999999999999999; do
    expect_failure "env-threads-$threads" "GEMM_THREADS='$threads' is no whole number from 1 to 1024" \
        env GEMM_THREADS="$threads" $detect
done
foreign=neon
[ "$(uname -m)" = aarch64 ] && foreign=avx2
for isa in "$foreign" sse9 ''; do
    expect_failure "env-isa-$isa" "GEMM_ISA='$isa' is no instruction set that this processor and this build have; they have:" \
        env GEMM_ISA="$isa" $detect
    grep -q 'they have: .*generic$' "$work/output" && pass "env-isa-$isa-list" ||
        fail "env-isa-$isa-list" "$(tail -n 1 "$work/output")"
done
for conv in winograd ''; do
    expect_failure "env-conv-$conv" "GEMM_CONV='$conv' is none of hook, direct, im2col" \
        env GEMM_CONV="$conv" $detect
done
check env-conv-direct env GEMM_CONV=direct ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg
expect_failure env-prepare "GEMM_PREPARE='third' is neither first nor second" env GEMM_PREPARE=third $detect
expect_failure env-reproducible "GEMM_REPRODUCIBLE='yes' is neither 0 nor 1" env GEMM_REPRODUCIBLE=yes $detect
for row in stock packed_bf16; do
    expect_failure "env-reproducible-$row" "GEMM_IMPL=$row cannot run here: GEMM_REPRODUCIBLE=1 is for packed alone" \
        env GEMM_REPRODUCIBLE=1 GEMM_IMPL=$row $detect
done
check env-reproducible-auto env GEMM_REPRODUCIBLE=1 GEMM_TRACE="$work/reproducible.csv" \
    ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg
check env-reproducible-trace sh -c "awk -F, 'NR > 1 { rows += \$1 == \"packed\" && \$16 ~ /^reproducible/ } END { exit rows != NR - 1 || NR < 5 }' $work/reproducible.csv"
for row in packed packed_bf16 packed_int8 hybrid auto; do
    expect_failure "env-way-$row" "GEMM_WAY='Direct' is no way of $row; the ways are: dots winograd4 " \
        env GEMM_IMPL=$row GEMM_WAY=Direct $detect
done
expect_failure env-way-foreign "GEMM_WAY='direct' is no way of packed; " env GEMM_IMPL=packed GEMM_WAY=direct $detect
for row in stock cl_image; do
    expect_failure "env-way-$row" "GEMM_WAY='implicit': $row has one way only (packed, cl, hybrid and auto have several)" \
        env GEMM_IMPL=$row GEMM_WAY=implicit $detect
done
expect_failure env-way-tune "GEMM_TUNE=1 measures what is taken without GEMM_WAY='implicit'; unset one" \
    env GEMM_TUNE=1 GEMM_WAY=implicit $detect
expect_failure env-check "GEMM_CHECK='yes' is neither 0 nor 1" env GEMM_CHECK=yes $detect
for keep in '' -1 64MB 1T 1.5G ' 1M' 0x10 99999999999999999999 17179869184G; do
    expect_failure "env-keep-$keep" "GEMM_KEEP='$keep' is no number of bytes; allowed is a whole number" \
        env GEMM_KEEP="$keep" $detect
done
expect_failure env-bind "GEMM_BIND='' is neither 0 nor 1" env GEMM_BIND= $detect
mkdir "$work/empty"
for file in libblis.so libclblast.so; do ${CC:-cc} -shared -fPIC -x c /dev/null -o "$work/empty/$file" || exit 1; done
expect_failure env-ref "GEMM_IMPL=blis cannot run here: libblis.so has no cblas_sgemm" \
    env GEMM_IMPL=blis LD_LIBRARY_PATH="$work/empty" $detect
expect_failure env-clblast-other "libclblast.so has no CLBlastSgemm" \
    env GEMM_IMPL=clblast LD_LIBRARY_PATH="$work/empty" $detect
expect_failure env-trace-folder "GEMM_TRACE='nowhere/trace.csv' cannot be written: No such file" \
    env GEMM_TRACE=nowhere/trace.csv $detect
expect_failure env-trace-directory "GEMM_TRACE='directory' cannot be written: Is a directory" \
    env GEMM_TRACE=directory $detect
expect_failure env-trace-full "GEMM_TRACE='/dev/full' cannot be written: No space left" \
    env GEMM_TRACE=/dev/full $detect

# refused NAME MESSAGE COMMAND...: with status 2
refused() { expect_failure "$@"; check "$1-status" [ $status = 2 ]; }
refused option-unknown 'Not an option of detect, or without its value: -tresh (there are -thresh NUMBER,' $detect -tresh .3
refused option-of-detector 'Not an option of detector, or without its value: -tresh' ./darknet detector test cfg/coco.data \
    cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg -tresh .3
refused option-without-value 'Not an option of detect, or without its value: -thresh' $detect -thresh
refused function-unknown 'Not an option: --help' ./darknet --help
refused function-none 'usage: ./darknet' ./darknet
refused function-of-detector 'not tset' ./darknet detector tset cfg/coco.data cfg/kite-demo.cfg
refused cfg-not-named 'detect needs a cfg file: ./darknet detect CFG WEIGHTS [PICTURE]' ./darknet detect
refused other-folder 'detect reads cfg/coco.data and data/ in the current folder' \
    sh -c 'cd directory && exec ../darknet detect "$1" "$2" x.jpg' - "$root/cfg/kite-demo.cfg" "$root/cfg/kite-demo.weights"
expect_failure video-without-opencv 'Demo needs OpenCV for webcams and videos' \
    ./darknet detector demo cfg/coco.data cfg/kite-demo.cfg cfg/kite-demo.weights film.mp4
expect option-before-picture 'Predicted in' ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights -out drawn data/kite.jpg

yolo="./darknet detect cfg/yolov3-tiny.cfg"
needs='detect needs a weights file: ./darknet detect CFG WEIGHTS [PICTURE]'
expect_failure weights-not-named "$needs" $yolo
expect_failure weights-empty-name "$needs" $yolo '' data/kite.jpg
expect_failure weights-missing "Couldn't open file: missing.weights" $yolo missing.weights data/kite.jpg
expect_failure weights-directory 'cannot be read or is too short' $yolo directory data/kite.jpg
for bytes in 0 10 20 1000 35434952; do
    head -c $bytes "$weights" >short.weights
    expect_failure "weights-of-$bytes-bytes" 'too short' $yolo short.weights data/kite.jpg
done
expect_failure weights-short-for-valid 'too short' ./darknet detector valid cfg/coco.data cfg/yolov3-tiny.cfg short.weights
# 20 bytes of header, then the first convolution: 3 x 16 of batch norm, 16 biases, 16 x 27 weights.
head -c $((20 + 4 * (4 * 16 + 16 * 27))) "$weights" >one-layer.weights
expect_failure weights-of-one-layer 'Weights file is too short for this cfg: a layer without its weights finds nothing' \
    $yolo one-layer.weights data/kite.jpg

expect_failure image-missing 'Cannot load image "missing.jpg"' $yolo "$weights" missing.jpg
expect_failure image-directory 'Cannot load image "directory"' $yolo "$weights" directory
echo 'no picture' >text.jpg
expect_failure image-is-text 'Cannot load image "text.jpg"' $yolo "$weights" text.jpg

# Another thread reads the picture, and what is said first stays so.
# first_is NAME: of two files that fail, one alone was said
first_is() { check "$1-alone" sh -c '! grep -q "Cannot load image" "$1"' - "$work/output"; }
expect_failure image-and-cfg-missing "Couldn't open file: missing.cfg" ./darknet detect missing.cfg "$weights" missing.jpg
first_is image-and-cfg
expect_failure image-and-weights-missing "Couldn't open file: missing.weights" $yolo missing.weights missing.jpg
first_is image-and-weights
expect_failure image-and-weights-short 'Weights file is too short for this cfg' $yolo one-layer.weights missing.jpg
first_is image-and-short
expect_failure cfg-missing "Couldn't open file: missing.cfg" ./darknet detect missing.cfg "$weights" data/kite.jpg
expect_failure cfg-directory 'Config file cannot be read or has no layers' \
    ./darknet detect directory "$weights" data/kite.jpg
: >empty.cfg
expect_failure cfg-empty 'Config file cannot be read or has no layers' \
    ./darknet detect empty.cfg "$weights" data/kite.jpg
echo 'width=416' >no-section.cfg
expect_failure cfg-option-outside 'no-section.cfg, line 1 comes before the first section: width=416' \
    ./darknet detect no-section.cfg "$weights" data/kite.jpg
printf '[net]\nwidth=32\nheight=32\nchannels=3\n[konvolutional]\nfilters=1\n' >no-type.cfg
expect_failure cfg-unknown-layer 'no-type.cfg, line 5, [konvolutional]: this Darknet has no such layer' \
    ./darknet detect no-type.cfg "$weights" data/kite.jpg
own_line cfg-unknown-layer-line 'Config file no-type.cfg, line 5, '

# What cannot be written: a full disk, of which nothing stays, and a folder of this name.
kite='./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg'
ln -sf /dev/full predictions.jpg
expect_failure picture-disk-full 'Picture predictions.jpg cannot be written: No space left on device' $kite
[ ! -L predictions.jpg ] && pass picture-not-half-written || fail picture-not-half-written 'predictions.jpg is still there'
rm -f predictions.jpg && mkdir predictions.jpg
expect_failure picture-is-folder 'Picture predictions.jpg cannot be written: Is a directory' $kite
rmdir predictions.jpg
check picture-written $kite

# ---- Lists of pictures ----
# list NAME STATUS PICTURES MESSAGES MESSAGE COMMAND...: standard input has the names. MESSAGE (a basic regular
# expression) comes MESSAGES times.
list()
{
    name=$1 expected="$2 $3 $4" message=$5
    shift 5
    "$@" >"$work/output" 2>&1
    status=$?
    found="$status $(grep -c 'Predicted in\|^ *[0-9.]*%: ' "$work/output") $(grep -c "$message" "$work/output")"
    [ "$found" = "$expected" ] && pass "$name" || fail "$name" "status, pictures, messages: $found, not $expected"
}
kites='./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights'
# More than 256 bytes, and none of the letters is ASCII.
long=$(printf 'ж%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36)
long=$long/$long/$long/$long
mkdir -p "$long" && ln -s "$root/data/kite.jpg" "$long/kite.jpg"
printf 'missing.jpg\r\ndata/dog.jpg\n\ntext.jpg\n%s\ndata/horses.jpg' "$long/kite.jpg" >names
list list-read 1 3 2 'Cannot load image "\(missing\|text\).jpg"' $kites <names
list list-read-well 0 1 0 'Cannot' $kites <<EOF
data/kite.jpg
EOF
# One picture and the last of a list have the same boxes, with their order, and the same picture.
$kites data/kite.jpg | sed 's/.*Predicted in.*//' >one-boxes
mv predictions.jpg one.jpg
echo data/kite.jpg | $kites 2>/dev/null | sed 's/.*Predicted in.*//; s/^Enter Image Path: //' >list-boxes
check one-boxes sh -c '[ $(wc -l <one-boxes) -ge 3 ] && echo | cat list-boxes - | diff -B one-boxes -'
check one-picture cmp one.jpg predictions.jpg
# The boxes are there before the picture is written, which waits here.
rm predictions.jpg && mkfifo predictions.jpg
$kites data/kite.jpg >early 2>/dev/null &
for _ in $(seq 200); do ! grep -q '%$' early || break; sleep 0.1; done
check one-early sh -c '[ $(grep -c "%\$" early) = $(grep -c "%\$" one-boxes) ]'
cat predictions.jpg >waited.jpg
wait $!
check one-early-picture cmp one.jpg waited.jpg
rm predictions.jpg && mkdir predictions.jpg
list list-written 1 3 3 'Picture predictions.jpg cannot be written: Is a directory' $kites <<EOF
data/dog.jpg
data/kite.jpg
data/horses.jpg
EOF
rmdir predictions.jpg
back=../../../..
check list-long-output $kites data/kite.jpg -out "$long/$back/$long/$back/$long/$back/$long/drawn"
check list-long-output-is-there test -s "$long/drawn.jpg"

# `valid` of three pictures; classes have names that are not ASCII.
mkdir results
printf 'data/kite.jpg\nmissing.jpg\ndata/dog.jpg\n' >valid.list
awk '{ print "класс-é-" NR }' data/coco.names >utf8.names
printf 'classes=34\nvalid=valid.list\nnames=utf8.names\n' >valid.data
list list-valid 1 0 1 'Cannot load image "missing.jpg"' ./darknet detector valid valid.data ${kites#*detect }
found=$(cat results/comp4_det_test_класс-é-*.txt | cut -d ' ' -f 1 | sort -u | tr '\n' ' ')
[ "$found" = 'dog kite ' ] && pass list-valid-rest || fail list-valid-rest "boxes of: $found"
# Each thread takes pictures of its own: the results are the same. AlexeyAB's rules stretch pictures.
awk '{ print } /^\[net/ { print "darknet=alexeyab" }' cfg/kite-demo.cfg >stretched.cfg
for picture in kite missing dog person eagle giraffe kite dog person; do echo data/$picture.jpg; done >many.list
sed 's/valid.list/many.list/' valid.data >many.data
for cfg in cfg/kite-demo.cfg stretched.cfg; do
    for threads in 1 3; do
        rm -f results/*
        GEMM_IMPL=packed GEMM_THREADS=$threads ./darknet detector valid many.data $cfg ${kites##* } >"$work/output" 2>&1
        echo "status $?" | cat - results/* >"$work/valid-$threads"
    done
    [ "$(grep -c '^kite ' "$work/valid-3")" -gt 4 ] && cmp "$work/valid-1" "$work/valid-3" >"$work/output" 2>&1 && pass "list-valid-apart-$cfg" ||
        fail "list-valid-apart-$cfg" "$(cat "$work/output")"
done

printf '[net]\nwidth=8\nheight=8\nchannels=3\n[connected]\noutput=2\n[softmax]\n' >two.cfg
./darknet partial two.cfg '' two.weights 9 >"$work/output" 2>&1
printf 'Ж\né\n' >two.names
printf 'classes=2\nlabels=two.names\nnames=two.names\nvalid=valid.list\ntop=1\n' >two.data
list list-classify 1 4 1 'Cannot load image "missing.jpg"' \
    ./darknet classifier predict two.data two.cfg two.weights <valid.list
list list-classifier-valid 1 0 1 'Cannot load image "missing.jpg"' \
    ./darknet classifier valid two.data two.cfg two.weights
check list-classifier-valid-rest grep -q '^2: ' "$work/output"

finish
