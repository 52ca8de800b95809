#!/bin/sh
# SPDX-License-Identifier: MIT
# Applies series of patches to a Darknet source tree, or takes them out again: all of them, or nothing.
#
#   setup/patch.sh TREE [FOLDER...]       folders of patches/; pjreddie pjreddie/extra. A tree of AlexeyAB's
#                                         gets alexeyab instead, one of hank-ai's hank-ai.
#   setup/patch.sh --undo TREE
#
# The patches are tried on a copy of the files that they touch. At the end each file gets its new text
# beside it, as FILE.patching. When all of these are whole, they take the names of the files. A file that
# cannot be renamed takes the others back.
#
# TREE/.darknet-gemm keeps what --undo needs: the old files in before/, and in `patched` the sha256 of
# the new ones. So a tree gets its own bytes back, whatever the patches are by then.
set -eu
export LC_ALL=C
. "$(dirname "$0")/kind.sh"

is_undo=
if [ "$1" = --undo ]; then
    is_undo=yes
    shift
fi
tree=$1
shift
[ $# != 0 ] || set -- pjreddie pjreddie/extra
patches=$(cd "$(dirname "$0")/../patches" && pwd)
record=.darknet-gemm
copy=$(mktemp -d)
touched=
trap 'for file in $touched; do rm -f "$tree/$file.patching"; done; rm -rf "$copy" "$tree/$record.new"' EXIT
trap 'exit 130' INT TERM

refuse()
{
    echo "$1" >&2
    exit 1
}

# must_be_darknet: one line with what is there, and what should be
must_be_darknet()
{
    [ -d "$tree" ] || refuse "$tree is no folder: a checkout of Darknet is wanted, pjreddie's, AlexeyAB's or hank-ai's"
    missing=
    case ${is_undo:-$kind} in
    hank-ai | yes) return ;;
    old*) refuse "$(refused "$tree" "$kind"). Nothing was changed" ;;
    nnpack) refuse "$tree is darknet-nnpack, for which there is no patch: build it with NNPACK=0, then make layers. Nothing was changed" ;;
    alexeyab) set -- src/network.c ;;
    *) set -- examples/detector.c ;;
    esac
    for file in Makefile src/gemm.c include/darknet.h "$@"; do
        [ -f "$tree/$file" ] || missing="$missing $file"
    done
    [ -n "$missing" ] || return 0
    found=$(ls "$tree" | awk 'NR < 7 { text = text " " $0 } END { print (NR ? text : " nothing") (NR > 6 ? " ..." : "") }')
    refuse "$tree is not a checkout of pjreddie's Darknet: it has no$missing; found:$found"
}

# new_from FOLDER: the files of $touched get their new text beside them. A file that FOLDER lacks will go.
new_from()
{
    for file in $touched; do
        [ -f "$1/$file" ] || continue
        cp -p "$1/$file" "$tree/$file.patching" || refuse "$file cannot be written in $tree: nothing was changed"
    done
}

# exchange FILE: its old text, if there is one, stays as FILE.unpatched
exchange()
{
    { [ ! -e "$tree/$1" ] || mv -f "$tree/$1" "$tree/$1.unpatched"; } &&
        { [ ! -e "$tree/$1.patching" ] || mv -f "$tree/$1.patching" "$tree/$1"; }
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

# exchange_all: from here on nothing interrupts
exchange_all()
{
    trap '' INT TERM
    for file in $touched; do
        if exchange "$file"; then continue; fi
        for other in $touched; do restore "$other"; done
        refuse "$file cannot be replaced in $tree: nothing was changed"
    done
}

# mark_old: which files of $touched are there now
mark_old()
{
    for file in $touched; do
        mkdir -p "$copy/$(dirname "$file")"
        if [ -f "$tree/$file" ]; then touch "$copy/$file.old"; fi
    done
}

kind=$(kind_of "$tree")
must_be_darknet
if [ -n "$is_undo" ]; then
    [ -f "$tree/$record/patched" ] ||
        refuse "$tree has no $record, which make patch leaves: there is nothing that could be taken out"
    touched=$(sed 's/^[^ ]*  //' "$tree/$record/patched")
    changed=$(cd "$tree" && LC_ALL=C sha256sum -c "$record/patched" 2>/dev/null | sed -n 's/: FAILED.*//p' | tr '\n' ' ')
    [ -z "$changed" ] ||
        refuse "changed since the patch in $tree: ${changed% }. Save your changes elsewhere; nothing was changed"
    mark_old
    new_from "$tree/$record/before"
    # So that make compiles them again.
    for file in $touched; do [ ! -e "$tree/$file.patching" ] || touch "$tree/$file.patching"; done
    exchange_all
    for file in $touched; do rm -f "$tree/$file.unpatched"; done
    rm -rf "$tree/$record"
    exit
fi

# must_lack FILE WORD: a patched tree has it
must_lack()
{
    ! grep -q "$2" "$tree/$1" || refuse "$tree is patched already: $1 knows $2. Give an unpatched Darknet."
}
if [ "$kind" = hank-ai ]; then
    set -- hank-ai
    must_lack src-cli/CMakeLists.txt DARKNET_GEMM
elif [ "$kind" = alexeyab ]; then
    set -- alexeyab
    must_lack src/network.c hook_layers
else
    must_lack src/gemm.c gemm_dispatch
fi

for folder; do sed "s|^|$folder/|" "$patches/$folder/series"; done >"$copy/series"
touched=$(cd "$patches" && sed -n 's|^+++ b/||p' $(cat "$copy/series") | sort -u)
mark_old
rm -rf "$tree/$record.new"
mkdir -p "$tree/$record.new/before"
for file in $touched; do
    [ -f "$tree/$file" ] || continue
    mkdir -p "$tree/$record.new/before/$(dirname "$file")"
    cp -p "$tree/$file" "$copy/$file" && cp -p "$tree/$file" "$tree/$record.new/before/$file" ||
        refuse "$record cannot be written in $tree: nothing was changed"
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

(cd "$copy" && sha256sum $touched) >"$tree/$record.new/patched" ||
    refuse "$record cannot be written in $tree: nothing was changed"
new_from "$copy"
exchange_all
if ! { rm -rf "$tree/$record" && mv "$tree/$record.new" "$tree/$record"; }; then
    for file in $touched; do restore "$file"; done
    refuse "$record cannot be written in $tree: nothing was changed"
fi
for file in $touched; do rm -f "$tree/$file.unpatched"; done
