#!/bin/sh
# SPDX-License-Identifier: MIT
# Detects the objects of a picture, or of all pictures of a folder.
#
#   demo/detect.sh FOLDER CFG WEIGHTS IMAGE [NAMES]
#
# NAMES has a name for each class, one a line; without it, Darknet's own 80. A picture gets its boxes in
# predictions.jpg, and the pictures of a folder get theirs in FOLDER/pictures. FOLDER keeps the last detection for
# `make report`: predictions.jpg, and said.txt with the network, the command and what it printed.
#
# With untrained weights the network of CFG runs for its time. Then the demonstration network runs for its boxes, and
# each line begins with the network that it comes from.
set -u
export LC_ALL=C

kept=$1 cfg=$2 weights=$3 image=$4 names=${5:-}
mkdir -p "$kept/pictures" || exit 1

# refuse LINE
refuse()
{
    echo "make detect: $1" >&2
    exit 2
}

for file in "CFG=$cfg" "WEIGHTS=$weights"; do
    [ -f "${file#*=}" ] && [ -r "${file#*=}" ] || refuse "$file is no file that can be read"
done
[ -r "$image" ] || refuse "IMAGE=$image is no file and no folder that can be read"
# Classes without a name would crash Darknet, and those of others would get wrong names.
classes=$(sed -n 's/^ *classes *= *\([0-9]*\).*/\1/p' "$cfg" | tail -n 1)
list=${names:-data/coco.names}
[ -f "$list" ] && [ -r "$list" ] || refuse "NAMES=$list is no file that can be read"
lines=$(grep -c . "$list")
[ "${classes:-0}" -le "$lines" ] || refuse "$cfg has $classes classes, and $list only $lines names: give NAMES=file, a name a line"
if [ -n "$names" ]; then
    ln -sf "$(realpath "$names")" "$kept/own.names" && echo "names=$kept/own.names" >"$kept/own.data" || exit 1
fi

# detect LABEL CFG WEIGHTS IMAGE [OUT]: one picture; LABEL and a colon before each line, if it is not empty
detect()
{
    label=$1 network=$2 trained=$3 picture=$4 out=${5:-}
    if [ -n "$names" ] && [ "$network" = "$cfg" ]; then set -- detector test "$kept/own.data" "$network" "$trained" "$picture"
    else set -- detect "$network" "$trained" "$picture"; fi
    [ -z "$out" ] || set -- "$@" -out "$out"
    network=${network##*/}
    printf '%s\n' "${network%.cfg}" "+ GEMM_IMPL=${GEMM_IMPL:-auto} ./darknet $*" >"$kept/said.new"
    tail -n 1 "$kept/said.new" | sed "s/^/${label:+$label: }/"
    { s=0; ./darknet "$@" 2>&1 || s=$?; echo $s >"$kept/status"; } | tee -a "$kept/said.new" | sed "s/^/${label:+$label: }/"
    s=$(cat "$kept/status")
    rm -f "$kept/status"
    [ "$s" = 0 ] || return "$s"
    grep -q '%$' "$kept/said.new" || echo '0 objects above 0.5' | tee -a "$kept/said.new" | sed "s/^/${label:+$label: }/"
    mv "$kept/said.new" "$kept/said.txt" && cp "${out:-predictions}.jpg" "$kept/predictions.jpg"
}

# all_of FOLDER: its pictures, each with boxes in a file of its name; 1 when one of them failed
all_of()
{
    failed=0 count=0 drawn=0
    for picture in "$1"/*; do
        case $picture in
        *.[jJ][pP][gG] | *.[jJ][pP][eE][gG] | *.[pP][nN][gG] | *.[bB][mM][pP]) ;;
        *) continue ;;
        esac
        count=$((count + 1))
        name=${picture##*/}
        if detect '' "$cfg" "$weights" "$picture" "$kept/pictures/${name%.*}"; then drawn=$((drawn + 1)); else failed=1; fi
    done
    [ $count != 0 ] || refuse "IMAGE=$1 is a folder without a .jpg, .jpeg, .png or .bmp"
    echo "$kept/pictures: the boxes of $drawn of $count pictures"
    return $failed
}

case $weights in
*-untrained.weights)
    [ ! -d "$image" ] || refuse "IMAGE=$image is a folder, and the weights are untrained: one picture shows the time"
    detect 'untrained, for its time' "$cfg" "$weights" "$image" || exit
    detect 'kite-demo, for its boxes' cfg/kite-demo.cfg cfg/kite-demo.weights "$image" || exit
    echo 'predictions.jpg: the boxes of kite-demo, the demonstration network. It was trained on the pictures'
    echo 'of data/ and finds nothing in others (demo/README.md).' ;;
*)
    if [ -d "$image" ]; then all_of "$image"; else detect '' "$cfg" "$weights" "$image"; fi ;;
esac
