#!/bin/sh
# The workspace of im2col is not allocated when the hook takes every convolution, and is when not. What
# plans keep stays in bounds.
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
most=$((220 * 1000 * 1000 / 1024))
if [ "$hook" -le $most ]; then
    pass memory-plans
else
    fail memory-plans "a detection with plans needs $hook KiB, more than $most"
fi
finish
