#!/bin/sh
# SPDX-License-Identifier: MIT
# What forks gain by whole layers, beside the patched pjreddie's Darknet: all in turns in one run.
#
#   bench/forks/reach.sh OUT ROUNDS PASSES NETWORK...
#
# OUT: the folder of the build. NETWORK: a cfg; its weights are drawn. ALEXEYAB, HANKAI and HANKAI_BLAS name
# trees as in `make test ON=forks`; Debian's package takes part where it is installed. A round runs each
# Darknet once, in a process of its own with 2 threads whose OpenMP waits passively. Prints a Markdown table:
# medians over the rounds, with quartiles, of the median time of a pass, and of the processor's.
set -u
export LC_ALL=C
out=$1 rounds=$2 passes=$3
shift 3
: "${CC:=gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
status=0

# client NAME FLAGS...: compiles the program for one Darknet
client()
{
    name=$1
    shift
    $CC -O1 -D_GNU_SOURCE -Isrc "$@" tests/support/fork_time.c tests/support/fork_host.c -o "$work/$name" -ldl -lm || exit
}

# prepare NAME FOLDER: client and library
prepare()
{
    flags=$(setup/layers.sh "$2" "$work/made.$1") || exit
    client "$1" $flags
    make -s INSTALL=0 DARKNET_SRC="$2" "$out/libdarknet-layers.so" && cp "$out/libdarknet-layers.so" "$work/$1.so" || exit
}

# time_of NETWORK NAME CLIENT LIBRARY PRELOAD: one line of $work/times
time_of()
{
    OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2 GEMM_THREADS=2 LD_PRELOAD="$5" "$work/$3" "$4" "$passes" "$1" \
        2>"$work/error" | awk -v network="$(basename "$1" .cfg)" -v name="$2" '
            /^pass ms/ { print network, name, $3, $4 }' >"$work/line"
    if [ -s "$work/line" ]; then cat "$work/line" >>"$work/times"; else tail -n 1 "$work/error" >&2; status=1; fi
}

# pair NETWORK NAME LIBRARY: alone, and with whole layers
pair()
{
    time_of "$1" "$2" "$2" "$3" ''
    time_of "$1" "$2+layers" "$2" "$3" "$work/$2.so"
}

has_groups() { grep -q '^groups *= *2' "$1" && grep -q '^group_id' "$1"; }

darknet=$(dirname "$out")/darknet
client pjreddie "-I$darknet/include" "-I$darknet/src"
[ -z "${ALEXEYAB:-}" ] || prepare alexeyab "$ALEXEYAB"
[ -z "${HANKAI:-}" ] || prepare hankai "$HANKAI"
[ -z "${HANKAI_BLAS:-}" ] || prepare hankai-blas "$HANKAI_BLAS"
[ ! -r /usr/lib/darknet/libdarknet.so ] || prepare debian /usr
round=0
while [ $round -lt "$rounds" ]; do
    for cfg; do
        # pjreddie's Darknets know no route of a group.
        if ! has_groups "$cfg"; then
            time_of "$cfg" pjreddie-patched pjreddie "$out/libdarknet.so" ''
            [ ! -r /usr/lib/darknet/libdarknet.so ] || pair "$cfg" debian /usr/lib/darknet/libdarknet.so
        fi
        [ -z "${ALEXEYAB:-}" ] || pair "$cfg" alexeyab "$ALEXEYAB/libdarknet.so"
        [ -z "${HANKAI:-}" ] || pair "$cfg" hankai "$HANKAI/build/src-lib/libdarknet.so"
        [ -z "${HANKAI_BLAS:-}" ] || pair "$cfg" hankai-blas "$HANKAI_BLAS/build/src-lib/libdarknet.so"
    done
    round=$((round + 1))
done

echo '| network | Darknet | wall ms | of the processor, ms |'
echo '| --- | --- | --- | --- |'
cut -d ' ' -f 1,2 "$work/times" | awk '!seen[$0]++' | while read -r network name; do
    for column in 3 4; do
        awk -v n="$network" -v d="$name" -v c=$column '$1 == n && $2 == d { print $c }' "$work/times" | sort -n |
            awk '{ x[NR] = $1 } END { printf "%.2f (%.2f to %.2f)", x[int((NR + 1) / 2)], x[int((NR + 3) / 4)], x[int((3 * NR + 1) / 4)] }'
        echo
    done | paste -sd '|' | sed "s/|/ | /; s/.*/| $network | $name | & |/"
done
exit $status
