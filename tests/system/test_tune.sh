#!/bin/sh
# SPDX-License-Identifier: MIT
# Tuning with Darknet and with `make tune`: the table is written and used, and nothing is printed in a
# normal run. tests/unit/test_tuning.c has damaged and foreign tables, and two processes at once; test_auto.c
# has threads.
. tests/support/lib.sh

darknet_folder "$work/here"
# One picture would run a convolution and its pool as two calls, where Winograd's filters do not pay.
export GEMM_CACHE_DIR="$work/cache" GEMM_THREADS=2 GEMM_PREPARE=first GEMM_TUNE_SECONDS=86400
unset GEMM_IMPL GEMM_CONV GEMM_TUNE
table=$work/cache/tuning.txt

# detect [VARIABLE=VALUE...]: what a detection prints of its own is in output, all else in said
detect()
{
    (cd "$work/here" && env GEMM_TRACE="$work/trace" "$@" \
        ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg) >"$work/output" 2>"$work/stderr"
    status=$?
    grep -o 'gemm.*' "$work/stderr" >"$work/said"     # perhaps behind a number of Darknet's
    grep '%' "$work/output" >"$work/labels"
    [ $status = 0 ]
}

# is NAME WANTED FOUND
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "'$3' instead of '$2'"; fi; }

# reasons: how often the trace has each value of the column `auto`
reasons() { awk -F, 'NR > 1 { print $15 }' "$work/trace" | sort | uniq -c | awk '{ $1 = $1; print }' | paste -sd ';'; }

# ---- without a table ----
detect && cp "$work/labels" "$work/expected"
is tune-default "15 packed (default)" "$(reasons)"
is tune-default-quiet '' "$(cat "$work/said")"
[ -e "$table" ] && fail tune-default-writes-nothing 'a table was written' || pass tune-default-writes-nothing

# ---- GEMM_TUNE=1: measured at first sight, then used ----
OCL_ICD_VENDORS=/nonexistent detect GEMM_TUNE=1
is tune-first-run "15 packed (measured)" "$(reasons)"
is tune-first-run-progress 15 "$(grep -c '^gemm: tuned ' "$work/said")"
OCL_ICD_VENDORS=/nonexistent detect GEMM_TUNE=1
is tune-second-run "15 packed (tuned)" "$(reasons)"
detect
is tune-normal-run "15 packed (tuned)" "$(reasons)"
# The trace says why: the times of the table, then what the row weighed.
is tune-why 15 "$(grep -c ',packed (tuned),packed [0-9.]* ms[^,]*,[0-9]*$' "$work/trace")"
is tune-normal-run-quiet '' "$(cat "$work/said")"
if cmp -s "$work/labels" "$work/expected"; then pass tune-labels; else fail tune-labels 'other labels'; fi
detect GEMM_THREADS=1
is tune-other-threads "15 packed (default)" "$(reasons)"
is tune-other-threads-quiet '' "$(cat "$work/said")"
detect GEMM_CONV=im2col GEMM_TUNE=1 OCL_ICD_VENDORS=/nonexistent
is tune-multiplies 10 "$(grep -c '^gemm: tuned multiply .* stock [0-9.]* ms' "$work/said")"
if ls "$work"/cache/.new-* >/dev/null 2>&1; then
    fail tune-temporary 'a temporary file is left'
else
    pass tune-temporary
fi

# ---- GEMM_AUTO_BITS=16: lines of its own, in which rows of 16 bits may stand ----
OCL_ICD_VENDORS=/nonexistent detect GEMM_TUNE=1 GEMM_AUTO_BITS=16
# runs ROW: `yes` where it can run here
runs() { "$root/gemm-bench" --list 2>"$work/list" | grep -q "^$1	usable" && echo yes; }
for row in packed_bf16 packed_fp16; do
    is "tune-16-measures-$row" "$(runs $row)" "$(grep -q "^gemm: tuned convolution .*$row [0-9.]* ms" "$work/said" && echo yes)"
done
sed -i '/^auto16 convolution/s/ = [a-z0-9_]* (/ = packed_bf16 (/' "$table"
detect GEMM_AUTO_BITS=16 GEMM_CHECK=1
is tune-16-row "11 packed_bf16 (tuned)" "$(reasons | grep -o '[0-9]* packed_bf16 (tuned)')"
if cmp -s "$work/labels" "$work/expected"; then fail tune-16-rounds 'the boxes are those of 32 bits'; else pass tune-16-rounds; fi
detect
is tune-32-row "15 packed (tuned)" "$(reasons)"
cp "$table" "$work/of-32" && sed -i '/^auto convolution/s/ = packed (/ = packed_bf16 (/' "$table"
detect
is tune-16-refused-by-32 yes "$(grep -q 'tuning.txt is not used: line [0-9]* is damaged' "$work/said" && echo yes)"
cp "$work/of-32" "$table"
expect_failure tune-bad-bits "GEMM_AUTO_BITS='4' is none of 8, 16 and 32" \
    env GEMM_AUTO_BITS=4 ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg

# ---- GEMM_AUTO_BITS=8: packed_int8 for the layers that the file of scales has in 8 bits ----
scales=$work/demo.int8
detect GEMM_IMPL=packed "GEMM_CALIBRATE=$scales"
# in_8: how many layers the trace has in 8 bits, and how often `auto` took packed_int8
in_8() { awk -F, '$14 == "int8" { ++layers } $15 ~ /^packed_int8 / { ++rows } END { print layers + 0, rows + 0 }' "$work/trace"; }
layers=$(awk '$1 == "layer" && $6 != "fp32"' "$scales" | wc -l)
check tune-8-layers [ "$layers" -gt 0 ]
OCL_ICD_VENDORS=/nonexistent detect GEMM_TUNE=1 GEMM_AUTO_BITS=8 "GEMM_INT8=$scales"
is tune-8-measures "$layers" "$(grep -c '^gemm: tuned convolution .* bits 8: .*packed_int8 [0-9.]* ms' "$work/said")"
is tune-8-measures-no-other "$layers" "$(grep -c 'packed_int8 [0-9.]* ms' "$work/said")"
sed -i '/ bits 8 = /s/ = packed (/ = packed_int8 (/' "$table"
detect GEMM_AUTO_BITS=8 "GEMM_INT8=$scales" GEMM_CHECK=1
is tune-8-row "$layers $layers" "$(in_8)"
is tune-8-known 0 "$(grep -c '(default)' "$work/trace")"
if [ "$status" = 0 ]; then pass tune-8-checked; else fail tune-8-checked "$(cat "$work/said")"; fi
sed '/^layer/s/^layer ..../layer 0000/' "$scales" >"$work/other.int8"
detect GEMM_AUTO_BITS=8 "GEMM_INT8=$work/other.int8"
is tune-8-other-weights '0 0' "$(in_8)"
if cmp -s "$work/labels" "$work/expected"; then pass tune-8-other-labels; else fail tune-8-other-labels 'other labels'; fi
detect "GEMM_INT8=$scales"
is tune-8-not-by-default '15 packed (tuned)' "$(reasons)"
expect_failure tune-8-no-file 'GEMM_AUTO_BITS=8 needs a file of steps in GEMM_INT8' \
    env GEMM_AUTO_BITS=8 ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg
# The weights decide which layers the file knows. make tune hands them over: those beside the cfg, or WEIGHTS.
tune_8() { env OCL_ICD_VENDORS=/nonexistent GEMM_AUTO_BITS=8 "GEMM_INT8=$scales" "$OUT/bench/tune" --rounds 1 data/kite.jpg "$@"; }
check tune-8-network tune_8 cfg/kite-demo.cfg=cfg/kite-demo.weights
cp "$work/check" "$work/turns"
check tune-8-network-turns grep -q '^kite-demo.cfg: mix .* packed_int8 ' "$work/turns"
expect_failure tune-8-no-weights 'was made for other weights' tune_8 cfg/kite-demo.cfg
# would_tune VARIABLE...: what make tune runs, without running it
would_tune() { env -u MAKELEVEL make -n INSTALL=0 "BUILD=$BUILD" "OUT=$OUT" tune "$@" 2>&1 | sed -n 's|^.*/bench/tune ||p; s|^.*\*\*\* ||p'; }
is tune-weights-beside "'data/kite.jpg' 'cfg/alexnet.cfg' 'cfg/kite-demo.cfg=cfg/kite-demo.weights'" \
    "$(would_tune 'CFG=cfg/alexnet.cfg cfg/kite-demo.cfg' | tail -n 1)"
is tune-weights-named "'data/kite.jpg' 'cfg/alexnet.cfg=my own.weights'" "$(would_tune CFG=cfg/alexnet.cfg 'WEIGHTS=my own.weights' | tail -n 1)"
is tune-weights-of-two 'WEIGHTS=a.weights is for one CFG' \
    "$(would_tune 'CFG=cfg/kite-demo.cfg cfg/alexnet.cfg' WEIGHTS=a.weights | tail -n 1 | cut -d . -f 1-2)"

# ---- bad values ----
for value in yes 2 ''; do
    expect_failure "tune-bad-value-$value" "GEMM_TUNE='$value' is neither 0 nor 1" \
        env GEMM_TUNE="$value" ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg
done
for value in -1 86401 1.5 ''; do
    expect_failure "tune-bad-seconds-$value" "GEMM_TUNE_SECONDS='$value' is no whole number from 0 to 86400" \
        env GEMM_TUNE_SECONDS="$value" ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg
done
tune=$OUT/bench/tune
expect_failure tune-rounds "tune: --rounds '0': a whole number from 1 to 1000 is needed" \
    "$tune" --rounds 0 data/kite.jpg cfg/kite-demo.cfg
expect_failure tune-no-cfg 'tune: missing.cfg: No such file' "$tune" data/kite.jpg missing.cfg
expect_failure tune-usage 'usage: tune' "$tune" data/kite.jpg
: >"$work/file"
expect_failure tune-unwritable "tuning.txt cannot be kept: Not a directory" \
    env GEMM_CACHE_DIR="$work/file/below" OCL_ICD_VENDORS=/nonexistent "$tune" --rounds 1 \
    data/kite.jpg cfg/kite-demo.cfg
is tune-unwritable-once 1 "$(grep -c 'cannot be kept' "$work/output")"

# ---- make tune, here with OpenCL where there is a device ----
rm "$table"
if "$tune" --rounds 2 data/kite.jpg cfg/kite-demo.cfg >"$work/result" 2>"$work/progress"; then
    pass tune-network
else
    fail tune-network "$(tail -n 2 "$work/progress")"
fi
forms='kite-demo.cfg: cl with [0-9]+ tuned forms [0-9.]+ of cl without: (tuned|untuned)'
if grep -q '^cl ' "$table"; then
    check tune-network-forms grep -Eqx "$forms" "$work/result"
    is tune-network-forms-said "$(grep -c '^cl .* = ' "$table")" "$(grep -c '^gemm: cl tuned ' "$work/progress")"
fi
if grep -Eqx 'kite-demo.cfg: mix [0-9.]+ ms(, [a-z]+ [0-9.]+ of it( \(one pass\))?)+: (mix|packed|cl|hybrid)' "$work/result"; then
    pass tune-network-result
else
    fail tune-network-result "$(cat "$work/result")"
fi
check tune-network-gain grep -Eqx 'kite-demo.cfg: tuned takes [0-9.]+ of the time without a table \(packed\)' "$work/result"
detect
is tune-network-known 0 "$(grep -c '(default)' "$work/trace")"
is tune-network-quiet '' "$(cat "$work/said")"
if cmp -s "$work/labels" "$work/expected"; then pass tune-network-labels; else fail tune-network-labels 'other labels'; fi

# ---- a table that names cl for every convolution ----
reason=$(./gemm-bench --list | awk -F '\t' '$1 == "cl" && $2 != "usable" { print $2 }')
if [ -n "$reason" ]; then
    skip tune-cl "$reason"
else
    sed -i '/^auto convolution/ s/ = .*/ = cl (by hand)/' "$table"
    detect
    # The one with a pool is not cl's: the convolution without it is perhaps not in the table.
    calls=$(grep -c '^cl_.*,cl (tuned),' "$work/trace")
    if [ "$calls" -ge 10 ]; then pass tune-cl; else fail tune-cl "$calls convolutions by cl"; fi
    is tune-cl-quiet '' "$(cat "$work/said")"
    if cmp -s "$work/labels" "$work/expected"; then pass tune-cl-labels; else fail tune-cl-labels 'other labels'; fi
    detect GEMM_CHECK=1
    is tune-cl-checked 0 $status
    # Row cl by itself: its forms are measured, kept, and used.
    # forms PATTERN: how many lines of forms match it, behind their first word
    forms() { grep -c "^cl $1" "$table"; }
    tuned() { grep -c '^cl_[^,]* tuned,' "$work/trace"; }
    awk '/^cl / { next } /^end / { $2 = n + 0 } / = / { ++n } { print }' "$table" >"$work/rows" && cp "$work/rows" "$table"
    # Without time all shapes are left. Those of a chain keep the default without being measured.
    detect GEMM_IMPL=cl GEMM_TUNE=1 GEMM_TUNE_SECONDS=0
    left=$(sed -n 's/^gemm: the time for tuning is over (GEMM_TUNE_SECONDS=0): \([0-9]*\) shapes are not measured.*/\1/p' "$work/said")
    chained=$(forms '.* = default (in a chain)$')
    is tune-seconds-none 0 "$(tuned)"
    is tune-seconds-said 1 "$(wc -l <"$work/said")"
    if cmp -s "$work/labels" "$work/expected"; then pass tune-seconds-labels; else fail tune-seconds-labels 'other labels'; fi
    detect GEMM_IMPL=cl GEMM_TUNE=1
    is tune-seconds-left "$(forms '.* = ')" "$((left + chained))"
    shapes=$(forms 'convolution .* = ')
    if [ "$shapes" -ge 8 ]; then pass tune-forms; else fail tune-forms "$shapes convolutions in the table"; fi
    is tune-forms-said "$shapes" "$(grep -c '^gemm: cl tuned convolution ' "$work/said")"
    is tune-forms-used "$(forms 'convolution .* = cl_')" "$(tuned)"
    detect GEMM_IMPL=cl GEMM_TUNE=1
    is tune-forms-known '' "$(cat "$work/said")"
    # A form that each device has, for layers that are not pooled.
    sed -i '/^cl convolution/s/ = .* (/ = cl_thin 8x1 64x1 (/' "$table"
    detect GEMM_IMPL=cl GEMM_CHECK=1
    is tune-forms-checked 0 $status
    is tune-forms-table "$(forms '.* pool 0 .* = ')" "$(grep -c '^cl_thin 8x1 group [0-9x]* tuned,' "$work/trace")"
    if cmp -s "$work/labels" "$work/expected"; then pass tune-forms-labels; else fail tune-forms-labels 'other labels'; fi
    detect
    is tune-forms-auto yes "$(grep -q '^cl_thin [^,]* tuned,.*,cl (tuned),' "$work/trace" && echo yes)"
    cp "$table" "$work/mine" && sed -i 's/^device /device other /' "$table"
    detect GEMM_IMPL=cl
    is tune-forms-foreign 0 "$(tuned)"
    is tune-forms-foreign-said 1 "$(wc -l <"$work/said")"
    check tune-forms-foreign-line grep -q "^gemm: the tuning table $table is not used: it is of another machine: 'device other " "$work/said"
    cp "$work/mine" "$table"
    # A machine without OpenCL: one line, and packed.
    detect OCL_ICD_VENDORS=/nonexistent
    is tune-no-opencl "15 packed (default)" "$(reasons)"
    is tune-no-opencl-said 1 "$(wc -l <"$work/said")"
    if grep -q "^gemm: the tuning table $table is not used: it is of another machine: 'device .*' instead of 'device none'\$" "$work/said"; then
        pass tune-no-opencl-line
    else
        fail tune-no-opencl-line "$(cat "$work/said")"
    fi
fi

finish
