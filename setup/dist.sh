#!/bin/sh
# SPDX-License-Identifier: MIT
# Packs the files that git tracks, as they are here, into FILE.tar.xz. Equal files give equal bytes.
#
#   setup/dist.sh VERSION FILE.tar.xz
set -eu
export LC_ALL=C

version=$1 file=$2 name=darknet-gemm-$1 new=$2.new-$$
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1 || [ -n "$(git rev-parse --show-prefix)" ]; then
    echo "make dist packs the files that git tracks, and this folder is no checkout of git" >&2
    exit 1
fi
if ! git diff --quiet HEAD; then echo "make dist: there are changes that are not committed, and they are packed too"; fi

list=$(mktemp)
trap 'rm -f "$list" "$new"' EXIT
trap 'exit 130' INT TERM
# debian/ is not part of the upstream source, as Debian wants it.
git ls-files -z -- ':!debian' >"$list"
mkdir -p "$(dirname "$file")"
tar --null --files-from="$list" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go=rX \
    --mtime="@$(git log -1 --format=%ct)" --transform="s|^|$name/|" -cf - | xz -c >"$new"
mv "$new" "$file"
echo "$file"
