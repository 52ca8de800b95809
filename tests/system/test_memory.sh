#!/bin/sh
# The workspace of im2col is not allocated when the hook takes every convolution, and is when not.
. tests/support/lib.sh

# trace CONV: the largest calloc of 10 MiB and more during a detection cannot be seen from outside,
# but what it touches can: peak resident memory, in KiB.
peak()
{
    GEMM_CONV=$1 GEMM_THREADS=1 /usr/bin/time -f %M ./darknet detect cfg/yolov3-tiny.cfg \
        $BUILD/yolov3-tiny-untrained.weights data/kite.jpg 2>&1 >/dev/null | tail -n 1
}

if [ ! -x /usr/bin/time ]; then
    skip memory-workspace 'GNU time is not installed'
    finish
fi
hook=$(peak hook) im2col=$(peak im2col)
# The largest workspace of yolov3-tiny: 208 x 208 places of 9 x 16 taps.
workspace=$((208 * 208 * 9 * 16 * 4 / 1024))
if [ $((im2col - hook)) -ge $((workspace * 9 / 10)) ]; then
    pass memory-workspace
else
    fail memory-workspace "the hook needs $hook KiB, im2col $im2col: less than $workspace apart"
fi
finish
