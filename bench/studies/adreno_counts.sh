#!/bin/sh
# SPDX-License-Identifier: MIT
# What a compiler for Adreno GPUs makes of the kernels that a pass launches: adreno_counts.tsv.
#
#   bench/studies/adreno_counts.sh COMPILER GPU... <launches
#
# COMPILER: as in adreno.sh. The launches are lines of pass.sh, of which the first two columns
# count: kernel and options. A kernel "form" is of adreno_forms.cl. Prints lines of tabs: GPU,
# kernel, options without those of the arithmetic, and what ir3_loop.awk prints with model=1.
set -eu
export LC_ALL=C

if [ $# -lt 2 ]; then
    echo 'adreno_counts.sh: usage: adreno_counts.sh COMPILER GPU... <launches' >&2
    exit 2
fi
compiler=$1
shift
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

awk -F '\t' '
    /^(cl_|form)/ { gsub(/-cl-[a-z-]+ */, "", $2); if (!(($1, $2) in had)) print $1 "\t" $2; had[$1, $2] }' >"$work/kernels"
for gpu; do
    while IFS="$(printf '\t')" read -r kernel options; do
        file=$here/../../kernels/$kernel.cl
        case $kernel in form*) file=$here/adreno_forms.cl ;; esac
        awk -v folder="$here/../../kernels" -f "$here/flat_kernel.awk" "$file" >"$work/$kernel.cl"
        # $compiler may be a command with arguments.
        $compiler "$gpu" "$work/$kernel.cl" "-cl-mad-enable -cl-no-signed-zeros $options" \
            </dev/null >"$work/said" 2>&1 || :
        counts=$(awk -v kernel="$kernel" -v model=1 -f "$here/ir3_loop.awk" "$work/said") || {
            echo "adreno_counts.sh: $kernel $options for GPU $gpu; the compiler said:" >&2
            tail -n 5 "$work/said" >&2
            continue
        }
        printf '%s\t%s\t%s\t%s\n' "$gpu" "$kernel" "$options" "$counts"
    done <"$work/kernels"
done
