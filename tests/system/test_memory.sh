#!/bin/sh
# SPDX-License-Identifier: MIT
# The workspace of im2col is not allocated when the hook takes every convolution, and is when not. What
# plans keep stays in bounds, those of GEMM_KEEP too. Where memory is limited so far that an unpatched Darknet just runs, the
# patched one runs too. A list of pictures uses its memory again.
. tests/support/lib.sh

# peak CONV: peak resident memory of a detection, in KiB
peak()
{
    GEMM_CONV=$1 GEMM_THREADS=1 /usr/bin/time -f %M ./darknet detect cfg/yolov3-tiny.cfg \
        $BUILD/yolov3-tiny-untrained.weights data/kite.jpg 2>&1 >/dev/null | tail -n 1
}

if [ ! -x /usr/bin/time ]; then
    skip memory 'GNU time is not installed'
    finish
fi
# Without Winograd, because its plans keep more than the workspace would take.
direct=$(peak direct) im2col=$(peak im2col) hook=$(peak hook)
# The largest workspace of yolov3-tiny: 208 x 208 places of 9 x 16 taps.
workspace=$((208 * 208 * 9 * 16 * 4 / 1024))
if [ $((im2col - direct)) -ge $((workspace * 9 / 10)) ]; then
    pass memory-workspace
else
    fail memory-workspace "the hook needs $direct KiB, im2col $im2col: less than $workspace apart"
fi
most=$((75 * 1000 * 1000 / 1024))
if [ "$hook" -le $most ]; then
    pass memory-plans
else
    fail memory-plans "a detection with plans needs $hook KiB, more than $most"
fi

# ---- GEMM_KEEP: three pictures in one process, because the second pass prepares most ----
# keeping BYTES...: their boxes to $work/boxes, and the most that was kept to $most
keeping()
{
    for picture in kite dog horses; do echo data/$picture.jpg; done |
        GEMM_TRACE=$work/trace GEMM_IMPL=packed env "$@" ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights 2>/dev/null |
        sed 's/^Enter Image Path: //; s/: Predicted in .*//' >"$work/boxes"
    most=$(awk -F, 'NR > 1 && $17 + 0 > most { most = $17 + 0 } END { print most + 0 }' "$work/trace")
}
keeping GEMM_THREADS=2
all=$most
mv "$work/boxes" "$work/all"
check memory-keep-traced [ "$all" -gt 400000 ]
for keep in 0:0 100K:102400 300000:300000; do
    keeping GEMM_KEEP=${keep%:*}
    check "memory-keep-${keep%:*}-bound" [ "$most" -le "${keep#*:}" ]
    [ "$keep" = 0:0 ] || check "memory-keep-${keep%:*}-used" [ "$most" -gt 0 ]
    check "memory-keep-${keep%:*}-boxes" cmp "$work/boxes" "$work/all"
done
keeping GEMM_KEEP=1G
check memory-keep-more [ "$most" = "$all" ]
rm -f predictions.jpg

# ---- A list of pictures uses memory again ----
# faults PICTURES: page faults of a process
faults()
{
    for _ in $(seq "$1"); do echo data/dog.jpg; done |
        GEMM_IMPL=packed GEMM_THREADS=2 /usr/bin/time -f %R ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights 2>&1 >/dev/null | tail -n 1
}
few=$(faults 3) many=$(faults 13)
if [ $((many - few)) -le 1000 ]; then
    pass memory-list
else
    fail memory-list "13 pictures have $many page faults, and 3 have $few"
fi
rm -f predictions.jpg

# ---- One picture writes no array that only training reads ----
# Each of 60 layers has such an array of 86 KB, which the heap's pad has room for.
{
    printf '[net]\nwidth=26\nheight=26\nchannels=3\n'
    for _ in $(seq 60); do printf '[convolutional]\nbatch_normalize=1\nfilters=32\nsize=1\nactivation=leaky\n'; done
    printf '[convolutional]\nfilters=18\nsize=1\nactivation=linear\n'
    printf '[yolo]\nmask=0,1,2\nanchors=1,1,2,2,3,3\nclasses=1\nnum=3\n'
} >"$work/deep.cfg"
{ printf '\0\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; head -c 400000 /dev/zero; } >"$work/deep.weights"
deep()
{
    GEMM_IMPL=packed GEMM_THREADS=2 /usr/bin/time -f %R ./darknet detect "$work/deep.cfg" "$work/deep.weights" "$@" 2>&1 >/dev/null |
        tail -n 1
}
one=$(deep data/dog.jpg) list=$(echo data/dog.jpg | deep)
if [ $((list - one)) -ge 600 ]; then
    pass memory-one-picture
else
    fail memory-one-picture "one picture has $one page faults, and a list of one $list"
fi
rm -f predictions.jpg

# detect_within v|d KIB PROGRAM: with so many addresses, or so much data; plans keep all that they can at once
detect_within()
{
    (
        ulimit -c 0
        ulimit -$1 $2
        cd "$work/limited" || exit 1
        GEMM_PREPARE=first exec "$3" detect cfg/yolov3-tiny.cfg $BUILD/yolov3-tiny-untrained.weights data/kite.jpg
    ) >"$work/output" 2>&1
    grep -q 'Predicted in' "$work/output"
}

# What unpatched Darknet needs by this system's libraries, in steps of 10 MB: it cannot be less than
# weights and outputs.
darknet_folder "$work/limited"
least=240000
until detect_within v $least "$BUILD/upstream/darknet" 2>/dev/null || [ $least -ge 400000 ]; do
    least=$((least + 10000))
done
# All in this range failed when plans took what was left.
for more in 0 20000 40000 60000; do
    for threads in 2 16; do
        what="memory-of-$more-KiB-more, $threads threads"
        if GEMM_THREADS=$threads detect_within v $((least + more)) "$root/darknet"; then
            pass "$what"
        else
            fail "$what" "$((least + more)) KiB of addresses: $(tail -n 2 "$work/output")"
        fi
    done
done
if GEMM_KEEP=8G detect_within v $((least + 20000)) "$root/darknet"; then
    pass memory-keep-heeds-addresses
else
    fail memory-keep-heeds-addresses "$((least + 20000)) KiB of addresses: $(tail -n 2 "$work/output")"
fi
if detect_within d $((least + 20000)) "$root/darknet"; then
    pass memory-data
else
    fail memory-data "$((least + 20000)) KiB of data: $(tail -n 2 "$work/output")"
fi
finish
