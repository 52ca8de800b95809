#!/bin/sh
# SPDX-License-Identifier: MIT
# Says how much of a build is compiled, whenever 5 s have passed, until all is or make has ended.
#
#   MAKEFLAGS=VARIABLES setup/progress.sh PID BUILD MAKE GOAL...     PID: the make that builds the GOALs
#
# After the first 5 s `make -n` says what is still to do. Until Darknet is there, it says only a part, and fails.
set -eu

pid=$1 build=$2 make=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/start"

# The objects that were compiled since the start, and those that are still wanted
made() { find "$build" -path '*obj/*.o' -newer "$work/start" | sed "s|^$PWD/||" | sort; }
wanted()
{
    whole=yes
    "$make" -nk V=1 "$@" >"$work/commands" 2>&1 </dev/null || whole=
    awk '/ -c / { for (i = 1; i < NF; ++i) if ($i == "-o") print $(i + 1) }' "$work/commands" | sed "s|^$PWD/||"
}

whole=
all=0
seconds=0
while sleep 1 && kill -0 "$pid" 2>/dev/null; do
    seconds=$((seconds + 1))
    [ $((seconds % 5)) = 0 ] || continue
    made >"$work/made"
    if [ -z "$whole" ]; then
        wanted "$@" >"$work/wanted"
        all=$(sort -u "$work/made" "$work/wanted" | wc -l)
    fi
    done=$(wc -l <"$work/made")
    [ -z "$whole" ] || [ "$done" != "$all" ] || exit 0
    least=
    [ -n "$whole" ] || least=' at least'
    # A file that `make -n` could not foresee
    [ "$done" -lt "$all" ] || all=$done
    echo "Compiling: $done of$least $all files are done"
done
