#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make explain` counts: exact, the same in every run, and what the article says of its caches.
#
#   tests/system/test_explain.sh
. tests/support/lib.sh
explain=bench/studies/explain.sh
bench=$OUT/bench/gemm_bench client=$OUT/bench/one_call
quick='--samples 3 --seconds 0'

# explain FOLDER ROW...
explain()
{
    folder=$1
    shift
    env EXPLAIN_OPTIONS="$quick" $explain "$bench" "$client" "$work/$folder" "$@"
}

# value CACHE COLUMN ROW: of explain.tsv
value()
{
    awk -F '\t' -v cache="$1" -v column="$2" -v row="$3" '
        NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
        $1 == row && $2 == cache { print $at[column] }' "$work/all/explain.tsv"
}

# less NAME CACHE COLUMN ROW OTHER: the row has the smaller value. By how much is the compiler's work.
less()
{
    row=$(value "$2" "$3" "$4") other=$(value "$2" "$3" "$5")
    if awk -v row="$row" -v other="$other" 'BEGIN { exit !(row != "" && row + 0 < other + 0) }'; then
        pass "$1"
    else
        fail "$1" "$2, $3: $4 has '$row', $5 '$other'"
    fi
}

# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted '$2', got '$3'"; fi; }

tiles='tile_2 tile_4 tile_8 tile_16 tile_32 tile_64'
check explain explain all mkn nkm $tiles
is explain-rows 32 "$(grep -c '^[a-z]' "$work/all/explain.tsv")"
for cache in here soft-core Cortex-A55 Cortex-A76; do
    less "explain-orders-$cache" $cache l1 mkn nkm
done
less explain-tiles-there soft-core l1 tile_8 tile_2
less explain-tiles-there-large soft-core l1 tile_8 tile_64
less explain-predicted-here here predicted tile_32 tile_4
check explain-table grep -Eq '^\| nkm \| .* \| 8 \| Misses are [0-9]+% of its time' \
    "$work/all/explain.md"
for chart in misses ranks; do
    check explain-chart-$chart [ -s "$work/all/explain-$chart.svg" -a \
        -s "$work/all/explain-$chart.png" ]
    check explain-chart-$chart-for-a-phone grep -q 'width="400"' "$work/all/explain-$chart.svg"
    check explain-chart-$chart-names [ "$(grep -c '>[a-z][a-z0-9_]*</t' "$work/all/explain-$chart.svg")" -ge 1 ]
done

# Counts are those of the first run. CACHES takes other caches.
check explain-again env CACHES=tiny:1024,1,32:1024,1,32:4096,1,32:1:10:100 EXPLAIN_OPTIONS="$quick" \
    $explain "$bench" "$client" "$work/again" mkn
for run in all again; do
    awk -F '\t' '$1 == "mkn" && $2 == "here"' "$work/$run/explain.tsv" | cut -f 1-8 >"$work/$run.mkn"
done
check explain-repeats cmp "$work/all.mkn" "$work/again.mkn"
check explain-caches grep -q '^mkn.tiny' "$work/again/explain.tsv"

# ---- What is wrong is said in a line ----
expect_failure explain-bad-caches "CACHES: 'tiny:1024': name:I1:D1:LAST:a:b:c is needed" \
    env CACHES=tiny:1024 $explain "$bench" "$client" "$work/bad" mkn
expect_failure explain-bad-shape "EXPLAIN_SHAPE='8,8': M,N,K is needed" \
    env EXPLAIN_SHAPE=8,8 $explain "$bench" "$client" "$work/bad" mkn
expect_failure explain-unknown-row "'mkm': no such row" $explain "$bench" "$client" "$work/bad" mkm
expect_failure explain-bad-size "one_call: '0': a whole number from 1 to 4096 is needed" \
    "$client" 0 1 1

finish
