#!/bin/sh
# SPDX-License-Identifier: MIT
# The harnesses in short, on the real Darknet: make gprof, make loops, make bench and make ab, the
# last one also with a Darknet that is wrong on purpose.
#
#   tests/system/test_bench.sh MODELS_FOLDER
. tests/support/lib.sh

models=$1
weights=$BUILD/yolov3-tiny-untrained.weights
tiny=$(few_or_all "$BUILD/small" cfg)/yolov3-tiny.cfg

# Under a locale with a decimal comma, which mawk would heed.
localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >"$work/said" 2>&1 || fail comma "$(cat "$work/said")"
comma="env LOCPATH=$work LC_ALL=de_DE.UTF-8"

# `make gprof`: each variant has a row in both tables. Its hotspot is its own symbol, and the article's
# figure is in the same row.
results=$BUILD/gprof-Ofast/results/latest
check gprof $comma make gprof VARIANTS='stock block2d packed' N=$(few_or_all 40 2) PROCESSES=1 "CFG=$tiny" "WEIGHTS=$weights"
figures='[0-9.]+ \| [0-9.]+ \| [0-9.]+ \| [0-9.]+% \| [0-9.]+ \|$'
expect_failure gprof-unknown "--impl 'stok': no such row" make gprof VARIANTS='mkn stok' "CFG=$tiny" "WEIGHTS=$weights"
check gprof-unknown-starts-nothing sh -c '! grep -q "^gprof: \|^result: " "$1"' - "$work/output"
for row in stock block2d packed; do check gprof-$row-seconds grep -Eq "^\| $row \| $figures" "$results/gprof.md"; done
check gprof-fractions awk -F '\t' '!/^#/ && $2 != int($2) { ++n } END { exit !n }' "$results/gprof.tsv"
check gprof-stock grep -Eq "^\| stock \| gemm_stock_nn \| [0-9.]+ \| [0-9.]+% \| - \| - \| - \|$" "$results/gprof.md"
check gprof-block2d grep -Eq '^\| block2d \| gemm_block2d \| [0-9.]+ \| [0-9.]+% \| - \| 6.53 \| 79% \|$' "$results/gprof.md"
check gprof-packed grep -Eq "^\| packed \| (gemm_packed_([0-9x]+|panels_[a-z_]+_[0-9])__[a-z0-9]+|-) \| [0-9.]+ \| " \
    "$results/gprof.md"
check gprof-others grep -Eq '^\| \| [a-z0-9_]+ \| [0-9.]+ \| [0-9.]+% \| \| \| \|$' "$results/gprof.md"
check gprof-calls [ "$(cut -f 4 "$results/rows.tsv" | sort -u)" = 13 ]
# The article's gains are over mnk_acc, and so are ours. Made up.
printf 'mnk_acc\tgemm_mnk_acc\t2.0\t13\t2.5\t-\t-\ntranspose\tgemm_transpose\t0.5\t13\t1.0\t-\tfill_cpu=0.1000\n' >"$work/rows.tsv"
awk -v tsv="$work/tsv" -f bench/studies/gprof_table.awk bench/studies/articles.tsv "$work/rows.tsv" >"$work/gprof.md"
check gprof-gain grep -qxF '| transpose | gemm_transpose | 0.5000 | 50.0% | 300% | 5.17 | 126% |' "$work/gprof.md"
check gprof-share grep -qxF '| | fill_cpu | 0.1000 | 10.0% | | | |' "$work/gprof.md"
# Only Darknet is compiled for a profile.
check gprof-compiles [ -z "$(find "$BUILD/gprof-Ofast" -path "*/obj/src/*" -name '*.o')" ]
check gprof-narrow [ "$(awk -F '|' 'NF > most { most = NF } END { print most - 2 }' "$results/gprof.md")" = 7 ]
check gprof-flat grep -q ' gemm_block2d$' "$results/block2d.flat.txt"
check gprof-charts [ -s "$results/gprof.svg" -a -s "$results/gprof.png" ]
# A phone shows a page of 400 pixels: a wider chart would be scaled down, and its names with it.
for_a_phone() { grep -q 'width="400"' "$1"; }
check gprof-chart-for-a-phone for_a_phone "$results/gprof.svg"
expect_failure gprof-unknown-variant "'stokc': no such row" \
    make gprof VARIANTS=stokc N=1 PROCESSES=1
check gprof-kept [ -s "$results/gprof.md" ]
# Darknet writes predictions.jpg where it runs: not where the user is.
mkdir -p "$work/here"
printf '#!/bin/sh\n: >predictions.jpg\n' >"$work/draws"
chmod +x "$work/draws"
root=$PWD
(cd "$work/here" && N=1 PROCESSES=1 "$root/bench/studies/gprof.sh" "$work/draws" results none none none stock) 2>/dev/null
check gprof-own-folder [ ! -e "$work/here/predictions.jpg" -a -e "$work/here/results/run/predictions.jpg" ]
expect_failure gprof-bad-number 'N=1x: a whole number from 1 on' make gprof VARIANTS=stock N=1x

# A row's seconds are those of all its symbols, and its hotspot is the largest of them. The profile
# is made up.
cat >"$work/flat" <<'END'
Flat profile:
  %   cumulative   self              self     total
 time   seconds   seconds    calls  ms/call  ms/call  name
 40.00      4.00     4.00      104    38.46    38.46  gemm_packed_8x3__avx512
 30.00      7.00     3.00      104    28.85    28.85  gemm_packed_8x2__avx512
 20.00      9.00     2.00                             im2col_cpu
 10.00     10.00     1.00                             gemm_cpu
END
{
    echo 'variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c,layer,algorithm,auto,why'
    for call in 1 2 3 4; do echo 'packed,0,0,16,173056,27,4.0,37.3,250,0,0,0,,,,'; done
    for call in 1 2; do echo 'packed,0,0,0,0,0,1.0,0.000,,0,0,0,yolo 8x8x7 to 8x8x7 batch 1,,,'; done
} >"$work/trace"
row=$(awk -v row=packed -v images=4 -v trace_images=2 -f bench/studies/gprof_row.awk \
    "$work/flat" "$work/trace" | tr '\t' ' ')
wanted='packed gemm_packed_8x3__avx512 2.0000 2 2.5000 0.5000 im2col_cpu=0.5000'
[ "$row" = "$wanted" ] && pass gprof-row || fail gprof-row "'$row', not '$wanted'"

# loops.sh: all rows, the fastest first, with the article's figure in the rows that it has.
check loops $comma LOOPS_SHAPE=16,16,32 bench/studies/loops.sh ./gemm-bench "$work/loops" \
    --samples 3 --seconds 0
check loops-article grep -q '^| [0-9]* | tile_8_uu | [-0-9. |]* | 4.00 |$' "$work/loops/loops.md"
check loops-rows [ "$(grep -c '^| [0-9]' "$work/loops/loops.md")" = 58 ]
check loops-order sort -c -k2,2g "$work/loops/loops.tsv"
# The rank is that of the interval: a row that is surely behind n others has n + 1.
check loops-ranks awk -F '\t' '{ low[NR] = $2 - $7; high[NR] = $2 + $7; rank[NR] = $8 } END {
    for (i = 1; i <= NR; ++i) { n = 1; for (j = 1; j <= NR; ++j) n += high[j] < low[i]; if (n != rank[i]) exit 1 }
    exit NR != 58 || rank[1] != 1 }' "$work/loops/loops.tsv"
# A false gemm-bench, whose times no machine changes: half of an interval is 2.10 times mad_ms.
cat >"$work/fixed" <<'END'
#!/bin/sh
[ "$1" != --list ] || exec printf 'mnk\t\nnmk\t\nnkm\t\nkmn\t\n'
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
awk 'BEGIN { print "impl,M,N,K,median_ms,mad_ms,samples,cycles,speedup,status"
    n = split("mkn 1 .1 mnk 1.3 .1 nmk 2 .1 nkm 3 .4 kmn 9 0", f, " ")
    for (i = 1; i < n; i += 3) printf "%s,16,16,32,%s,%s,3,,1,ok\n", f[i], f[i + 1], f[i + 2] }' >"$out"
END
chmod +x "$work/fixed"
LOOPS_SHAPE=16,16,32 bench/studies/loops.sh "$work/fixed" "$work/fixed-loops" >"$work/output" 2>&1
check loops-ranks-fixed [ "$(cut -f 1,8 "$work/fixed-loops/loops.tsv" | tr '\t\n' ': ')" = 'mkn:1 mnk:1 nmk:3 nkm:3 kmn:5 ' ]
check loops-spread grep -Eq '^\| 1 \| [a-z0-9_]+ \| [0-9.]+ \| [0-9.]+ \| ' "$work/loops/loops.md"
if grep -q 'cycles | x mkn' "$work/loops/loops.md"; then counted=yes; else counted=no; fi
check loops-cycles [ "$(awk -F '\t' '$4 != "-" { found = 1 } END { print found ? "yes" : "no" }' "$work/loops/loops.tsv")" = $counted ]
check loops-charts [ -s "$work/loops/loops.svg" -a -s "$work/loops/loops.png" ]
check loops-chart-for-a-phone for_a_phone "$work/loops/loops.svg"
check loops-chart-names [ "$(grep -c '>v*tile_' "$work/loops/loops.svg")" -gt 30 ]

# bench.sh: every part leaves its table, and the chart is drawn. A library that is missing is named, and
# only its figures are.
mkdir "$work/empty"
${CC:-cc} -shared -fPIC -x c /dev/null -o "$work/empty/libopenblas.so" || exit 1
check bench env BENCH_QUICK=1 LD_LIBRARY_PATH="$work/empty" bench/studies/bench.sh ./gemm-bench "$OUT/bench/ab" "$weights" \
    "$work/bench"
mv "$work/check" "$work/bench-said"
check bench-without grep -q '^bench: without openblas: unusable: libopenblas.so has no ' "$work/bench-said"
check bench-without-detection [ ! -e "$work/bench/detection-openblas-hook.md" ]
for part in shapes-1 shapes-2 grouped-1 grouped-2 squares transposes; do
    check bench-$part grep -q '^| packed  *|  *[12] |  *warm |  *[0-9.]* |' "$work/bench/$part.md"
done
reason=$(./gemm-bench --list | awk -F '\t' '$1 == "onednn" && $2 != "usable" { print $2 }')
if [ -n "$reason" ]; then
    skip bench-detection "$reason"
else
    check bench-detection grep -q '^| A: onednn GEMM_CONV=hook' "$work/bench/detection-onednn-hook.md"
fi
check bench-charts [ -s "$work/bench/curve.svg" -a -s "$work/bench/curve.png" ]
check bench-chart-for-a-phone for_a_phone "$work/bench/curve.svg"

# sizes.sh: each sweep has its line, its points and its curve, and a hole is found.
for sweep in M N K MNK; do
    check bench-sizes-$sweep grep -q "^$sweep, packed: holes: .*; GFLOP/s: [0-9., ]*$" \
        "$work/bench/sizes.txt"
    check bench-sizes-$sweep-points [ "$(grep -c "^$sweep,[123],packed,[0-9.]*$" "$work/bench/sizes.csv")" = 3 ]
done
check bench-sizes-chart for_a_phone "$work/bench/sizes.svg"
printf '%s\n' sweep,size,row,gflops M,1,packed,30 M,2,packed,10 M,3,packed,12 M,4,packed,14 \
    M,1,onednn,30 M,2,onednn,21 M,3,onednn,12 M,4,onednn,7 >"$work/holes.csv"
awk -F, -f bench/studies/sizes.awk "$work/holes.csv" >"$work/holes"
check bench-sizes-hole grep -qx 'M, packed: holes: 2; GFLOP/s: 10.00, 12.00, 30.00' "$work/holes"
check bench-sizes-none grep -qx \
    'M, onednn: holes: none; GFLOP/s: 7.00, 12.00, 30.00; of packed: 0.50, 1.00, 2.10' "$work/holes"

# detect-all takes the article's variants, those of VARIANTS, or all.
rows_of() { make -n detect-all "$@" 2>/dev/null | sed -n 's/^ *GEMM_CONV.*detect_all \(--rows [a-z0-9_,]*\)* *\\$/\1/p'; }
check detect-all-default [ "$(rows_of)" = '--rows stock,mnk_acc,unroll2,unroll4,block1d,block2d,transpose,mkn,tile_8_uu,vtile_8_uu,packed,auto' ]
check detect-all-variants [ "$(rows_of 'VARIANTS=cl packed')" = '--rows cl,packed' ]
check detect-all-all [ "$(rows_of VARIANTS=all)" = '' ]

# What fails takes nothing from the run before it.
latest() { readlink "$BUILD/$1/latest" || echo none; }
before=$(latest detect-all)
expect_failure detect-all-no-image none.jpg make detect-all IMAGES=none.jpg
check detect-all-kept [ "$(latest detect-all)" = "$before" ]
check bench-detect make bench-detect NETWORKS="$tiny=$weights" THREADS=1 ROUNDS=1
# Rows by name: the first is the baseline, and one that cannot run here is said.
check bench-detect-rows env OCL_ICD_VENDORS=/nowhere "$OUT/bench/bench_detect" --rows clblast,stock:im2col,packed --threads 1 --rounds 3 \
    data/kite.jpg cfg/kite-demo.cfg
mv "$work/check" "$work/rows"
check bench-detect-rows-skip grep -q '^clblast: SKIP ' "$work/rows"
check bench-detect-rows-faster [ "$(awk -F '|' '$4 ~ /stock:im2col/ { base = $5 } $4 ~ /packed/ && $6 + 0 > 1.5 && $5 + 0 < base + 0 { print "ok" }' "$work/rows")" = ok ]
expect_failure bench-detect-no-row "bench_detect: --rows 'pakced': a row of gemm-bench --list is needed" \
    "$OUT/bench/bench_detect" --rows stock,pakced data/kite.jpg cfg/kite-demo.cfg
# A row that rounds is judged by its own bound.
check bench-detect-rounds env GEMM_IMPL=packed_bf16 "$OUT/bench/bench_detect" --threads 1 --rounds 1 data/kite.jpg \
    cfg/kite-demo.cfg=cfg/kite-demo.weights
check bench-detect-result grep -q '^| yolov3-tiny.cfg | 1 | hook | [0-9.]* ([0-9.-]*) | 1.00 ' "$BUILD/bench-detect/latest/bench-detect.txt"

# `make ab`: one pair of images, both measures, every detection compared.
check ab make ab A=stock B=transpose N=1 "CFG=$tiny" "WEIGHTS=$weights" AB_OPTS="--warmup 0 --out $work --name ab"
check ab-table grep -q '^| B: transpose | 1 | [0-9.]* | - | ' "$work/ab.md"
check ab-detections grep -q 'Detections: 2 pairs compared, .*0 different' "$work/ab.md"

# A stock that computes something else must void the verdict.
model=$models/yolo-fastest-1.1
if [ -f "$model.weights" ]; then
    GEMM_TEST_WRONG=nothing "$OUT/bench/ab" --a stock --b stock --bin-b "$OUT/tests/darknet_wrong" \
        --cfg "$model.cfg" --weights "$model.weights" --image data/kite.jpg -n 1 --warmup 0 \
        --out "$work" --name wrong >"$work/log" 2>&1
    check ab-wrong-variant [ "$? $(grep -c '^Verdict: \*\*void' "$work/wrong.md")" = '4 2' ]
else
    skip ab-wrong-variant "no yolo-fastest-1.1.weights in $models (MODELS=folder)"
fi

finish
