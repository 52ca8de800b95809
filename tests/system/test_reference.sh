#!/bin/sh
# SPDX-License-Identifier: MIT
# Libraries of other people, loaded for comparison. A crash in one ends no program of this project,
# and a wrong result of one is a failure.
. tests/support/lib.sh

tests=$OUT/tests
mkdir "$work/fake"
library=$work/fake/libblis.so
if ! ${CC:-cc} -shared -fPIC -O1 tests/support/fake_blis.c -o "$library" >"$work/output" 2>&1; then
    fail reference-build "$(tail -n 1 "$work/output")"
    finish
fi

# run HOW COMMAND...: its output and status, with a library that behaves like this
run()
{
    how=$1
    shift
    LD_LIBRARY_PATH=$work/fake FAKE_BLIS=$how "$@" >"$work/output" 2>&1 </dev/null
    echo "status $?" >>"$work/output"
}

# expect NAME STATUS PATTERN: of the last run
expect()
{
    if grep -q "^status $2\$" "$work/output" && grep -q "$3" "$work/output"; then
        pass "$1"
    else
        fail "$1" "no status $2 with '$3' in: $(tail -n 3 "$work/output" | tr '\n' ' ')"
    fi
}

run right "$tests/test_gemm" --row blis --cases 300
expect reference-right 0 '^ok 1 - blis$'
run behind "$tests/test_gemm" --row blis --cases 300
expect reference-reads-behind 0 '^ok 1 - blis$'
run wrong "$tests/test_gemm" --row blis --cases 300
expect reference-wrong 1 'is off by'
run crash "$tests/test_gemm" --row blis --cases 300
expect reference-crash 0 'SKIP.*BLIS died: Segmentation fault'
# A whole network: the other rows are still tested after the crash.
run crash "$tests/test_training" tests/unit/cfg/layers.cfg
expect reference-crash-training 0 'SKIP.*BLIS died: Segmentation fault'
expect reference-crash-training-goes-on 0 '^ok .* train tests/unit/cfg/layers.cfg onednn'

# Any version is found, the newest in the first folder of the loader's path that has one.
mkdir "$work/first" "$work/second"
cp "$library" "$work/first/libblis.so.11.2"
echo 'no library' >"$work/first/libblis.so.9"
echo 'no library' >"$work/first/libblis.so.12.old"
echo 'no library' >"$work/second/libblis.so.12"
FAKE_BLIS=wrong LD_LIBRARY_PATH=$work/first:$work/second "$tests/test_gemm" --row blis --cases 300 \
    >"$work/output" 2>&1 </dev/null
echo "status $?" >>"$work/output"
expect reference-any-version 1 'is off by'

# oneDNN's matmul in bfloat16, by a library that stands in for version 3.
onednn=$work/fake/libdnnl.so
${CC:-cc} -shared -fPIC -O1 tests/support/fake_onednn.c -o "$onednn" >"$work/output" 2>&1 ||
    fail reference-build-onednn "$(tail -n 1 "$work/output")"
bf16()
{
    LD_LIBRARY_PATH=$work/fake FAKE_ONEDNN=$1 "$tests/test_gemm" --row onednn_bf16 --cases 300 >"$work/output" 2>&1 </dev/null
    echo "status $?" >>"$work/output"
}
bf16 right
expect reference-bf16-right 0 '^ok 1 - onednn_bf16$'
bf16 wrong
expect reference-bf16-wrong 1 'is off by'
bf16 none
expect reference-bf16-none 0 'SKIP.*oneDNN 3.99.0: it multiplies no bfloat16 on this processor'
bf16 crash
expect reference-bf16-crash 0 'SKIP.*oneDNN died: Segmentation fault'

run wrong "$tests/test_training" tests/unit/cfg/layers.cfg
expect reference-wrong-training 1 'away from those of stock'

finish
