#!/bin/sh
# SPDX-License-Identifier: MIT
# The networks of AlexeyAB's cfg/ by the patched Darknet and by AlexeyAB's own: outputs within 1e-4 of the largest.
#
#   ALEXEYAB=folder tests/system/test_published.sh [CFG...]
#
# The folder is a checkout that was built with LIBSO=1 AVX=1 OPENMP=1. Weights are drawn. Inputs are made small, where
# the network allows another size. Of a network that does not run, one line names the section and the option.
. tests/support/lib.sh

theirs=$(realpath "${ALEXEYAB:?a checkout of AlexeyAB is needed}") || exit 1
[ $# != 0 ] || set -- "$theirs"/cfg/*.cfg
for cfg; do
    shift
    set -- "$@" "$(realpath "$cfg")"
done
side=$(few_or_all 128 256)
count=$(few_or_all 1 3)
all='data/kite.jpg data/dog.jpg data/person.jpg data/eagle.jpg data/giraffe.jpg data/horses.jpg data/scream.jpg'
refused='\[crnn\]: output=\|dilation=\|\[contrastive\]: this Darknet has no such layer'
darknet_folder "$work/here"
ours=$OUT/tests/published
export GEMM_IMPL="${GEMM_IMPL:-packed}"

${CC:-cc} -std=gnu11 -O2 -DALEXEYAB -I"$theirs/include" tests/support/published.c -o "$work/theirs" "$theirs/libdarknet.so" \
    -Wl,-rpath,"$theirs" -lm -pthread || exit 1
cd "$work/here" || exit 1

# Layers with xnor take the signs of their inputs.
has_xnor() { grep -q '^ *xnor *= *1' "$1"; }

# smaller CFG: one image, one step, and another size where no layer depends on it. AlexeyAB's code for the CPU gives 0
# for relu6.
smaller()
{
    size='s/^ *(width|height) *=.*/\1='$(has_xnor "$1" && echo 32 || echo $side)'/'
    ! grep -q '^\[connected\]\|^\[crop\]\|^\[detection\]' "$1" || size=
    sed -E "s/^ *(batch|subdivisions|time_steps) *=.*/\1=1/; s/relu6/relu/; $size" "$1"
}

# choose CFG: the first pictures; with xnor of those that give no number so near 0 that rounding turns its sign. Large
# pictures all give one.
choose()
{
    if has_xnor "$1"; then "$ours" sure "$1" "$work/weights" $all 2>/dev/null; else echo "$all" | tr ' ' '\n'; fi |
        head -n "$count"
}

# compare NAME CFG: both have the rules of AlexeyAB's Darknet, whatever the cfg has
compare()
{
    smaller "$2" >their.cfg
    awk '{ print } /^\[net/ { print "darknet=alexeyab" }' their.cfg >our.cfg
    if ! "$ours" draw our.cfg "$work/weights" data/kite.jpg >"$work/log" 2>&1; then
        why=$(grep '^Config file.*, line' "$work/log")
        echo "$why" | grep -q "$refused" && pass "published-$1-refused" || fail "published-$1" "$(tail -n 1 "$work/log")"
    elif pictures=$(choose our.cfg) && ! "$ours" write our.cfg "$work/weights" "$work/our" $pictures >"$work/log" 2>&1; then
        fail "published-$1" "$(tail -n 1 "$work/log")"
    elif ! "$work/theirs" write their.cfg "$work/weights" "$work/their" $pictures >"$work/log" 2>&1; then
        skip_machine "published-$1" "AlexeyAB's own Darknet fails: $(tail -n 1 "$work/log")"
    elif difference=$("$ours" compare "$work/their" "$work/our"); then
        pass "published-$1: $difference"
    else
        fail "published-$1" "$difference"
    fi
}

for cfg; do compare "$(basename "$cfg" .cfg)" "$cfg"; done
finish
