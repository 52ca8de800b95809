#!/bin/sh
# SPDX-License-Identifier: MIT
# What an odd size costs: GFLOP/s of `packed` beside oneDNN for every size from 1 to 130, with one
# thread. Four sweeps: M, N or K alone, the others 128, and all three together.
#
#   bench/studies/sizes.sh GEMM_BENCH FOLDER
#
# FOLDER gets sizes.csv and the chart sizes.svg and sizes.png. Standard output gets a line for each
# sweep and row: its holes, which are sizes with less than half of the mean rate of both neighbours,
# and how its rate stands to the first row's.
#
#   SIZES_SAMPLES=63 SIZES_SECONDS=0.05   of each row at each size
#   SIZES_MOST=130                        the largest size
set -eu
export LC_ALL=C

bench=$1 out=$2
here=$(dirname "$0")
most=${SIZES_MOST:-130} others=128
mkdir -p "$out"
rows=packed
"$bench" --list | grep -q '^onednn	usable' && rows=packed,onednn ||
    echo 'sizes: oneDNN is not here, so nothing stands beside packed' >&2

# sweep NAME: prints the sizes M,N,K of a sweep as options
sweep()
{
    n=1
    while [ $n -le "$most" ]; do
        case $1 in
            M) echo "-s $n,$others,$others" ;;
            N) echo "-s $others,$n,$others" ;;
            K) echo "-s $others,$others,$n" ;;
            MNK) echo "-s $n,$n,$n" ;;
        esac
        n=$((n + 1))
    done
}

echo "sweep,size,row,gflops" >"$out/sizes.new"
for name in M N K MNK; do
    echo "sizes: $name from 1 to $most" >&2
    "$bench" --samples "${SIZES_SAMPLES:-63}" --seconds "${SIZES_SECONDS:-0.05}" --threads 1 --csv \
        --impl $rows $(sweep $name) -o "$out/sizes.part" 2>"$out/sizes.log" ||
        grep -q '^onednn,.*,wrong,' "$out/sizes.part" || { cat "$out/sizes.log" >&2; exit 1; }
    awk -F, -v OFS=, -v sweep=$name '
        NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
        { size = $at[sweep == "MNK" ? "M" : sweep] }
        $at["status"] != "ok" && $at["impl"] == "onednn" {
            print "sizes: without onednn for " sweep " = " size ": " $at["reason"] >"/dev/stderr"
            next
        }
        $at["status"] != "ok" { print "sizes: " $0 >"/dev/stderr"; exit 1 }
        {
            print sweep, size, $at["impl"], $at["gflops"]
        }' "$out/sizes.part" >>"$out/sizes.new"
done
rm -f "$out/sizes.part" "$out/sizes.log"
mv "$out/sizes.new" "$out/sizes.csv"
for format in svg png; do
    gnuplot -e "data='$out/sizes.csv'; image='$out/sizes.$format'; format='$format'" \
        "$here/sizes.gnuplot"
done
awk -F, -f "$here/sizes.awk" "$out/sizes.csv"
