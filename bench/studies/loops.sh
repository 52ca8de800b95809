#!/bin/sh
# SPDX-License-Identifier: MIT
# The study of loop orders, unrollings, tiles and vector tiles on this machine, on one shape.
#
#   bench/studies/loops.sh GEMM_BENCH FOLDER [option of gemm-bench]...
#
# FOLDER gets loops.csv (what gemm-bench measured), loops.tsv and loops.md (the ranking, beside the
# figures of the article) and the chart loops.svg, loops.png. LOOPS_SHAPE=M,N,K is another shape.
set -eu
export LC_ALL=C

bench=$1 out=$2
shift 2
here=$(dirname "$0")
shape=${LOOPS_SHAPE:-512,512,1024}
mkdir -p "$out"

# mkn is the first row, because every speed-up is over the first row.
rows=mkn,$("$bench" --list | awk -F '\t' '
    $1 ~ /^(mnk|nmk|nkm|kmn|knm|mkn_u[0-9]+|v?tile_[0-9x]+(_u+)?)$/ {
        printf "%s%s", comma, $1
        comma = ","
    }')
status=0
"$bench" --impl "$rows" -s "$shape" --threads 1 --csv "$@" -o "$out/loops.csv" || status=$?
[ $status = 0 ] || [ $status = 130 ] || exit $status

# A line a row: name, ms, ns a multiply-add, 1e9 cycles, speed-up over mkn, the article's 1e9
# cycles, half of the 95% interval of ms, rank. "-" stands for an unknown figure.
# The interval is that of a median of normal values, by their median deviation. A row is behind those whose interval
# ends before its own begins, so rows that cannot be told apart have the same rank.
tab=$(printf '\t')
awk '
    FNR == NR { if ($1 == "003") theirs[$2] = $4; next }
    FNR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    $at["status"] == "ok" {
        ms = $at["median_ms"]
        cycles = $at["cycles"] == "" ? "-" : sprintf("%.4f", $at["cycles"] / 1e9)
        half = 1.96 * 1.2533 * 1.4826 * $at["mad_ms"] / sqrt($at["samples"])
        printf "%s\t%.3f\t%.3f\t%s\t%s\t%s\t%.3f\n", $1, ms,
            1e6 * ms / ($at["M"] * $at["N"] * $at["K"]), cycles,
            $at["speedup"] == "" ? "-" : sprintf("%.2f", $at["speedup"]),
            $1 in theirs ? theirs[$1] : "-", half
    }' FS='\t' "$here/articles.tsv" FS=, "$out/loops.csv" | sort -t "$tab" -k2,2g | awk -F '\t' '
    { line[NR] = $0; low[NR] = $2 - $7; high[NR] = $2 + $7 }
    END {
        for (i = 1; i <= NR; ++i) {
            rank = 1
            for (j = 1; j <= NR; ++j) rank += high[j] < low[i]
            printf "%s\t%d\n", line[i], rank
        }
    }' >"$out/loops.tsv"
if [ ! -s "$out/loops.tsv" ]; then
    echo 'loops: nothing was measured' >&2
    exit 1
fi

{
    cat <<END
# Loop orders, unrollings and tiles

M,N,K = $shape, one thread, fastest first, with the 95% interval of the median. Rows whose intervals overlap those of
the first of them have the same rank. The last column is not ours: it is the article's figure for 512 x 512 x 1024 on a
RISC-V soft core at 75 MHz.
$([ $status = 0 ] || printf '\nInterrupted: rows are missing.')

END
    # Where no row has cycles, there is no column for them.
    awk -F '\t' '
        FNR == NR { counted += $4 != "-"; next }
        FNR == 1 {
            print "| rank | row | ms | +- | ns a multiply-add |" (counted ? " 10^9 cycles |" : "") " x mkn | the article\047s 10^9 cycles |"
            print "|---:|---|---:|---:|---:|" (counted ? "---:|" : "") "---:|---:|"
        }
        { printf "| %d | %s | %s | %s | %s |%s %s | %s |\n", $8, $1, $2, $7, $3, counted ? " " $4 " |" : "", $5, $6 }
        ' "$out/loops.tsv" "$out/loops.tsv"
} >"$out/loops.md"
cat "$out/loops.md"

if command -v gnuplot >/dev/null; then
    for format in svg png; do
        gnuplot -e "data='$out/loops.tsv'; image='$out/loops.$format'; format='$format'" \
            -e "shape='$shape'" "$here/loops.gnuplot"
    done
else
    echo 'loops: no gnuplot, so no chart (Debian: gnuplot-nox)' >&2
fi
exit $status
