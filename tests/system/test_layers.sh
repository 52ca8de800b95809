#!/bin/sh
# SPDX-License-Identifier: MIT
# libdarknet-layers.so before a Darknet that is not patched: Debian's libdarknet.so. `make test-forks`
# runs it with others too: ALEXEYAB names a tree that was built with LIBSO=1, HANKAI one that CMake built
# in its folder build/.
. tests/support/lib.sh
: "${CC:=gcc}"

# run CLIENT LIBRARY PRELOAD OUTPUT
run()
{
    OMP_WAIT_POLICY=passive GEMM_THREADS=2 LD_PRELOAD=$3 "$1" "$2" 3 cfg/kite-demo.cfg cfg/kite-demo.weights >"$work/all" 2>"$4.error"
    grep -a '^first\|^halved\|^again' "$work/all" >"$4"
}

# close_to FILE FILE: at most 1e-4 of the largest apart
close_to()
{
    [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ] && paste -d ' ' "$1" "$2" | awk '
        { d = $2 - $4; if (d < 0) d = -d; a = $2 < 0 ? -$2 : $2
          if (d > worst) worst = d; if (a > most) most = a }
        END { print worst, most; exit !(most > 0 && worst <= 1e-4 * most) }'
}

# fork NAME FOLDER LIBRARY
fork()
{
    make INSTALL=0 BUILD="$BUILD" DARKNET_SRC="$2" "$OUT/libdarknet-layers.so" >"$work/make" 2>&1 ||
        { fail "$1-builds" "$(tail -n 3 "$work/make")"; return; }
    $CC -O1 -D_GNU_SOURCE -Isrc $(setup/layers.sh "$2" "$work/made") tests/support/fork_client.c -o "$work/client" -ldl -lm
    cp "$OUT/libdarknet-layers.so" "$work/layers.so"
    run "$work/client" "$3" '' "$work/alone"
    run "$work/client" "$3" "$work/layers.so" "$work/layers"
    check "$1-equal" close_to "$work/alone" "$work/layers"
    said=$(grep -a '^gemm:' "$work/layers.error")
    if [ -z "$said" ]; then pass "$1-silent"; else fail "$1-silent" "$said"; fi
    GEMM_TRACE=$work/trace run "$work/client" "$3" "$work/layers.so" "$work/traced"
    check "$1-whole-layers" grep -q ' pad ' "$work/trace"
}

case $($CC -dumpmachine) in
x86_64-*) ;;
*) skip_machine layers "libdarknet-layers.so is for x86-64"; finish ;;
esac
if [ -r /usr/lib/darknet/libdarknet.so ]; then
    fork debian /usr /usr/lib/darknet/libdarknet.so
    # A header with one field more in the middle of a layer: the library stays out.
    mkdir -p "$work/other/include"
    sed 's/^    int stride;/    int strange; int stride;/' /usr/lib/darknet/include/darknet.h >"$work/other/include/darknet.h"
    make INSTALL=0 BUILD="$BUILD" DARKNET_SRC="$work/other" "$OUT/libdarknet-layers.so" >"$work/make" 2>&1
    run "$work/client" /usr/lib/darknet/libdarknet.so "$OUT/libdarknet-layers.so" "$work/out"
    check other-layout-stays-out close_to "$work/alone" "$work/out"
    check other-layout-said grep -aq 'built for another Darknet' "$work/out.error"
else
    skip debian "no /usr/lib/darknet/libdarknet.so (Debian: darknet)"
fi
# real NAME FOLDER LIBRARY HOW: the fork itself, if its folder is named
real()
{
    if [ -z "$2" ]; then return; fi
    if [ -r "$2/$3" ]; then fork "$1" "$2" "$2/$3"; else fail "$1" "$2 has no $3: $4"; fi
}
real alexeyab "${ALEXEYAB:-}" libdarknet.so 'make LIBSO=1 there'
real hankai "${HANKAI:-}" build/src-lib/libdarknet.so 'cmake -B build and cmake --build build there'
finish
