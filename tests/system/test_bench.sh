#!/bin/sh
# The harnesses in short, on the real Darknet: make gprof, make ab, and a Darknet that is wrong on purpose.
#
#   tests/system/test_bench.sh MODELS_FOLDER
. tests/support/lib.sh

models=$1

# `make gprof`: a row for each variant, whose hotspot is its own symbol, with the article's figure beside.
results=$BUILD/gprof-Ofast/results
rm -rf "$results"
if make gprof VARIANTS='stock block2d packed' N=2 PROCESSES=1 >"$work/gprof" 2>&1; then
    pass gprof
else
    fail gprof "$(tail -n 3 "$work/gprof" | tr '\n' ' ')"
fi
grep -q '^| stock | gemm_nn | [0-9.]* | [0-9.]*% | 13 | ' "$results/gprof.md" && pass gprof-stock ||
    fail gprof-stock "no row of stock whose symbol is gemm_nn"
grep -q '^| block2d | gemm_block2d | .* | 6.53 | 1.79 |$' "$results/gprof.md" && pass gprof-block2d ||
    fail gprof-block2d "no row of block2d with the article's figure"
grep -Eq '^\| packed \| (gemm_packed_[0-9x]+__[a-z0-9]+|-) \| [0-9.]+ \| [0-9.]+% \| 13 \| ' "$results/gprof.md" &&
    pass gprof-packed || fail gprof-packed "no row of packed with a micro-kernel as its symbol"
grep -q ' gemm_block2d$' "$results/block2d.flat.txt" && pass gprof-flat || fail gprof-flat "no flat profile"
for picture in gprof.svg gprof.png; do
    [ -s "$results/$picture" ] && pass "gprof-$picture" || fail "gprof-$picture" "not drawn"
done
expect_failure gprof-unknown-variant "did you mean 'stock'" make gprof VARIANTS=stokc N=1 PROCESSES=1

# A row's seconds are those of all its symbols, and its hotspot the largest of them: a profile made up.
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
    echo 'variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c,conv'
    for call in 1 2 3 4; do echo 'packed,0,0,16,173056,27,4.0,37.3,250,0,0,0,'; done
} >"$work/trace"
row=$(awk -v row=packed -v images=4 -v trace_images=2 -f bench/studies/gprof_row.awk "$work/flat" "$work/trace" | tr '\t' ' ')
wanted='packed gemm_packed_8x3__avx512 2.0000 2 2.5000 0.5000 im2col_cpu 20.0%'
[ "$row" = "$wanted" ] && pass gprof-row || fail gprof-row "'$row', not '$wanted'"

# `make ab`: one pair of images, both measures, every detection compared.
if make ab A=stock B=transpose N=1 AB_OPTS="--warmup 0 --out $work --name ab" >"$work/log" 2>&1; then
    pass ab
else
    fail ab "$(tail -n 3 "$work/log" | tr '\n' ' ')"
fi
grep -q '^| B: transpose | 1 | [0-9.]* | - to - |' "$work/ab.md" && pass ab-table || fail ab-table "no row of B"
grep -q 'Detections: 2 pairs compared, .*0 different' "$work/ab.md" && pass ab-detections ||
    fail ab-detections "detections were not compared"

# A stock that computes something else must void the verdict.
model=$models/yolo-fastest-1.1
if [ -f "$model.weights" ]; then
    GEMM_TEST_WRONG=nothing $OUT/bench/ab --a stock --b stock --bin-b $OUT/tests/darknet_wrong \
        --cfg "$model.cfg" --weights "$model.weights" --image data/kite.jpg -n 1 --warmup 0 \
        --out "$work" --name wrong >"$work/log" 2>&1
    status=$?
    if [ $status = 4 ] && grep -qi 'void' "$work/wrong.md"; then
        pass ab-wrong-variant
    else
        fail ab-wrong-variant "status $status: $(tail -n 3 "$work/log" | tr '\n' ' ')"
    fi
else
    skip ab-wrong-variant "no yolo-fastest-1.1.weights in $models (MODELS=folder)"
fi

# The table of `make bench` is of the median round, with the range of all: one slow minute changes nothing,
# and a row that failed takes only its own round with it.
bench_round()
{
    printf 'impl,TA,TB,M,N,K,threads,median_ms,peak_percent,calls,status\n'
    printf 'packed,0,0,16,173056,27,1,%s,50,1,%s\nonednn,0,0,16,173056,27,1,%s,25,1,ok\n' "$@"
    printf 'packed,0,0,9,9,9,1,1,50,1,ok\nonednn,0,0,9,9,9,1,1,50,1,ok\n'
}
bench_line() { awk -f bench/studies/bench_table.awk "$work"/shapes-*.csv 2>/dev/null | grep "^| $1"; }
bench_lines()
{
    for what in '13 shapes, 1 thread' 'the same' '16x173056x27, 1 thread'; do
        bench_line "$what" | head -n 1 | cut -d '|' -f 4-5
    done | tr -s ' \n' '  '
}
bench_round 2 ok 4 >"$work/shapes-1.csv"
bench_round 50 ok 4 >"$work/shapes-2.csv"
bench_round 1 ok 4 >"$work/shapes-3.csv"
[ "$(bench_lines)" = ' 1.67 | 0.10 to 2.50 0.50 | 0.50 to 0.50 2.00 | 0.08 to 4.00 ' ] &&
    pass bench-median-round || fail bench-median-round "$(bench_lines)"
bench_round 50 wrong 4000 >"$work/shapes-2.csv"
[ "$(bench_lines)" = ' 2.00 | 1.67 to 2.50 0.50 | 0.50 to 0.50 3.00 | 2.00 to 4.00 ' ] &&
    pass bench-failed-round || fail bench-failed-round "$(bench_lines)"

finish
