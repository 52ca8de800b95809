#!/bin/sh
# SPDX-License-Identifier: MIT
# Whole networks under every row of the table.
#
#   tests/system/test_detect.sh UNTRAINED_WEIGHTS MODELS_FOLDER
#
# Raw outputs against stock for yolov3-tiny and the trained networks. For the trained ones also the
# labels that ./darknet prints against those of an unpatched Darknet. All under some rows of each
# kind; test_demo.sh has all rows. Rows run by their gemm (GEMM_CONV=im2col), and those that offer
# whole convolutions by these too.
. tests/support/lib.sh

untrained=$(realpath "$1") models=$2
# What each layer computes is compared and checked with a small input where `make test` runs.
tiny=$(few_or_all "$BUILD/small" "$root/cfg")/yolov3-tiny.cfg
rows=$(./gemm-bench --list | awk -F '\t' '$2 == "usable" { print $1 }')
references=$(./gemm-bench --list | awk -F '\t' '/for comparison only/ { print $1 }')
hooked=packed,cl,auto
some=$(echo "$rows" | grep -Ex 'stock|block2d|transpose|tile_8_uu|packed|cl|cl_image|auto|onednn')
few=$(echo $some | tr ' ' ,)
darknet_folder "$work/here"

# compare_outputs NAME CFG WEIGHTS: by gemm, then by hook
compare_outputs()
{
    compare_table "$1" im2col --rows "$few" "$2" "$3"
    compare_table "$1-hook" hook --rows $hooked "$2" "$3"
}

# compare_table NAME CONV ARGUMENTS...
compare_table()
{
    table=$1 conv=$2
    shift 2
    GEMM_CONV=$conv $OUT/bench/detect_all "$@" data/kite.jpg 2>"$work/error" >"$work/table"
    status=$?
    awk 'NR > 1 && $2 == "unusable:" { print "ok - " $1 " # SKIP " $0; next }
        NR > 1 && $4 == "yes" && $6 == "" { print "ok - " $1; next }
        NR > 1 { print "not ok - " $1 "\n# " $0 }
        END { print "1.." NR - 1 }' "$work/table" | relay "outputs-$table-"
    [ $status = 0 ] || fail "outputs-$table" "status $status: $(tail -n 1 "$work/error")"
}

# labels PROGRAM CFG WEIGHTS: what it prints about kite.jpg, without the time; its status is returned
labels()
{
    (cd "$work/here" && "$1" detect "$2" "$3" data/kite.jpg >"$work/printed" 2>/dev/null)
    label_status=$?
    grep -v 'Predicted in' "$work/printed"
    return $label_status
}

# compare_labels NAME CFG WEIGHTS
compare_labels()
{
    labels "$BUILD/upstream/darknet" "$2" "$3" >"$work/expected"
    if ! grep -q kite "$work/expected" || ! grep -q person "$work/expected"; then
        fail "labels-$1" "unpatched Darknet sees no kite or no person: $(tr '\n' ' ' <"$work/expected")"
        return
    fi
    for row in $some; do
        compare_row "$1" im2col "$row" "$2" "$3"
        case ,$hooked, in *,$row,*) compare_row "$1-hook" hook "$row" "$2" "$3" ;; esac
    done
}

# compare_row NAME CONV ROW CFG WEIGHTS. The library of a row for comparison may crash.
compare_row()
{
    (export GEMM_CONV="$2" GEMM_IMPL="$3" && labels ./darknet "$4" "$5") >"$work/labels" 2>"$work/error"
    status=$?
    if cmp -s "$work/labels" "$work/expected"; then
        pass "labels-$1-$3"
    elif [ $status -gt 128 ] && echo "$references" | grep -qx "$3"; then
        skip_machine "labels-$1-$3" "its library died of SIG$(kill -l $((status - 128)))"
    else
        fail "labels-$1-$3" "not as unpatched Darknet, status $status; repeat with: GEMM_CONV=$2 GEMM_IMPL=$3 ./darknet detect $4 $5 data/kite.jpg"
    fi
}

compare_outputs yolov3-tiny "$tiny" "$untrained"
for network in yolo-fastest-1.1 $(few_or_all "" yolo-fastest-1.1-xl); do
    if [ ! -f "$models/$network.weights" ]; then
        skip "trained-$network" "no $network.weights in $models (MODELS=folder)"
        continue
    fi
    model=$(cd "$models" && pwd)/$network
    compare_outputs "$network" "$model.cfg" "$model.weights"
    compare_labels "$network" "$(by_pjreddie "$model.cfg")" "$model.weights"
done

# Our cfg describes the network that the published weights belong to.
for cfg in "$root/cfg/yolov3-tiny.cfg" "$BUILD/upstream/cfg/yolov3-tiny.cfg"; do
    (cd "$work/here" && ./darknet detect "$cfg" "$untrained" missing.jpg 2>&1 | grep -E '^ +[0-9]+ ')
done >"$work/layers"
lines=$(wc -l <"$work/layers")
if [ "$lines" = 48 ] && [ "$(sort -u "$work/layers" | wc -l)" = 24 ]; then
    pass cfg-as-darknet
else
    fail cfg-as-darknet "the layers of cfg/yolov3-tiny.cfg are not those of Darknet's"
fi

# GEMM_CHECK and GEMM_TRACE over a whole detection.
GEMM_IMPL=block2d GEMM_CHECK=1 GEMM_TRACE=$work/trace.csv labels ./darknet "$tiny" "$untrained" >/dev/null
if [ "$(grep -c '^block2d,0,0,' "$work/trace.csv")" = 13 ]; then
    pass trace-and-check
else
    fail trace-and-check "no 13 calls of block2d in the trace"
fi
places=$(sed -n 's/^width=//p' "$tiny" | awk '{ print $1 * $1 }')
bad=$(awk -F, -v N="$places" 'NR == 1 { if ($0 != "variant,TA,TB,M,N,K,ms,gflops,kernel_ms,bytes_a,bytes_b,bytes_c,layer,algorithm,auto,why,kept") print "columns"; next }
    NR == 2 && ($4 != 16 || $5 != N || $6 != 27) { print "M N K of " $0 }
    { speed = $8 * $7 / (2e-6 * $4 * $5 * $6) }
    NF != 17 || speed < 0.99 || speed > 1.01 || $9 $13 $14 $15 $16 $17 != "its only way0" { print "row " $0 }' "$work/trace.csv")
[ -z "$bad" ] && pass trace-columns || fail trace-columns "$(echo $bad)"

# GEMM_WAY is a way of every layer that can go so. GEMM_PREPARE=first prepares for a second picture at once.
GEMM_WAY=winograd2 GEMM_IMPL=packed GEMM_CHECK=1 GEMM_TRACE=$work/trace.csv \
    labels ./darknet "$tiny" "$untrained" >/dev/null
asked=$(grep -c '^packed,.*,3x3/1 pad 1 .*,winograd2,,winograd2: GEMM_WAY,[0-9]*$' "$work/trace.csv")
[ $label_status = 0 ] && [ "$asked" = 9 ] && pass way-asked || fail way-asked "$asked of 9 layers 3x3 by winograd2"
for when in first second; do
    GEMM_PREPARE=$when GEMM_IMPL=packed GEMM_TRACE=$work/trace.csv labels ./darknet cfg/yolov3-tiny.cfg \
        "$untrained" >/dev/null
    echo "$when $(grep -c 'in one pass' "$work/trace.csv") $(cut -d , -f 17 "$work/trace.csv" | sort -n | tail -n 1)"
done >"$work/prepared"
awk '$1 == "first" { told = $2; all = $3 } $1 == "second" && told == 0 && $2 > 5 && $3 < all / 4 { less = 1 }
    END { exit !less }' "$work/prepared" && pass prepare || fail prepare "$(cat "$work/prepared")"

# GEMM_TRACE=summary: each way with its share of the time, the longest first.
(cd "$work/here" && GEMM_PREPARE=first GEMM_IMPL=auto GEMM_TRACE=summary ./darknet detect cfg/yolov3-tiny.cfg "$untrained" data/kite.jpg) \
    2>&1 >/dev/null | grep '^gemm:' >"$work/summary"
check summary-head grep -q '^gemm: GEMM_IMPL=auto, [a-z0-9]*, threads: [0-9]*, calls: [0-9]*, [0-9.]* ms$' "$work/summary"
check summary-way grep -q 'calls: *[0-9]*, packed winograd4$' "$work/summary"
check summary-shares awk 'NR > 1 { sum += $2; if (NR > 2 && $2 + 0 > last) bad = 1; last = $2 + 0 } END { exit bad || sum < 99 || sum > 101 }' "$work/summary"

# make plan: a line for each call, with its way and why. 13 convolutions, and layers. A route without copies has none.
bench/studies/plan.sh "$OUT/darknet" cfg/yolov3-tiny.cfg >"$work/plan" 2>&1
check plan-lines [ "$(grep -c '^| .* batch 1' "$work/plan")" -ge 17 ]
check plan-why grep -q '^| 3x3/1 .* | 64,10816,288 | packed winograd4 | 398.7 | [1-9][0-9]* | .*winograd4: 0\.[0-9]* times as long as implicit |$' "$work/plan"
for row in packed packed_bf16 auto; do
    GEMM_IMPL=$row bench/studies/plan.sh "$OUT/darknet" cfg/yolov3-tiny.cfg >"$work/plan" 2>&1
    check plan-why-$row [ "$(grep -c '^| [0-9]x[0-9]/.* | [^|]*[a-z0-9]: [^|]* |$' "$work/plan")" = 13 ]
done
GEMM_IMPL=packed bench/studies/plan.sh "$OUT/darknet" tests/unit/cfg/chain.cfg >"$work/plan" 2>&1
check plan-why-chain grep -q '| packed chain | .* | in bands: [0-9]* pieces |$' "$work/plan"
# Each call has a why: layers of each kind, connected ones, and multiplies, tiny ones too.
for row in packed packed_bf16 auto stock block2d; do
    for cfg in hook layers recurrent; do
        GEMM_IMPL=$row bench/studies/plan.sh "$OUT/darknet" tests/unit/cfg/$cfg.cfg
    done >"$work/plan" 2>&1
    [ "$(grep -c '^| [a-z0-9].*[a-z0-9] |$' "$work/plan")" -gt 50 ] && ! grep '|  |$' "$work/plan" >"$work/empty" &&
        pass plan-why-each-$row || fail plan-why-each-$row "no why: $(cat "$work/empty")"
done
GEMM_IMPL=packed bench/studies/plan.sh "$OUT/darknet" cfg/yolov3-tiny.cfg >"$work/plan" 2>&1
check plan-legend [ "$(grep -c '^call: filter/stride' "$work/plan")" = 1 ]
expect=$(bench/studies/plan.sh "$OUT/darknet" /none 2>&1)
[ $? = 2 ] && [ "$expect" = "Couldn't open file: /none" ] && pass plan-no-cfg || fail plan-no-cfg "$expect"

# The same of packed by hook, where Winograd's algorithm computes some layers, and without it.
# The first layer has too few channels for it, and the maxpool behind it is part of it. On a small input
# no layer is worth it.
for conv in hook direct; do
    case $conv in hook) network=cfg/yolov3-tiny.cfg first=173056 ;; direct) network=$tiny first=$places ;; esac
    GEMM_CONV=$conv GEMM_IMPL=packed GEMM_CHECK=1 GEMM_TRACE=$work/trace.csv \
        labels ./darknet "$network" "$untrained" >/dev/null
    winograd=$(grep -c '^packed,.*,winograd[24],,' "$work/trace.csv")
    direct=$(grep -Ec '^packed,.*,(implicit|nchwc|banded),,' "$work/trace.csv")
    first=$(grep -Ec '^packed,0,0,16,'$first',27,.* pool,(implicit|banded),,' "$work/trace.csv")
    case $conv in
    hook) right=$((winograd >= 1 && winograd <= 9 && winograd + direct == 13)) ;;
    direct) right=$((winograd == 0 && direct == 13)) ;;
    esac
    if [ $label_status = 0 ] && [ $right = 1 ] && [ "$first" = 1 ]; then
        pass trace-and-check-packed-$conv
    else
        fail trace-and-check-packed-$conv "status $label_status, $winograd layers by Winograd, $direct by implicit gemm, nchwc or bands, $first of them pooled"
    fi
done

# Five connected layers by hook, and as multiplies; stock takes the smallest one of them.
for conv in hook im2col; do
    (cd "$work/here" && GEMM_CONV=$conv GEMM_IMPL=packed GEMM_CHECK=1 GEMM_TRACE=$work/trace.csv \
        ./darknet speed "$root/tests/unit/cfg/connected.cfg" 1 >"$work/output" 2>&1)
    status=$?
    dots=$(grep -c '^packed,0,0,[0-9]*,1,.*,connected [0-9]* over [0-9]* batch 1,dots,,' "$work/trace.csv")
    multiplies=$(grep -c '^[a-z]*,0,1,1,.*,[0-9]*,,,,[a-z][^,]*,[0-9]*$' "$work/trace.csv")
    case $conv,$status,$dots,$multiplies in
    hook,0,5,0 | im2col,0,0,5) pass trace-connected-$conv ;;
    *) fail trace-connected-$conv "status $status, $dots layers and $multiplies multiplies: $(tail -n 1 "$work/output")" ;;
    esac
done

# The same of cl, by gemm and by hook: the column `layer` tells them apart. M is 0 in a layer without
# weights.
case "$rows" in *cl*)
    for conv in im2col hook; do
        GEMM_CONV=$conv GEMM_IMPL=cl GEMM_CHECK=1 GEMM_TRACE=$work/trace.csv \
            labels ./darknet "$tiny" "$untrained" >/dev/null
        calls=$(awk -F, -v conv=$conv '/^cl_/ && $4 > 0 && $9 > 0 && ($13 != "") == (conv == "hook")' "$work/trace.csv" | wc -l)
        if [ "$calls" = 13 ]; then
            pass trace-and-check-cl-$conv
        else
            fail trace-and-check-cl-$conv "$calls calls of cl in the trace, not 13"
        fi
    done
    ;;
esac

finish
