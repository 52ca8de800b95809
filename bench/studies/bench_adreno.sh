#!/bin/sh
# SPDX-License-Identifier: MIT
# make bench-adreno: how long `cl` takes on an Adreno, on paper, and how near the model is to what
# others measured.
#
#   bench/studies/bench_adreno.sh DARKNET LAYERS CFG...
#
# DARKNET, LAYERS: as for pass.sh. Prints the published figures beside the model's, then a pass of
# each network on each GPU. The launches are what `cl` asks PoCL for. ADRENO_COMPILER, a command as
# in adreno.sh, counts kernels that adreno_counts.tsv does not have. Status 1: fewer figures are
# within 25% than the model promises.
set -eu
export LC_ALL=C
darknet=$1 layers=$2
shift 2
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
gpus=${ADRENO_GPUS:-A530 A640 A660 A730 A740 A830 X1-85}
model() { awk -f "$here/adreno_model.awk" "$@"; }

echo "## Published figures"
echo
status=0
model -v mode=points "$here/adreno.tsv" "$here/adreno_counts.tsv" "$here/adreno_loads.tsv" \
    "$here/adreno_points.tsv" || status=$?
echo
echo "## A pass, ms"
echo
echo "| network | GPU | kernels | launches, waits | these | pass (spread of the model) | GFLOP/s | others | cl / others |"
echo "|---|---|---|---|---|---|---|---|---|"
for cfg; do
    name=$(basename "$cfg" .cfg)
    case $cfg in
    *.tsv) pass=$cfg name=$(basename "$cfg" .tsv) ;;    # recorded
    *) pass=$work/$name.tsv; "$here/pass.sh" "$darknet" "$layers" "$cfg" >"$pass" ;;
    esac
    cp "$here/adreno_counts.tsv" "$work/adreno_counts.tsv"
    if [ -n "${ADRENO_COMPILER:-}" ]; then
        for gpu in $(awk -F '\t' -v gpus=" $gpus " '!/^#/ && index(gpus, " " $1 " ") { print $9 }' "$here/adreno.tsv" | sort -u); do
            awk -F '\t' -v gpu="$gpu" 'NR == FNR { had[$1, $2, $3]; next }
                /^cl_/ && !((gpu, $1, $2) in had)' "$here/adreno_counts.tsv" "$pass" |
                "$here/adreno_counts.sh" "$ADRENO_COMPILER" "$gpu" >>"$work/adreno_counts.tsv"
        done
    fi
    model -v mode=pass -v gpus="$gpus" -v name="$name" "$here/adreno.tsv" "$work/adreno_counts.tsv" \
        "$here/adreno_loads.tsv" "$here/adreno_points.tsv" "$here/adreno_peers.tsv" "$pass"
done
exit $status
