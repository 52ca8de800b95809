#!/bin/sh
# SPDX-License-Identifier: MIT
# How fast `packed` is: beside the reference libraries on the shapes of a network, on squares, on
# transposes and on grouped layers, and in a whole detection.
#
#   bench/studies/bench.sh GEMM_BENCH AB WEIGHTS FOLDER
#
# FOLDER gets a Markdown file for each part, the chart curve.svg, curve.png, and what sizes.sh writes. gemm-bench and ab
# compute every figure. In a table of gemm-bench the speed-up is over its first row. A reference library
# that cannot be loaded is named and left out.
#
#   BENCH_QUICK=1      few samples and small shapes, to see that it works
#   BENCH_RUN=COMMAND  starts each measurement, such as `flock FILE` on a shared machine
set -eu
export LC_ALL=C

bench=$1 ab=$2 weights=$3 out=$4
here=$(dirname "$0")
mkdir -p "$out"
samples='--samples 63 --seconds 1' pairs=48
shapes='--shapes yolov3-tiny' squares='--shapes squares' grouped='--shapes grouped'
curve=64:4096 sizes=130
if [ "${BENCH_QUICK:-0}" != 0 ]; then
    samples='--samples 3 --seconds 0.02' pairs=1
    shapes='-s 16,1730,27' squares='-s 64,64,64' grouped='-s 1,1000,9'
    curve=64:128 sizes=3
fi

listed=$("$bench" --list)
# usable ROW[+SETTING]...: those of the rows that can run here, with commas
usable()
{
    list=
    for row; do
        if echo "$listed" | grep -q "^${row%%+*}	usable"; then list=$list,$row; fi
    done
    echo "${list#,}"
}
for row in openblas blis onednn; do
    [ -n "$(usable $row)" ] || echo "$listed" |
        awk -F '\t' -v row=$row '$1 == row { print "bench: without " row ": " $2 }' >&2
done

# OpenBLAS takes a processor that is newer than the library for a Haswell. BLIS uses no vectors
# there.
openblas=openblas blis=blis
if grep -q avx512f /proc/cpuinfo; then
    openblas=openblas+OPENBLAS_CORETYPE=SkylakeX
    blis=blis+BLIS_ARCH_TYPE=0              # skx
fi

# run LOG COMMAND...: the command's own messages are shown only when it fails
run()
{
    log=$out/$1.log
    shift
    echo "bench: ${log%.log}" >&2
    ${BENCH_RUN:-} "$@" 2>"$log" || { cat "$log" >&2; exit 1; }
}

# table TITLE FILE OPTION...: what gemm-bench prints becomes FILE.md, below its title
table()
{
    title=$1 file=$2
    shift 2
    run "$file" "$bench" $samples -o "$out/$file.new" "$@"
    { printf '# %s\n\n' "$title"; cat "$out/$file.new"; } >"$out/$file.md"
    rm "$out/$file.new"
}

for threads in 1 2; do
    table "The 13 shapes of yolov3-tiny, threads: $threads" shapes-$threads $shapes \
        --impl "$(usable onednn $openblas $blis packed)" --threads $threads
    table "Grouped layers, threads: $threads" grouped-$threads $grouped \
        --impl stock,packed --threads $threads
done
table 'Squares' squares $squares --impl "$(usable onednn packed)" --threads 1
table 'Transposes' transposes $shapes --transposes NN,NT,TN,TT --impl packed --threads 1
if grep -q avx2 /proc/cpuinfo; then
    table 'The 13 shapes by AVX2' avx2 $shapes --impl "$(usable openblas packed+GEMM_ISA=avx2)" \
        --threads 1 --peak avx2
fi
# GEMM_CONV=hook is the default. With im2col both rows only multiply: gemm against gemm.
for other in openblas onednn; do
    [ -n "$(usable $other)" ] || continue
    for conv in hook im2col; do
        settings="GEMM_CONV=$conv GEMM_THREADS=2"
        run detection-$other-$conv "$ab" --a $other --b packed --env-a "$settings" \
            --env-b "$settings" --weights "$weights" -n $pairs --out "$out" \
            --name detection-$other-$conv >"$out/detection.out"
    done
done
rm -f "$out/detection.out"
run curve "$bench" $samples --csv -o "$out/curve.csv" --sizes $curve --threads 1 \
    --impl "$(usable packed onednn $openblas)"
SIZES_MOST=$sizes ${BENCH_RUN:-} "$here/sizes.sh" "$bench" "$out" >"$out/sizes.txt"
for format in svg png; do
    gnuplot -e "data='$out/curve.csv'; image='$out/curve.$format'; format='$format'" \
        "$here/bench.gnuplot"
done
cat "$out/shapes-1.md" "$out/shapes-2.md" "$out/sizes.txt"
