#!/bin/sh
# A build without OpenCL, in a folder of its own: its rows say why they cannot run, the others run.
. tests/support/lib.sh

build=build/release-nocl
if ! env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s DEPS=0 OPENCL=0 $build/darknet \
    $build/bench/gemm_bench $build/tests/test_gemm >"$work/output" 2>&1; then
    fail nocl-build "$(tail -n 3 "$work/output" | tr '\n' ' ')"
    exit 1
fi
pass nocl-build

if ldd $build/darknet $build/bench/gemm_bench | grep -q OpenCL; then
    fail nocl-not-linked 'libOpenCL is linked'
else
    pass nocl-not-linked
fi

$build/bench/gemm_bench --list >"$work/list"
awk -F '\t' '$1 ~ /^cl/ { ++rows; if ($2 !~ /^unusable: built with OPENCL=0/) bad = bad " " $1 }
    END { if (rows < 9) print rows + 0 " rows"; else if (bad) print "wrong:" bad }' \
    "$work/list" >"$work/bad"
if [ -s "$work/bad" ]; then
    fail nocl-rows "$(cat "$work/bad")"
else
    pass nocl-rows
fi

if $build/tests/test_gemm --cases 1 2>&1 | sed 's/^\(PASS\|FAIL\|SKIP\) /&nocl-/' | sed 's/^SKIP .*built with OPENCL=0.*/PASS nocl-says-why/' \
    >"$work/gemm" && grep -q '^PASS nocl-says-why' "$work/gemm" && ! grep -q '^FAIL' "$work/gemm"; then
    pass nocl-test-gemm
else
    fail nocl-test-gemm "$(grep -v '^PASS' "$work/gemm" | head -n 2 | tr '\n' ' ')"
fi

darknet_folder "$work/here"
ln -sfn "$root/$build/darknet" "$work/here/darknet"
GEMM_IMPL=cl expect_failure nocl-cl 'built with OPENCL=0' sh -c \
    "cd '$work/here' && ./darknet detect cfg/yolov3-tiny.cfg '$root/build/yolov3-tiny-untrained.weights' data/kite.jpg"
exit $((failures != 0))
