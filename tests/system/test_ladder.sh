#!/bin/sh
# SPDX-License-Identifier: MIT
# make bench-cl CL_BENCH=--ladder: the search of the Adreno 330 paper, and the rows that a device has no room for.
#
#   tests/system/test_ladder.sh
#
# Times are not judged, but the decisions must be those that the printed times ask for.
. tests/support/lib.sh

out=$work/ladder
"$OUT/bench/bench_cl" --ladder --quick >"$out" 2>"$work/error"
status=$?
if [ $status = 0 ] && grep -q '^correctness: all rows right$' "$out"; then
    pass ladder-runs
else
    fail ladder-runs "status $status: $(tail -n 2 "$work/error" "$out" | tr '\n' ' ')"
fi

# All rows of the table that belong to the search are measured, and none twice.
"$OUT/bench/gemm_bench" --list 2>/dev/null | awk -F '\t' '$1 ~ /^cl_(block|local)/ { print $1 }' |
    sort >"$work/listed"
awk -F ' *[|] *' '$2 ~ /^cl_(block|local)/ && NF > 8 && $7 > 0 { print $2 }' "$out" |
    sort >"$work/measured"
if [ -s "$work/listed" ] && cmp -s "$work/listed" "$work/measured"; then
    pass ladder-measures-every-row
else
    fail ladder-measures-every-row "$(diff "$work/listed" "$work/measured" | head -n 5)"
fi

# Each decision takes the least time of its choices, and keeps the decisions before it.
# Columns: row, block, local, vector, unrolled, ms.
wrong=$(awk -F ' *[|] *' '
    $2 ~ /^cl_(block|local)/ && NF > 8 {
        side[$2] = $3; local[$2] = $4; floats[$2] = $5; unrolled[$2] = $6; ms[$2] = $7
    }
    function least(level, of,   row, best) {
        for (row in ms) {
            if ((local[row] == "yes") != (level > 1)) continue
            if (level > 1 && side[row] != side[of]) continue
            if (level == 2 && floats[row] != 1) continue
            if (level == 4 ? floats[row] != floats[of] : unrolled[row] != 1) continue
            if (best == "" || ms[row] + 0 < ms[best] + 0) best = row
        }
        return best
    }
    $2 ~ /^(block|local memory|vector|unrolling)$/ && $3 in ms {
        ++level
        best = least(level, taken)
        if (ms[best] != ms[$3]) print $2 " took " $3 " (" ms[$3] "), not " best " (" ms[best] ")"
        taken = $3
    }
    END { if (level != 4) print level + 0 " decisions, not 4" }' "$out")
if [ -z "$wrong" ]; then pass ladder-decides; else fail ladder-decides "$wrong"; fi

# 8 KiB of local memory, as an Adreno 330 has: two blocks of 64x64 take 32.
ADRENO_LOCAL=8192 OPENCL_LAYERS=$OUT/tests/layer_adreno.so "$OUT/bench/gemm_bench" --list \
    >"$work/list330" 2>/dev/null
if grep -q "^cl_local_b64	[^	]*less local memory" "$work/list330" &&
    grep -q '^cl_local_b16_v4_u4	usable' "$work/list330"; then
    pass ladder-local-memory
else
    fail ladder-local-memory "$(grep '^cl_local_b' "$work/list330" | head -n 3)"
fi

# The chart, with a row that did not run.
printf 'size\tcl_naive\tcl_image\tcl\tclblast\n128\t1\t9\t30\t-\n256\t1\t12\t40\t-\n' >"$work/squares.tsv"
if ! command -v gnuplot >/dev/null; then
    skip squares-chart 'no gnuplot (Debian: gnuplot-nox)'
elif bench/studies/squares.sh "$work" >"$work/said" 2>&1 && grep -q '100 times cl_naive' "$work/squares.svg"; then
    pass squares-chart
else
    fail squares-chart "$(cat "$work/said")"
fi
finish
