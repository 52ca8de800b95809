#!/bin/sh
# SPDX-License-Identifier: MIT
# make bench-adreno: the arithmetic of its model, what it claims of published figures, and the
# launches of a pass.
#
#   tests/system/test_adreno_model.sh            the model; needs no OpenCL
#   tests/system/test_adreno_model.sh --pass     a pass; needs PoCL
. tests/support/lib.sh

studies=bench/studies
model() { awk -f $studies/adreno_model.awk "$@"; }

if [ "${1:-}" = --pass ]; then
    use_pocl || { skip adreno-pass "$no_pocl"; finish; }
    if "$studies/pass.sh" ./darknet "$OUT/tests" cfg/kite-demo.cfg 740 >"$work/pass" 2>"$work/error" &&
        [ "$(awk -F '\t' '/^cl_/ && NF >= 10 && $3 > 0 && $6 > 0 { ++n } END { print n + 0 }' "$work/pass")" -ge 5 ] &&
        grep -q '^wait' "$work/pass" && ! grep -q 'cl-mad-enable' "$work/pass"; then
        pass adreno-pass
    else
        fail adreno-pass "$(tail -n 3 "$work/error" "$work/pass")"
    fi
    # M, N and K are those of a layer. A network may have other kernels too.
    GEMM_TRACE=$work/trace.csv GEMM_IMPL=stock GEMM_CONV=im2col ./darknet speed cfg/kite-demo.cfg 1 >/dev/null 2>&1
    wrong=$(awk -F '[,\t]' 'FNR == NR { if (FNR > 1) had[$4, $5, $6]; ++n; next }
        $1 == "cl_direct" && !(($9, $10, $11) in had) { print $9 "x" $10 "x" $11 }
        END { if (n < 3) print "no trace" }' "$work/trace.csv" "$work/pass")
    if [ -z "$wrong" ]; then pass adreno-pass-work; else fail adreno-pass-work "no layer is $wrong"; fi
    finish
fi

# ---- arithmetic: a GPU and a kernel that are made up, and what they must give ----

# 2 units of 64 lanes at 1000 MHz, 100 GB/s, 1 KiB of L2; 200 us a launch, 300 a wait.
printf 'T\t2\t128\t1000\t100\t1\t200\t300\tt\n' >"$work/adreno.tsv"
# The whole kernel: 110 slots, 3 reads, 6 loads, 2 stores. Its loop: 10 slots, 8 multiply-adds, a
# read, 2 loads.
printf 't\tcl_direct\t-DROWS=2 -DCOLS=4\t4\t128\t0\t110\t3\t6\t2\t10\t8\t1\t2\n' >"$work/counts.tsv"
printf 'cl_direct\t\t0.5\t16\n' >"$work/loads.tsv"
# launch ITEMS SIZE: M 2, N 1024, K 16, images of SIZE x 32.
launch()
{
    printf 'cl_direct\t-DROWS=2 -DCOLS=4\t%d\t1\t1\t64\t1\t1\t2\t1024\t16\t1\t9\t0\t16\t1\t9\t0\t1\t1\t9\t0\t1024\t16\t0\t1\t1\t%d\t32\t32\t1\t1\t0\n' "$1" "$2"
}
# told NAME FIELDS PASS: columns 5 to 11 of detail=1 with constants of 0.01
told()
{
    said=$(model -v TEXELS=0.01 -v LINES=0.01 -v mode=pass -v detail=1 -v gpus=T "$work/adreno.tsv" \
        "$work/counts.tsv" "$work/loads.tsv" "$3" | cut -f 5-11 | tr '\t' ' ')
    if [ "$said" = "$2" ]; then pass "adreno-$1"; else fail "adreno-$1" "'$said' is not '$2'"; fi
}
# 128 multiply-adds an item are 16 turns. A unit has 2 groups, 128 items, 2 waves.
#   alu      128 * (16 * 10 + 100) / 32 = 1040 cycles
#   texture  128 * (16 + 2) / 0.64 = 3600
#   buffer   2 waves * (16 * 2 * (0.5 * 1 + 0.5 * 16) + 4 * 6) / 0.64 = 925
#   memory   4 * (16 * 32 * 32 + 2 * 1024 + 2 * 16) bytes = 73856: 738.56 ns
# The longest, and half of the others.
launch 256 32 >"$work/pass"
told arithmetic '0.004952 texture 0.001040 0.003600 0.000925 0.000739 2.0' "$work/pass"
# Rows of 16 items: a load with one address in each row touches 4 lines.
# 2 * (16 * 2 * (0.5 * 4 + 0.5 * 16) + 24) / 0.64 = 1075
launch 256 32 | awk -F '\t' -v OFS='\t' '{ $6 = 16; $7 = 4; print }' >"$work/pass"
told rows-of-items '0.005027 texture 0.001040 0.003600 0.001075 0.000739 2.0' "$work/pass"
# Five groups: one unit has three. 5400 + (1560 + 1387.5 + 738.56) / 2 = 7243.
launch 320 32 >"$work/pass"
told whole-groups '0.007243 texture 0.001560 0.005400 0.001388 0.000739 2.0' "$work/pass"
# Registers for one wave: nothing hides.
sed 's/	128	0	110/	64	0	110/' "$work/counts.tsv" >"$work/one" && mv "$work/one" "$work/counts.tsv"
launch 256 32 >"$work/pass"
told one-wave '0.006304 texture 0.001040 0.003600 0.000925 0.000739 1.0' "$work/pass"
# Waves of 128 fill all lanes.
sed 's/	64	0	110/	128	1	110/' "$work/counts.tsv" >"$work/one" && mv "$work/one" "$work/counts.tsv"
told wide-waves '0.005784 texture 0.000520 0.003600 0.000925 0.000739 1.0' "$work/pass"
# An input larger than L2 is read for each tile of filters, a smaller one once: 4 filters, 2 tiles.
# 4 * (2 * 16384 + 4096 + 64) bytes, and 4 * (128 + 4096 + 64).
launch 256 32 | awk -F '\t' -v OFS='\t' '{ $9 = 4; print }' >"$work/pass"
told input-again '0.006522 texture 0.000520 0.003600 0.000925 0.001477 1.0' "$work/pass"
launch 256 32 | awk -F '\t' -v OFS='\t' '{ $9 = 4; $28 = 1; $29 = 8; print }' >"$work/pass"
told input-once '0.005217 texture 0.000520 0.003600 0.000925 0.000172 1.0' "$work/pass"

# The table: launches and waits come on top, and a kernel without counts is named.
{ launch 256 32; launch 256 32; echo wait; } >"$work/pass"
model -v mode=pass -v gpus=T -v name=toy "$work/adreno.tsv" "$work/counts.tsv" "$work/loads.tsv" "$work/pass" >"$work/row"
if awk -F ' *[|] *' '{ exit !($2 == "toy" && $5 == "2, 1" && $6 == 0.7 && $NF == "") }' "$work/row"; then
    pass adreno-row
else
    fail adreno-row "$(cat "$work/row")"
fi
sed 's/^cl_direct/cl_thin/' "$work/pass" >"$work/new"
model -v mode=pass -v gpus=T -v name=toy "$work/adreno.tsv" "$work/counts.tsv" "$work/loads.tsv" "$work/new" >"$work/row"
if grep -q 'no counts of: cl_thin cl_thin$' "$work/row"; then pass adreno-no-counts; else fail adreno-no-counts "$(cat "$work/row")"; fi

# ---- the claim ----
published()
{
    model -v mode=points "$@" "$studies/adreno.tsv" "$studies/adreno_counts.tsv" "$studies/adreno_loads.tsv" \
        "$studies/adreno_points.tsv" >"$work/points" 2>&1
}
published
status=$?
# The verdict counted once more, from the lines above it.
again=$(awk -F ' *[|] *' '/MHz/ { ++n; hits += !/miss/; if (/held out/) { ++held; held_hits += !/miss/ } }
    END { printf "Within 25%%: %d of %d, held out %d of %d", hits, n, held_hits, held; exit !(n >= 10 && hits >= 0.8 * n && held >= 8 && held_hits >= 0.8 * held) }' "$work/points") &&
    right=1 || right=0
if [ $status = 0 ] && [ $right = 1 ] && grep -qF "$again" "$work/points"; then
    pass adreno-claim
else
    fail adreno-claim "status $status, counted: $again; $(tail -n 1 "$work/points")"
fi
# Fewer constants than figures that they were taken from.
constants=$(grep -c '^#   [A-Z]\{4,\} ' $studies/adreno_model.awk)
fitted=$(grep -c '	fit$' $studies/adreno_points.tsv)
if [ "$constants" -ge 1 ] && [ "$constants" -lt "$fitted" ]; then pass adreno-constants; else fail adreno-constants "$constants constants from $fitted figures"; fi
# A model that is wrong is told so.
published -v LINES=0.0005
status=$?
if [ $status = 1 ] && grep -q 'miss' "$work/points"; then pass adreno-wrong-model; else fail adreno-wrong-model "status $status"; fi

# Each recorded pass has counts on the GPUs that the table has for it.
missing=$(for pass in "$studies"/adreno_passes/*.tsv; do
    gpus='A640 A660 A740'
    [ "$(basename "$pass")" != yolov3-tiny.tsv ] || gpus='A530 A640 A730 A740 A830'
    model -v mode=pass -v gpus="$gpus" -v name="$pass" "$studies/adreno.tsv" "$studies/adreno_counts.tsv" "$studies/adreno_loads.tsv" "$pass"
done | grep 'no counts') || :
if [ -z "$missing" ]; then pass adreno-recorded; else fail adreno-recorded "$missing"; fi
finish
