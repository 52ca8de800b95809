#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: process.sh DARKNET_PHASES THREADS ROUNDS IMAGE CFG=WEIGHTS...
# Where the time of a process goes that detects in one picture: medians of ROUNDS processes, in order of time.
# Phases of the thread `beside` ran at the same time as those of `main`.
set -eu
export LC_ALL=C
program=$1 threads=$2 rounds=$3 image=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
echo
echo "network phase thread from to ms" | awk '{ printf "%-24s %-9s %-7s %8s %8s %8s\n", $1, $2, $3, $4, $5, $6 }'
for network; do
    case $network in *=*) ;; *) continue ;; esac
    : >"$work/lines"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        GEMM_THREADS=$threads "$program" detect "${network%%=*}" "${network#*=}" "$image" -out "$work/predictions" \
            3>>"$work/lines" >/dev/null 2>"$work/said" || { tail -n 1 "$work/said" >&2; exit 1; }
        round=$((round + 1))
    done
    # The median of each column by itself.
    for column in 2 3; do
        sort -k 1,1 -k "$column,${column}n" "$work/lines" | awk -v column=$column '
            $1 != last { if (n) print last, v[int((n + 1) / 2)], side; n = 0; last = $1; side = $4 }
            { v[++n] = $column }
            END { print last, v[int((n + 1) / 2)], side }' >"$work/$column"
    done
    join "$work/2" "$work/3" | sort -k 2n | awk -v network="$(basename "${network%%=*}" .cfg)" '
        { printf "%-24s %-9s %-7s %8.1f %8.1f %8.1f\n", network, $1, $3, $2, $4, $4 - $2 }'
done
