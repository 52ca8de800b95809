#!/bin/sh
# Seed 003's study on this machine: loop orders, unrollings, tiles and vector tiles on one shape.
#
#   bench/studies/loops.sh GEMM_BENCH OUTPUT_FOLDER [option of gemm-bench]...
#
# Leaves loops.csv (what gemm-bench measured), loops.tsv and loops.txt (the ranking, beside the cycles
# that the article gives for its machine) and the chart loops.svg, loops.png. LOOPS_SHAPE=M,N,K.
set -eu

bench=$1 out=$2
shift 2
shape=${LOOPS_SHAPE:-512,512,1024}
articles=bench/studies/articles.tsv
mkdir -p "$out"

# mkn first: every speed-up is over it
rows=mkn,$("$bench" --list | awk -F '\t' '
    $1 ~ /^(mnk|nmk|nkm|kmn|knm|mkn_u[0-9]+|v?tile_[0-9]+(_uu?)?)$/ { printf "%s%s", comma, $1; comma = "," }')
status=0
"$bench" --impl "$rows" -s "$shape" --threads 1 --csv "$@" -o "$out/loops.csv" || status=$?
[ $status = 0 ] || [ $status = 130 ] || exit $status

# row, ms, ns a multiply-add, cycles (- where the machine does not count them), article's cycles
tab=$(printf '\t')
awk -F '\t' -v csv="$out/loops.csv" '
    !/^#/ && $1 == "003" { theirs[$2] = $4 }
    END {
        FS = ","
        getline line <csv
        columns = split(line, name, ",")
        for (i = 1; i <= columns; ++i) at[name[i]] = i
        while ((getline line <csv) > 0) {
            split(line, v, ",")
            if (v[at["status"]] != "ok") continue
            macs = v[at["M"]] * v[at["N"]] * v[at["K"]]
            ms = v[at["median_ms"]]
            cycles = v[at["cycles"]]
            printf "%s\t%.3f\t%.3f\t%s\t%s\t%s\n", v[at["impl"]], ms, 1e6 * ms / macs,
                cycles == "" ? "-" : sprintf("%.4f", cycles / 1e9), v[at["speedup"]],
                v[at["impl"]] in theirs ? theirs[v[at["impl"]]] : "-"
        }
    }' "$articles" | sort -t "$tab" -k2,2g >"$out/loops.tsv"

awk -F '\t' -v shape="$shape" -v interrupted="$status" '
    { row[NR] = $0; if ($6 != "-") { theirs[$1] = $6; if (!best || $6 < theirs[best]) best = $1 } }
    END {
        if (!NR) { print "loops.sh: nothing was measured" >"/dev/stderr"; exit 1 }
        for (i in theirs) { rank[i] = 1; for (j in theirs) rank[i] += theirs[j] < theirs[i] }
        printf "Loop orders, unrollings and tiles, M,N,K = %s, one thread, fastest first.\n", shape
        printf "Right of the bar: the article, a RISC-V soft core at 75 MHz, 512 x 512 x 1024. Not ours.\n\n"
        printf "%4s  %-14s %10s %9s %10s %8s | %10s %6s\n", "rank", "row", "ms", "ns/MAC",
            "1e9 cycles", "x mkn", "1e9 cycles", "rank"
        for (i = 1; i <= NR; ++i) {
            split(row[i], v, "\t")
            printf "%4d  %-14s %10s %9s %10s %8s | %10s %6s\n", i, v[1], v[2], v[3], v[4],
                v[5] == "" ? "-" : sprintf("%.2f", v[5]), v[6], v[1] in rank ? rank[v[1]] : "-"
            if (!tile && v[1] ~ /tile/) tile = v[1]
            if (!order && v[1] ~ /^[mnk]+$/) order = v[1]
        }
        printf "\nbest tile here: %s; best plain order: %s; the article: %s\n", tile, order, best
        if (interrupted) print "Interrupted: rows are missing."
    }' "$out/loops.tsv" | tee "$out/loops.txt"

if command -v gnuplot >/dev/null; then
    for format in svg png; do
        gnuplot -e "data='$out/loops.tsv'; image='$out/loops.$format'; format='$format'; shape='$shape'" \
            bench/studies/loops.gnuplot
    done
else
    echo 'loops.sh: no gnuplot, so no chart (Debian: gnuplot-nox)' >&2
fi
exit $status
