#!/bin/sh
# SPDX-License-Identifier: MIT
# A detection where only untrained weights are at hand.
#
#   demo/detect.sh CFG UNTRAINED_WEIGHTS IMAGE
#
# First the network of CFG, for its time. Then the demonstration network, for its boxes:
# predictions.jpg is its. Every line of output begins with the network that it comes from.
set -eu
export LC_ALL=C

status=$(mktemp)
trap 'rm -f "$status"' EXIT
trap 'exit 130' INT TERM

# labelled NAME COMMAND...: its output, NAME before every line; its status
labelled()
{
    name=$1
    shift
    { s=0; "$@" 2>&1 || s=$?; echo $s >"$status"; } | sed "s/^/$name: /"
    return "$(cat "$status")"
}

labelled 'untrained, for its time' ./darknet detect "$1" "$2" "$3"
labelled 'kite-demo, for its boxes' ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights "$3"
echo 'predictions.jpg: the boxes of kite-demo, the demonstration network. It was trained on the pictures'
echo 'of data/ and finds nothing in others (demo/README.md).'
