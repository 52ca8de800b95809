#!/bin/sh
# SPDX-License-Identifier: MIT
# What is decided for each layer of some networks: the way and the kernel, for `packed` and its formats on
# each instruction set, and for `cl` on a desktop GPU and on Adreno GPUs. tests/decisions has them. A change
# of a decision is a line of the commit that makes it.
#
#   tests/system/test_decisions.sh [packed] [cl]      UPDATE=1 writes these lines, of all networks
. tests/support/lib.sh
[ "${UPDATE:-0}" != 1 ] || TEST_ALL=1

what=" ${*:-packed cl} "
file=$root/tests/decisions
bin=$OUT/tests
small='tests/unit/cfg/chain.cfg tests/unit/cfg/hook.cfg cfg/yolov3-tiny.cfg'
large='cfg/darknet19.cfg cfg/densenet201.cfg cfg/resnext50.cfg'
models=$(ls "$MODELS"/*.cfg 2>/dev/null)
export GEMM_THREADS=2 GEMM_PREPARE=first GEMM_CACHE_DIR="$work/programs"

# decide NAME CFG: its line goes to $work/found
decide()
{
    rm -f "$work/trace"
    GEMM_TRACE=$work/trace "$bin/one_pass" "$2" && [ -s "$work/trace" ] || return 1
    awk -v name="$1 $(basename "$2" .cfg)" -f tests/support/decisions.awk "$work/trace" >>"$work/found"
}

# compare NAME CFG...: the file has the same lines
compare()
{
    name=$1
    shift
    : >"$work/found"
    for cfg in "$@"; do
        decide "$name" "$cfg" || { fail "decisions-$name" "$cfg cannot run"; return; }
    done
    [ "${UPDATE:-0}" != 1 ] || cat "$work/found" >>"$work/decisions"
    while read -r line; do
        grep -qxF -e "$line" "$file" || {
            fail "decisions-$name" "new: $line
old: $(grep -e "^$(echo "$line" | cut -d ' ' -f 1-3) " "$file")"
            return
        }
    done <"$work/found"
    pass "decisions-$name"
}

# steps CFG: a file that gives all layers but the first one 8 bits; prints its name
steps()
{
    of=$work/$(basename "$1" .cfg).int8
    [ -s "$of" ] || {
        GEMM_IMPL=packed GEMM_CALIBRATE=$of.own "$bin/one_pass" "$1" >&2
        awk '$1 == "layer" && ++n > 1 { $6 = 0.05; $7 = -30 } { print }' "$of.own" >"$of"
    }
    echo "$of"
}

: >"$work/decisions"
isas=
case $what in *' packed '*) isas=$(GEMM_IMPL=packed GEMM_ISA=none "$OUT/darknet" speed cfg/yolov3-tiny.cfg 1 2>&1 | sed -n 's/.*they have: //p') ;; esac
for isa in $isas; do
    networks="$small tests/unit/cfg/wide.cfg $models"
    [ "$isa" = generic ] || networks="$networks $(few_or_all '' "$large")"
    for row in packed packed_bf16; do
        GEMM_IMPL=$row GEMM_ISA=$isa compare "$row $isa" $networks
    done
    for cfg in $small; do
        GEMM_IMPL=packed_int8 GEMM_ISA=$isa GEMM_INT8=$(steps $cfg) compare "packed_int8 $isa" $cfg
    done
done

case $what in *' cl '*) cl=cl ;; *) cl= ;; esac
if [ -n "$cl" ] && use_pocl; then
    export GEMM_IMPL=cl GEMM_CL_TRY=0 POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
    for device in desktop 530 640 740 830; do
        layer=$([ $device = desktop ] && echo desktop || echo adreno)
        ADRENO_DEVICE=$device OPENCL_LAYERS=$bin/layer_$layer.so:$bin/layer_quick.so \
            compare "cl $device" $(few_or_all tests/unit/cfg/chain.cfg "$small $models")
    done
elif [ -n "$cl" ]; then
    skip cl-decisions "$no_pocl"
fi

if [ "${UPDATE:-0}" = 1 ]; then
    case $what in *' packed '*) ;; *) grep '^packed' "$file" >"$work/kept" ;; esac
    case $what in *' cl '*) ;; *) grep '^cl' "$file" >>"$work/decisions" ;; esac
    touch "$work/kept"
    cat "$work/kept" "$work/decisions" >"$file"
fi
finish
