#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: cold.sh BENCH_DETECT DARKNET_PHASES THREADS ROUNDS IMAGE CFG[=WEIGHTS]...
# The first pass of new processes, in turns: as the settings are, and with other ones. Milliseconds go
# from reading the network to the end of its first pass. Peak MB is what the process had in memory. Then come the phases
# of ./darknet (process.sh).
set -eu
export LC_ALL=C
bench=$1 phases=$2 threads=$3 rounds=$4 image=$5
shift 5
times=$(mktemp)
trap 'rm -f "$times" "$times.said"' EXIT
echo "network settings ms quarter three-quarters ratio peak-MB" |
    awk '{printf "%-24s %-22s %8s %8s %14s %6s %8s\n", $1, $2, $3, $4, $5, $6, $7}'
for network; do
    : >"$times"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        for setting in as-set GEMM_PREPARE=first GEMM_CONV=direct GEMM_CONV=im2col; do
            answer=$(echo first | env ${setting#as-set} "$bench" --serve --threads "$threads" "$image" "$network" \
                2>"$times.said") || { tail -n 1 "$times.said" >&2; exit 1; }
            echo "$setting $answer" >>"$times"
        done
        round=$((round + 1))
    done
    sort -k 1,1 -k 2,2n "$times" | awk -v network="$(basename "${network%%=*}" .cfg)" '
        { n[$1]++; ms[$1, n[$1]] = $2; peak[$1] = $3 > peak[$1] ? $3 : peak[$1] }
        function at(s, q) { return ms[s, int(q * (n[s] - 1) + 1.5)] }
        END {
            split("as-set GEMM_PREPARE=first GEMM_CONV=direct GEMM_CONV=im2col", order)
            for (i = 1; i in order; ++i) {
                s = order[i]
                printf "%-24s %-22s %8.1f %8.1f %14.1f %6.2f %8.0f\n", network, s, at(s, .5), at(s, .25),
                    at(s, .75), at(s, .5) / at("as-set", .5), peak[s] * 1.024e-3
            }
        }'
done
"$(dirname "$0")"/process.sh "$phases" "$threads" "$rounds" "$image" "$@"
