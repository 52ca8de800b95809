#!/bin/sh
# SPDX-License-Identifier: MIT
# Symbolic links in the project's folder.
#
#   setup/link.sh TARGET NAME         NAME becomes a link to TARGET
#   setup/link.sh --data DARKNET      data, and the cfg files of the Darknet in this folder beside ours
#
# A file or a folder is never replaced: for NAME that is an error, beside data and cfg files it stays.
set -eu
export LC_ALL=C

# link TARGET NAME
link()
{
    if [ "$(readlink "$2" || :)" = "$1" ]; then return; fi
    if [ -e "$2" ] && [ ! -L "$2" ]; then
        echo "$2 is in the way, because a link to $1 belongs there" >&2
        exit 1
    fi
    ln -sfn "$1" "$2"
}

if [ "$1" != --data ]; then
    link "$1" "$2"
    exit
fi
darknet=$2
case $darknet in
/*) from_cfg=$darknet ;;
*) from_cfg=../$darknet ;;
esac
[ -e data ] || link "$darknet/data" data
for file in "$darknet"/cfg/*; do
    name=${file##*/}
    [ -e "cfg/$name" ] || link "$from_cfg/cfg/$name" "cfg/$name"
done
