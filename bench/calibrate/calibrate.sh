#!/bin/sh
# SPDX-License-Identifier: MIT
# Finds the steps of 8 bits for a network: NAME.int8 beside NAME.weights.
#
#   bench/calibrate/calibrate.sh [--error E] DARKNET CFG WEIGHTS IMAGE...
#
# Runs the pictures through the network under `darknet-gemm calibrate`. The outputs of the network in 8
# bits differ from those in single precision by at most E of the largest, 0.05 unless given. The file is
# replaced only when all pictures ran. Prints a line a picture on a terminal, then the table of layers,
# what was found, and the command that uses the file.
set -eu
export LC_ALL=C

# die WHY
die()
{
    echo "calibrate: $1" >&2
    exit 1
}

error=0.05
[ "${1:-}" != --error ] || [ $# -lt 2 ] || { error=$2; shift 2; }
[ $# -ge 3 ] || { echo 'usage: calibrate.sh [--error E] DARKNET CFG WEIGHTS IMAGE...' >&2; exit 2; }
[ $# -gt 3 ] || die "IMAGES names no picture: give some, such as IMAGES='pictures/a.jpg pictures/b.jpg'"
printf '%s' "$error" | grep -Eqx '0*\.[0-9]*[1-9][0-9]*|0*1(\.0*)?' ||
    die "ERROR='$error' is no number above 0 and at most 1, such as 0.05"
# need WHAT FILE
need()
{
    [ ! -d "$2" ] || die "$1='$2' is a folder: name the file$([ "$1" != IMAGES ] || echo "s in it")"
    [ -f "$2" ] && [ -r "$2" ] || die "$1='$2' is no file that can be read"
}
tool=$(realpath -- "$(dirname -- "$0")/../../install/darknet-gemm.in")
need DARKNET "$1"
need CFG "$2"
need WEIGHTS "$3"
darknet=$(realpath -- "$1") cfg=$2 weights=$3
shift 3
for image; do need IMAGES "$image"; done

file=${weights%.weights}.int8
beside=$(dirname -- "$file")
[ -w "$beside" ] || die "the folder '$beside' of the weights cannot be written"

# Darknet writes predictions.jpg where it is, and reads data/ and cfg/.
work=$(mktemp -d)
new=$(realpath -- "$beside")/.${file##*/}.new-$$
trap 'rm -rf "$work" "$new"' EXIT
trap 'exit 130' INT TERM
ln -s "$PWD/cfg" "$PWD/data" "$work"

# Darknet asks for a picture when the one before it is done. No box is that certain, so none is drawn.
detect()
{
    for image; do realpath -- "$image"; done >"$work/images"
    cfg=$(realpath -- "$cfg") weights=$(realpath -- "$weights")
    cd "$work"
    GEMM_IMPL=packed sh "$tool" calibrate --error "$error" "$new" -- "$darknet" detect "$cfg" "$weights" -thresh 2 <images 2>said || echo $? >status
}

count=$#
detect "$@" | {
    done=0
    while IFS= read -r line; do
        case $line in *': Predicted in '*) ;; *) continue ;; esac
        done=$((done + 1))
        [ ! -t 2 ] || echo "$done of $count: ${1:-}" >&2
        [ $# = 0 ] || shift
    done
    echo $done >"$work/done"
}
if [ -f "$work/status" ] || [ "$(cat "$work/done")" -lt $count ] || [ ! -s "$new" ]; then
    # Its last line, before what the library says at the end. A picture's name is in the line before that.
    last='$ { /^STB Reason/ { x; G; s/\n/, /; }; p; }; h'
    why=$(sed '/^gemm: GEMM_CALIBRATE:$/,$d' "$work/said" | grep -v "^gemm: GEMM_CALIBRATE='" | sed -n "$last")
    if [ ! -f "$work/status" ] && [ "$(cat "$work/done")" = $count ]; then
        why=$(grep "^gemm: GEMM_CALIBRATE='" "$work/said" | tail -n 1)
    fi
    die "Darknet ended after $(cat "$work/done") of $count pictures: $why"
fi
sed -n '/^layer  /,$ { /^darknet-gemm: .* is written[.] Now: /d; s/^darknet-gemm: //; p; }' "$work/said"
mv -f "$new" "$file"
# quoted WORD: as a word of the shell
quoted()
{
    case $1 in
    *[!A-Za-z0-9_./:@%+,=-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

echo "$file is written. Now:"
echo "GEMM_IMPL=packed_int8 GEMM_INT8=$(quoted "$file") ./darknet detect $(quoted "$cfg") $(quoted "$weights") $(quoted "$1")"
