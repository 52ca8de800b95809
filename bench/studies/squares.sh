#!/bin/sh
# SPDX-License-Identifier: MIT
# The chart of make bench-cl: squares.svg and squares.png from squares.tsv.
#
#   bench/studies/squares.sh FOLDER
set -eu
export LC_ALL=C

folder=$1
if ! command -v gnuplot >/dev/null 2>&1; then
    echo 'bench-cl: no gnuplot, so no chart (Debian: gnuplot-nox)' >&2
    exit 0
fi
for format in svg png; do
    gnuplot -e "data='$folder/squares.tsv'; image='$folder/squares.$format'; format='$format'" \
        "$(dirname "$0")/squares.gnuplot"
done
echo "chart: $folder/squares.svg"
