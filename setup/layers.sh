#!/bin/sh
# SPDX-License-Identifier: MIT
# Which Darknet is this? Prints the flags to compile src/hook/ against its headers.
#
#   setup/layers.sh [FOLDER]
#
# FOLDER: a tree of pjreddie's or AlexeyAB's Darknet. /usr, or nothing: Debian's package.
die() { echo "make layers: $*" >&2; exit 1; }

machine=$(${CC:-gcc} -dumpmachine)
case $machine in
x86_64-*) ;;
*) die "libdarknet-layers.so is for x86-64, not $machine: patch Darknet (make patch), or preload libdarknet-gemm.so" ;;
esac

folder=${1:-/usr}
include=$folder/include
[ -f "$include/darknet.h" ] || include=$folder/lib/darknet/include
header=$include/darknet.h
if [ -f "$folder/src-lib/darknet_layers.hpp" ]; then
    die "$folder is hank-ai's Darknet, which libdarknet-layers.so does not know: preload libdarknet-gemm.so"
fi
[ -f "$header" ] || die "no darknet.h in $folder (Debian: darknet; or DARKNET_SRC=folder)"
if grep -q '^GPU *= *1' "$folder/Makefile" 2>/dev/null; then
    die "$folder/Makefile has GPU=1: its layers run on the GPU"
fi
if grep -q 'struct gemm_plan' "$header"; then
    die "$folder is patched already: its layers need no preload"
fi
if grep -q 'struct network_state' "$header"; then
    echo "-DHOOK_PRELOAD -DHOOK_ALEXEYAB -I$include"
else
    echo "-DHOOK_PRELOAD -I$include"
fi
