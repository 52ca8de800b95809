#!/bin/sh
# Applies series of patches to a Darknet source tree: all of them, or nothing.
#
#   setup/patch.sh TREE [FOLDER...]       folders of patches/; pjreddie pjreddie/extra
#
# The patches are tried on a copy of the files that they touch. At the end each file gets its new text
# beside it, as FILE.patching. When all of these are whole, they take the names of the files. A file that
# cannot be renamed takes the others back.
set -eu

tree=$1
shift
[ $# != 0 ] || set -- pjreddie pjreddie/extra
patches=$(cd "$(dirname "$0")/../patches" && pwd)
copy=$(mktemp -d)
touched=
trap 'for file in $touched; do rm -f "$tree/$file.patching"; done; rm -rf "$copy"' EXIT
trap 'exit 130' INT TERM

if grep -q gemm_dispatch "$tree/src/gemm.c"; then
    echo "$tree is patched already: src/gemm.c knows gemm_dispatch. Give an unpatched Darknet." >&2
    exit 1
fi

for folder; do sed "s|^|$folder/|" "$patches/$folder/series"; done >"$copy/series"
touched=$(cd "$patches" && sed -n 's|^+++ b/||p' $(cat "$copy/series") | sort -u)
for file in $touched; do
    mkdir -p "$copy/$(dirname "$file")"
    if [ -f "$tree/$file" ]; then cp -p "$tree/$file" "$copy/$file" && touch "$copy/$file.old"; fi
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
done <"$copy/series"

for file in $touched; do
    if ! cp -p "$copy/$file" "$tree/$file.patching"; then
        echo "$file cannot be written in $tree: nothing was changed" >&2
        exit 1
    fi
done

# exchange FILE: its old text, if there is one, stays as FILE.unpatched
exchange()
{
    { [ ! -e "$tree/$1" ] || mv -f "$tree/$1" "$tree/$1.unpatched"; } && mv -f "$tree/$1.patching" "$tree/$1"
}

# restore FILE: as it was before exchange, or as it is when exchange did not come to it
restore()
{
    if [ -e "$tree/$1.unpatched" ]; then
        mv -f "$tree/$1.unpatched" "$tree/$1"
    elif [ ! -e "$copy/$1.old" ]; then
        rm -f "$tree/$1"
    fi
}

trap '' INT TERM
for file in $touched; do
    if exchange "$file"; then continue; fi
    for other in $touched; do restore "$other"; done
    echo "$file cannot be replaced in $tree: nothing was changed" >&2
    exit 1
done
for file in $touched; do rm -f "$tree/$file.unpatched"; done
