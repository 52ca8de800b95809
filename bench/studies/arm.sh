#!/bin/sh
# SPDX-License-Identifier: MIT
# How long a run takes on a Cortex, on paper: a table of functions.
#
#   qemu-aarch64 -plugin build/blocks.so,out=BLOCKS PROGRAM ...
#   bench/studies/arm.sh PROGRAM BLOCKS [CPU]...
#
# BLOCKS is what qemu/blocks.c counted, of one thread. Each block is taken for the body of a loop, and
# llvm-mca says how many cycles a turn takes. CPU is a processor of LLVM: neoverse-n1 (the core of
# Cortex-A76), cortex-a55 and cortex-a72 when none is given. Loads are taken as hits of L1, and
# branches as foreseen. So a figure is a lower bound.
#
# Prints lines of tabs: function, millions of instructions, millions of cycles for each CPU. Blocks
# of libraries are "elsewhere". LLVM_MCA and LLVM_MC name the programs (llvm-mca-19, llvm-mc-19).
set -eu
export LC_ALL=C

if [ $# -lt 2 ]; then
    echo 'arm.sh: bench/studies/arm.sh PROGRAM BLOCKS [CPU]...' >&2
    exit 2
fi
program=$1 blocks=$2
shift 2
[ $# != 0 ] || set -- neoverse-n1 cortex-a55 cortex-a72
here=$(dirname "$0")
features=+fullfp16,+dotprod,+bf16,+crc,+lse
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Where qemu puts a program that may lie anywhere.
base=0
aarch64-linux-gnu-readelf -h "$program" | grep -q 'Type: *DYN' && base=5500000000
aarch64-linux-gnu-nm -n --defined-only "$program" >"$work/symbols"
awk -v base=$base -v code="$work/code" -f "$here/arm_blocks.awk" "$work/symbols" "$blocks" >"$work/rows"
"${LLVM_MC:-llvm-mc-19}" --disassemble --triple=aarch64 --mattr=$features "$work/code" 2>/dev/null |
    awk '/hint[[:space:]]+#127$/ { print (n ? "# LLVM-MCA-END\n" : "") "# LLVM-MCA-BEGIN " n++; next }
         !/^[[:space:]]*(\.text|bl|blr|br|ret|svc|retaa|b)([[:space:]]|$)/
         END { print "# LLVM-MCA-END" }' >"$work/regions"
for cpu; do
    "${LLVM_MCA:-llvm-mca-19}" --mtriple=aarch64 --mattr=$features --mcpu="$cpu" --iterations=100 \
        --skip-unsupported-instructions=any --instruction-info=0 \
        --resource-pressure=0 "$work/regions" >"$work/said" 2>"$work/errors" || {
        head -n 3 "$work/errors" >&2
        exit 1
    }
    awk '/^\[.*\] Code Region/ { region = $NF } /^Total Cycles:/ { print region, $NF / 100 }' "$work/said" >"$work/$cpu"
    set -- "$@" "$work/$cpu"
    shift
done
awk 'BEGIN { OFS = "\t" }
     FILENAME != last { last = FILENAME; ++file }
     file < ARGC - 1 { cycles[file, $1] = $2; next }
     {
         had[$2]
         steps[$2] += $3 * $4
         for (i = 1; i < file; ++i) sum[i, $2] += $3 * cycles[i, $1]
     }
     END {
         for (name in had) {
             line = name OFS sprintf("%.1f", steps[name] / 1e6)
             for (i = 1; i < file; ++i) line = line OFS sprintf("%.1f", sum[i, name] / 1e6)
             print line
         }
     }' "$@" "$work/rows" | sort -t "$(printf '\t')" -k2,2nr -k1,1
