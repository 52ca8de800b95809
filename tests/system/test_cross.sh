#!/bin/sh
# SPDX-License-Identifier: MIT
# A cross build under an emulator: what Darknet detects, and a program that multiplies with the library.
#
#   OUT=FOLDER CC=COMPILER tests/system/test_cross.sh EMULATOR...
. tests/support/lib.sh

# ---- the demonstration network: 7 kites and 10 people ----
darknet_folder "$work/here"
for row in stock packed; do
    for conv in im2col hook; do
        (cd "$work/here" && GEMM_IMPL=$row GEMM_CONV=$conv "$@" "$OUT/darknet" detect cfg/kite-demo.cfg \
            cfg/kite-demo.weights data/kite.jpg) >"$work/output" 2>"$work/error"
        found=$(sed -n 's/: [0-9]*%$//p' "$work/output" | sort | uniq -c | awk '{ printf "%s=%d ", $2, $1 }')
        if [ "$found" = 'kite=7 person=10 ' ]; then
            pass "cross-detects-$row-$conv"
        else
            fail "cross-detects-$row-$conv" "found '$found': $(tail -n 1 "$work/error")"
        fi
    done
done

# ---- the library ----
check cross-multiply-links "$CC" -Isrc examples/multiply/multiply.c -L"$OUT" -ldarknet-gemm -Wl,-rpath,"$OUT" -o "$work/multiply"
for row in stock mnk packed auto; do
    said=$(GEMM_IMPL=$row "$@" "$work/multiply" 2>&1)
    if [ "$said" = '57 66 129 150' ]; then pass "cross-multiply-$row"; else fail "cross-multiply-$row" "$said"; fi
done
finish
