#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds Darknet from two commits of this project and runs a comparison of the two programs.
#
#   bench/ab/commits.sh FOLDER A B DARKNET [COMMAND...]
#
# A and B are commits, tags or branches. Without COMMAND they are only looked for. Each is built in FOLDER/HASH,
# once, from the unpatched Darknet in DARKNET. COMMAND also gets --bin-a, --bin-b, --label-a and --label-b.
# $MAKE is the make to build with, and $MAKE_ARGUMENTS are words for it, such as OPENCL=0. Nothing else of a
# make that calls this reaches it.
set -u
export LC_ALL=C

folder=$1 a=$2 b=$3 darknet=$4
shift 4

# hash_of SIDE REF
hash_of()
{
    git rev-parse --verify --quiet "$2^{commit}" && return
    echo "ab: $1='$2' is no commit, tag or branch of this repository" >&2
    return 1
}
hash_a=$(hash_of A "$a") && hash_b=$(hash_of B "$b") || exit 2
changed=$(git status --porcelain --untracked-files=no | wc -l)
if [ $# = 0 ]; then
    [ "$changed" = 0 ] || echo "ab: $changed changed files are left out: only what is committed is built" >&2
    exit 0
fi

# build HASH: the files of the commit, without the repository
build()
{
    tree=$folder/$1
    [ ! -e "$tree/built" ] || return 0
    echo "ab: building $1 in $tree" >&2
    rm -rf "$tree" && mkdir -p "$tree" && git archive "$1" | tar -xf - -C "$tree" || return 1
    if ! env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u MAKELEVEL "${MAKE:-make}" -C "$tree" INSTALL=0 BUILD=build DARKNET_SRC="$darknet" ${MAKE_ARGUMENTS:-} \
        darknet >"$tree/log" 2>&1 || [ ! -x "$tree/darknet" ]; then
        echo "ab: $1 cannot be built ($tree/log):" >&2
        tail -n 5 "$tree/log" >&2
        return 1
    fi
    : >"$tree/built"
}
build "$hash_a" && build "$hash_b" || exit 1

exec "$@" --bin-a "$folder/$hash_a/darknet" --bin-b "$folder/$hash_b/darknet" --label-a "$a" --label-b "$b"
