#!/bin/sh
# Applies patches/series to a Darknet source tree: all of it, or nothing.
#
#   setup/patch.sh TREE
#
# The series is tried on a copy of the files that it touches; the copy replaces them at the end.
set -eu

tree=$1
patches=$(cd "$(dirname "$0")/../patches" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT TERM

if grep -q gemm_dispatch "$tree/src/gemm.c"; then
    echo "$tree is patched already: src/gemm.c knows gemm_dispatch. Give an unpatched Darknet." >&2
    exit 1
fi

touched=$(cd "$patches" && sed -n 's|^+++ b/||p' $(cat series) | sort -u)
for file in $touched; do
    mkdir -p "$copy/$(dirname "$file")"
    if [ -f "$tree/$file" ]; then cp -p "$tree/$file" "$copy/$file"; fi
done

while read -r name; do
    if ! patch --dry-run -p1 -d "$copy" --no-backup-if-mismatch <"$patches/$name" >"$copy/log" 2>&1; then
        awk '/^checking file/ { file = $3 }
             /FAILED|can.t find file/ { print file; exit }' "$copy/log" >"$copy/file"
        echo "$name does not apply to $(cat "$copy/file") of $tree: nothing was changed" >&2
        sed 's/^/    /' "$copy/log" >&2
        exit 1
    fi
    patch --silent -p1 -d "$copy" --no-backup-if-mismatch <"$patches/$name"
done <"$patches/series"

for file in $touched; do
    cp -p "$copy/$file" "$tree/$file"
done
