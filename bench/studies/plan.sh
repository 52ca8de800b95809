#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: plan.sh DARKNET CFG
# One pass of the network with drawn weights: a line for each call, with its way and why.
set -eu
export LC_ALL=C
trace=$(mktemp)
trap 'rm -f "$trace" "$trace.said"' EXIT
if ! GEMM_PREPARE=${GEMM_PREPARE:-first} GEMM_TRACE=$trace "$1" speed "$2" 1 >"$trace.said" 2>&1; then
    grep '^gemm:' "$trace.said" >&2 || tail -n 1 "$trace.said" >&2
    exit 2
fi
awk -f bench/studies/plan.awk "$trace"
