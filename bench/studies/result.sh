#!/bin/sh
# SPDX-License-Identifier: MIT
# Every result has a folder of its own, FOLDER/TIME, in UTC. FOLDER/latest is a link to the last whole
# one. So a run that is stopped or fails takes nothing from the run before it.
#
#   bench/studies/result.sh open FOLDER
#       makes FOLDER/TIME and prints its path
#   bench/studies/result.sh close RESULT STATUS [WHOLE [FILE]]
#       ends with STATUS. The result is whole if STATUS is one of WHOLE ("0"; a list in one word)
#       and FILE, where it is named, stands in it. An empty folder is removed.
#   bench/studies/result.sh keep FILE COMMAND...
#       runs the command, shows what it prints, and keeps it in FILE. The status is the command's.
set -u
export LC_ALL=C

open_result()
{
    mkdir -p "$1" || exit 1
    time=$(date -u +%Y%m%d-%H%M%S) n=2
    name=$time
    while ! mkdir "$1/$name" 2>/dev/null; do
        if [ ! -d "$1/$name" ]; then
            echo "result: cannot make a folder in $1" >&2
            exit 1
        fi
        name=$time-$n
        n=$((n + 1))
    done
    echo "$1/$name"
}

# point_latest FOLDER NAME: at once, so that nobody meets a folder without `latest`
point_latest()
{
    ln -s "$2" "$1/.latest.$$" && mv -fT "$1/.latest.$$" "$1/latest"
}

close_result()
{
    result=$1 status=$2 folder=$(dirname "$1")
    rmdir "$result" 2>/dev/null && exit "$status"
    case " ${3:-0} " in *" $status "*)
        if [ -z "${4:-}" ] || [ -e "$result/$4" ]; then
            point_latest "$folder" "$(basename "$result")" || exit 1
            echo "result: $result" >&2
            exit "$status"
        fi ;;
    esac
    echo "result: not whole, kept in $result" >&2
    [ ! -e "$folder/latest" ] || echo "result: the last whole one is $folder/$(readlink "$folder/latest")" >&2
    exit "$status"
}

keep_output()
{
    file=$1
    shift
    { "$@"; echo $? >"$file.status"; } | tee "$file"
    status=$(cat "$file.status")
    rm -f "$file.status"
    exit "${status:-1}"
}

command=$1
shift
case $command in
open) open_result "$@" ;;
close) close_result "$@" ;;
keep) keep_output "$@" ;;
*)
    echo "result: '$command' is none of open, close and keep" >&2
    exit 2 ;;
esac
