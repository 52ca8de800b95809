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
. "$(dirname "$0")/kind.sh"
die() { echo "make ${GOAL:-layers}: $*" >&2; exit 1; }

machine=$(${CC:-gcc} -dumpmachine)
case $machine in
x86_64-* | aarch64-*) ;;
*) die "libdarknet-layers.so is for x86-64 and arm64, not $machine: patch Darknet (make patch), or preload libdarknet-gemm.so" ;;
esac

folder=${1:-/usr}
made=${2:-build/layers}
mkdir -p "$made" || exit
kind=$(kind_of "$folder")
if [ "$kind" = hank-ai ]; then
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
case $kind in
'') die "no darknet.h in $folder (Debian: darknet; or DARKNET_SRC=folder)" ;;
old*) die "$(refused "$folder" "$kind")" ;;
nnpack)
    ! is_built_with "$folder" NNPACK nnp_convolution_inference ||
        die "$folder is darknet-nnpack, and NNPACK computes its convolutions: build it with NNPACK=0" ;;
esac
! is_built_with "$folder" GPU forward_network_gpu ||
    die "$folder has GPU=1, and its layers run on the GPU: build it with GPU=0"
header=$(header_of "$folder")
if grep -q 'struct gemm_plan' "$header"; then
    die "$folder is patched already: its layers need no preload"
fi
ln -sfn "$(cd "${header%/*}" && pwd)" "$made/include" || exit
echo "-DHOOK_PRELOAD $([ "$kind" != alexeyab ] || echo '-DHOOK_ALEXEYAB ')-I$made/include"
