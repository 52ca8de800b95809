#!/bin/sh
# SPDX-License-Identifier: MIT
# The fuzz targets without libFuzzer: each reads the inputs that its fuzzer begins with, and what was once found.
#
#   tests/fuzz/replay.sh REPLAY TARGET...
. tests/support/lib.sh
replay=$1
shift
export FUZZ_FOLDER="$work/folder" FUZZ_TARGET ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
for FUZZ_TARGET; do
    rm -rf "$work/seeds" "$FUZZ_FOLDER"
    mkdir -p "$work/seeds" "$FUZZ_FOLDER"
    check "seeds-$FUZZ_TARGET" env FUZZ_SEEDS="$work/seeds" "$replay"
    set -- "$work/seeds"/*
    [ -e "$1" ] || fail "seeds-$FUZZ_TARGET-are-there" 'the target wrote none'
    for input in "$@" tests/fuzz/found/"$FUZZ_TARGET"-*; do
        [ ! -e "$input" ] || check "fuzz-$FUZZ_TARGET-${input##*/}" "$replay" "$input"
    done
done
finish
