# SPDX-License-Identifier: MIT
# Whose Darknet is in a folder, by its headers. Source it (setup/layers.sh, setup/patch.sh, mk/layers.mk).

# header_of FOLDER: its darknet.h in C. Debian's package has it elsewhere.
header_of()
{
    found=$1/include/darknet.h
    [ -f "$found" ] || found=$1/lib/darknet/include/darknet.h
    echo "$found"
}

# kind_of FOLDER: hank-ai, alexeyab, nnpack, pjreddie, or nothing. One that is older than what the hook is
# written for lacks a name in its darknet.h, the newest that the hook reads: "old", and what it is.
kind_of()
{
    header=$(header_of "$1") kind=pjreddie newest=UPSAMPLE old="pjreddie's Darknet of before March 2018"
    if [ -f "$1/src-lib/darknet_layers.hpp" ]; then echo hank-ai; return; fi
    if [ ! -f "$header" ]; then
        ! grep -qs 'struct network' "$1/src/network.h" ||
            echo "old: a Darknet of before 2018, without include/darknet.h"
        return
    fi
    if grep -q 'struct network_state' "$header"; then
        kind=alexeyab newest=new_coords old="AlexeyAB's Darknet of before November 2020"
    elif grep -q NNPACK "$header"; then
        kind=nnpack
    fi
    grep -qw $newest "$header" || kind="old: $old, without $newest in its darknet.h"
    echo "$kind"
}

# refused FOLDER KIND: the line for a Darknet that is too old for layers
refused() { echo "$1 is ${2#old: }: update it, or preload libdarknet-gemm.so, which needs no headers"; }

# is_built_with FOLDER SWITCH FUNCTION: whether that Darknet has SWITCH=1. The command line of make says so,
# which is in the environment; else the function is in what was built there; else the Makefile says so.
is_built_with()
{
    case $(printenv "$2") in 0) return 1 ;; 1) return 0 ;; esac
    for built in "$1/libdarknet.so" "$1/obj/network.o"; do
        if [ -f "$built" ]; then grep -qa "$3" "$built"; return; fi
    done
    grep -qs "^$2 *[:?]*= *1" "$1/Makefile"
}
