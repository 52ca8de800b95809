#!/bin/sh
# SPDX-License-Identifier: MIT
# Removes what the Makefile made: the build folder, and the links into it.
#
#   setup/clean.sh BUILD
#
# The Makefile builds only in a folder that was empty, and leaves the file made-by-darknet-gemm there.
set -eu
export LC_ALL=C

build=$1
for name in darknet libdarknet.so gemm-bench libdarknet-gemm.so libdarknet-gemm.a data cfg/*; do
    case $(readlink "$name" || :) in
    "$build"/* | "../$build"/*) rm "$name" ;;
    esac
done
[ -e "$build" ] || exit 0
if [ ! -e "$build/made-by-darknet-gemm" ]; then
    echo "$build was not made by this Makefile: it stays" >&2
    exit 1
fi
rm -rf "$build"
