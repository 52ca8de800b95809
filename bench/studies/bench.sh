#!/bin/sh
# The speed table of `packed`: what is wanted, what was measured, met or missed; and its speed from
# 64^3 to 4096^3 beside the reference libraries, as a chart.
#
#   bench/studies/bench.sh GEMM_BENCH AB WEIGHTS OUTPUT_FOLDER
#
# Leaves there the CSV of each run of gemm-bench, the A/B of a detection, table.md and curve.svg,
# curve.png. On a shared machine a minute can be slow that the next is not: all is measured in rounds,
# and the table is of the median round, with the range of all. BENCH_QUICK=1: one short round, to see
# that it works. BENCH_RUN: a command that each run is started with, such as `flock FILE` on a machine
# that is shared.
set -eu

bench=$1 ab=$2 weights=$3 out=$4
table=$PWD/bench/bench_table.awk
mkdir -p "$out"
samples='--samples 9 --seconds 0.15' rounds='1 2 3 4 5 6 7' sizes=64:4096 n=48
[ "${BENCH_QUICK:-0}" = 0 ] || { samples='--samples 3 --seconds 0.02'; rounds=1 sizes=64:512; n=2; }

# A processor newer than they are OpenBLAS takes for a Haswell, and BLIS for one without vectors.
openblas=openblas blis=blis
if grep -q avx512f /proc/cpuinfo; then
    openblas=openblas+OPENBLAS_CORETYPE=SkylakeX
    blis=blis+BLIS_ARCH_TYPE=0              # skx
fi

measured=
measure() {
    file=$1
    shift
    measured="$measured $file.csv"
    ${BENCH_RUN:-} "$bench" $samples --csv -o "$out/$file.csv" "$@" 2>"$out/$file.log" || {
        cat "$out/$file.log" >&2
        exit 1
    }
}
echo 'The 13 shapes, squares, transposes, AVX2, grouped layers, the curve, a detection: some minutes.' >&2
for round in $rounds; do
    measure shapes-$round --shapes yolov3-tiny --impl packed,onednn,$openblas,$blis --threads 1,2
    measure squares-$round --shapes squares --impl packed,onednn --threads 1
    measure transposes-$round --shapes yolov3-tiny --transposes NN,NT,TN,TT --impl packed --threads 1
    measure grouped-$round --shapes grouped --impl packed,stock --threads 1,2
    if grep -q avx2 /proc/cpuinfo; then
        measure avx2-$round --shapes yolov3-tiny --impl packed+GEMM_ISA=avx2,openblas --threads 1 --peak avx2
    fi
done
measure curve --sizes $sizes --impl packed,onednn,$openblas --threads 1
# As it is shipped, with the convolutions that only packed has; and gemm against gemm, which is a
# sixth of a detection then.
for other in openblas onednn; do
    for conv in hook im2col; do
        GEMM_CONV=$conv GEMM_THREADS=2 ${BENCH_RUN:-} "$ab" --a $other --b packed --weights "$weights" \
            -n $n --out "$out" --name detection-$other-$conv >"$out/detection-$other-$conv.txt" \
            2>"$out/detection-$other-$conv.log" || {
            cat "$out/detection-$other-$conv.log" >&2
            exit 1
        }
    done
done

{
    sed -n '/^machine/p; /^system/p; /^compiler/p; /^onednn/p; /^openblas/p; /^blis/p; /^peak/p' "$out/shapes-1.log" |
        sed 's/^/    /'
    echo
    (cd "$out" && awk -f "$table" $measured)
    for other in openblas onednn; do
        for conv in hook im2col; do
            awk -v "what=detection, 2 threads, GEMM_CONV=$conv, against $other" '
                /"predicted"/ { on = 1 }
                on && match($0, /"verdict": "[^"]*/) {
                    verdict = substr($0, RSTART + 12, RLENGTH - 12)
                    printf "| %s | faster | %s | | %s |\n", what, verdict,
                        (verdict ~ /^faster/ ? "met" : "missed")
                    exit
                }' "$out/detection-$other-$conv.json"
        done
    done
} | tee "$out/table.md"

for format in svg png; do
    gnuplot -e "data='$out/curve.csv'; image='$out/curve.$format'; format='$format'" bench/studies/bench.gnuplot
done
