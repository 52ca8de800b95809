#!/bin/sh
# SPDX-License-Identifier: MIT
# Which Darknet is this? Prints the flags to compile src/hook/ against its headers.
#
#   setup/layers.sh [FOLDER [GENERATED]]
#
# FOLDER: a tree of pjreddie's, AlexeyAB's or hank-ai's Darknet. /usr, or nothing: Debian's package.
# GENERATED: a folder without blanks in its path, for a link to the headers, or the darknet.h in C that is
# made of hank-ai's (build/layers).
export LC_ALL=C
die() { echo "make layers: $*" >&2; exit 1; }

machine=$(${CC:-gcc} -dumpmachine)
case $machine in
x86_64-* | aarch64-*) ;;
*) die "libdarknet-layers.so is for x86-64 and arm64, not $machine: patch Darknet (make patch), or preload libdarknet-gemm.so" ;;
esac

folder=${1:-/usr}
made=${2:-build/layers}
mkdir -p "$made" || exit
include=$folder/include
[ -f "$include/darknet.h" ] || include=$folder/lib/darknet/include
header=$include/darknet.h
if [ -f "$folder/src-lib/darknet_layers.hpp" ]; then
    [ -f "$folder/src-lib/darknet_version.h" ] ||
        die "$folder has no src-lib/darknet_version.h, which its CMake makes: build that Darknet first"
    opencv=$(pkg-config --cflags opencv4 2>/dev/null) || opencv=-I/usr/include/opencv4
    ${CXX:-g++} -std=c++17 -S -O0 -w -fno-pic -fno-pie -DHOOK_ALEXEYAB -Isrc "-I$folder/src-lib" $opencv \
        src/hook/preload/probe.cpp -o "$made/probe.s" 2>"$made/probe.log" || {
        missing=$(sed -n "s|.*fatal error: '\{0,1\}\(opencv2/[^:']*\)[:'].*|\1|p" "$made/probe.log" | head -n 1)
        [ -z "$missing" ] ||
            die "OpenCV's $missing is not found, which hank-ai's headers need (Debian: libopencv-dev; elsewhere its folder in PKG_CONFIG_PATH)"
        die "$folder/src-lib is another hank-ai's Darknet than this library knows: $(grep -m 1 error "$made/probe.log")"
    }
    awk -f src/hook/preload/probe.awk "$made/probe.s" >"$made/darknet.h" ||
        die "the compiler left no layout in $made/probe.s"
    echo "-DHOOK_PRELOAD -DHOOK_ALEXEYAB -DHOOK_HANKAI -I$made"
    exit
fi
[ -f "$header" ] || die "no darknet.h in $folder (Debian: darknet; or DARKNET_SRC=folder)"
if grep -q '^GPU *= *1' "$folder/Makefile" 2>/dev/null; then
    die "$folder/Makefile has GPU=1: its layers run on the GPU"
fi
if grep -q 'struct gemm_plan' "$header"; then
    die "$folder is patched already: its layers need no preload"
fi
ln -sfn "$(cd "$include" && pwd)" "$made/include" || exit
if grep -q 'struct network_state' "$header"; then
    echo "-DHOOK_PRELOAD -DHOOK_ALEXEYAB -I$made/include"
else
    echo "-DHOOK_PRELOAD -I$made/include"
fi
