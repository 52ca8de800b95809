#!/bin/sh
# SPDX-License-Identifier: MIT
# Why a loop is fast: what each CPU row of the articles computes, reads and misses, beside its time.
#
#   bench/studies/explain.sh GEMM_BENCH ONE_CALL FOLDER [ROW]...
#
#   EXPLAIN_SHAPE=128,128,128   M,N,K
#   CACHES="name:I1:D1:LAST:a:b:c ..."  instead of the three named caches of caches.tsv. A cache is
#                               bytes,ways,bytes a line; a, b, c are the cycles of an instruction, of a
#                               miss of L1 and of a miss of the last level.
#   JOBS=2                      simulations at a time (all processors)
#
# FOLDER gets explain.md, explain.tsv and, with gnuplot, two charts. valgrind counts in the row's own
# function, so the counts are the same every time. Without rows all of them are explained.
set -eu
export LC_ALL=C

bench=$1 client=$2 out=$3
shift 3
here=$(dirname "$0")
shape=${EXPLAIN_SHAPE:-128,128,128}
jobs=${JOBS:-$(nproc)}
tab=$(printf '\t')
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pids=
trap '[ -z "$pids" ] || kill $pids 2>/dev/null; exit 130' INT TERM

die() { echo "explain: $1" >&2; exit "${2:-1}"; }

for tool in valgrind objdump; do
    command -v $tool >/dev/null || die "$tool is missing (Debian: valgrind, binutils)"
done
echo "$shape" | grep -Eqx '[1-9][0-9]*,[1-9][0-9]*,[1-9][0-9]*' ||
    die "EXPLAIN_SHAPE='$shape': M,N,K is needed" 2

# ---- The caches ----
# cache_of NAME FALLBACK: bytes,ways,bytes a line of this machine. cachegrind needs a power of two of
# sets. Where the system does not tell the ways, there are 8 or 16.
cache_of()
{
    bytes=$(getconf "$1_SIZE" 2>/dev/null || :)
    ways=$(getconf "$1_ASSOC" 2>/dev/null || :)
    line=$(getconf "$1_LINESIZE" 2>/dev/null || :)
    awk -v bytes="$bytes" -v ways="$ways" -v line="$line" -v otherwise="$2" 'BEGIN {
        if (bytes + 0 < 1024) { print otherwise; exit }
        if (ways + 0 < 1) ways = bytes > 262144 ? 16 : 8
        if (line + 0 < 16) line = 64
        for (sets = 1; 2 * sets * ways * line <= bytes; sets *= 2);
        printf "%d,%d,%d\n", sets * ways * line, ways, line
    }'
}

if [ -n "${CACHES:-}" ]; then
    grep '^here' "$here/caches.tsv"
    for cache in $CACHES; do
        echo "$cache" | grep -Eqx '[A-Za-z0-9_-]+(:[0-9]+,[0-9]+,[0-9]+){3}(:[0-9.]+){3}' ||
            die "CACHES: '$cache': name:I1:D1:LAST:a:b:c is needed, a cache as bytes,ways,line" 2
        echo "$cache" | tr : '\t'
    done
else
    grep -v '^#' "$here/caches.tsv"
fi >"$work/named"
awk -F '\t' -v OFS='\t' -v i1="$(cache_of LEVEL1_ICACHE 32768,8,64)" \
    -v d1="$(cache_of LEVEL1_DCACHE 32768,8,64)" -v last="$(cache_of LEVEL3_CACHE 8388608,16,64)" '
    $1 == "here" { $2 = i1; $3 = d1; $4 = last }
    { print }' "$work/named" >"$work/caches"

# ---- The rows ----
if [ $# = 0 ]; then
    set -- stock $("$bench" --list | awk -F '\t' '
        $1 ~ /^(mnk|mkn|nmk|nkm|kmn|knm|mnk_acc|transpose)$/ ||
        $1 ~ /^(unroll[0-9]+|mkn_u[0-9]+|block[12]d(_k)?|v?tile_[0-9x]+(_u+)?)$/ { print $1 }')
fi
rows=$(echo "$*" | tr ' ' ,)
total=$#

# ---- The times ----
echo "explain: measuring $total rows" >&2
"$bench" --impl "$rows" -s "$shape" --threads 1 --csv ${EXPLAIN_OPTIONS:---samples 9 --seconds 0.1} \
    -o "$work/times.csv"
awk -F , '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    $at["status"] == "ok" {
        printf "%s\t%.4f\n", $1, 1e6 * $at["median_ms"] / ($at["M"] * $at["N"] * $at["K"])
    }' "$work/times.csv" >"$work/times"

# ---- The counts ----
# simulate ROW TOOL OPTION...: one call under a tool of valgrind, in an environment that is always the
# same
simulate()
{
    row=$1 tool=$2
    shift 2
    env -i PATH="$PATH" GEMM_IMPL="$row" GEMM_THREADS=1 valgrind --tool="$tool" "$@" \
        "$client" $(echo "$shape" | tr , ' ') >"$work/$row.said" 2>&1 || {
        { echo "explain: $row: valgrind failed:"; tail -n 5 "$work/$row.said"; } >&2
        return 1
    }
}

# explain ROW: its counts, a line a cache, in $work/ROW.counts
explain()
{
    name=$1
    symbol=gemm_$name
    [ "$name" != stock ] || symbol=gemm_stock_nn
    simulate "$name" callgrind --dump-instr=yes --compress-pos=no --compress-strings=no \
        --callgrind-out-file="$work/$name.instr" || return 1
    floats=$(awk -v symbol="$symbol" -f "$here/explain_floats.awk" "$work/$name.instr" \
        "$work/code") || return 1
    while IFS=$tab read -r cache i1 d1 last costs; do
        simulate "$name" cachegrind --cache-sim=yes --I1="$i1" --D1="$d1" --LL="$last" \
            --cachegrind-out-file="$work/$name.cache" || return 1
        counts=$(awk -v symbol="$symbol" -f "$here/explain_count.awk" "$work/$name.cache") || return 1
        printf '%s\t%s\t%s\t%s\n' "$name" "$floats" "$cache" "$counts"
    done <"$work/caches" >"$work/$name.new"
    mv "$work/$name.new" "$work/$name.counts"
    rm -f "$work/$name.instr" "$work/$name.cache"
    echo "explain: [$(find "$work" -name '*.counts' | wc -l)/$total] $name" >&2
}

objdump -d "$client" >"$work/code"
job=0
while [ $job -lt "$jobs" ]; do
    (
        n=0
        for row; do
            [ $((n % jobs)) != $job ] || explain "$row" || exit 1
            n=$((n + 1))
        done
    ) &
    pids="$pids $!"
    job=$((job + 1))
done
wait
for row; do
    [ -s "$work/$row.counts" ] || die "$row was not counted"
    cat "$work/$row.counts"
done >"$work/counts"

# ---- The tables and the charts ----
awk -F '\t' -v shape="$shape" -v tsv="$out/explain.tsv" -f "$here/explain_table.awk" \
    kind=article "$here/articles.tsv" kind=cache "$work/caches" kind=time "$work/times" \
    kind=count "$work/counts" >"$out/explain.md"
cat "$out/explain.md"
if command -v gnuplot >/dev/null; then
    for format in svg png; do
        for chart in misses ranks; do
            gnuplot -e "data='$out/explain.tsv'; image='$out/explain-$chart.$format'" \
                -e "format='$format'; chart='$chart'; labels='$here/explain_labels.awk'" "$here/explain.gnuplot"
        done
    done
else
    echo 'explain: no gnuplot, so no chart (Debian: gnuplot-nox)' >&2
fi
