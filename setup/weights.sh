#!/bin/sh
# SPDX-License-Identifier: MIT
# Downloads the published yolov3-tiny.weights; fails when no address has them.
#
#   setup/weights.sh FILE [URL...]
#
# FILE appears only when its sha256 is right. An address that sends less than 1000 bytes a second for
# WEIGHTS_STALL seconds (30) is given up. WEIGHTS_SHA256: another sha256, for the tests.
set -eu
export LC_ALL=C

file=$1
shift
sha256=${WEIGHTS_SHA256:-dccea06f59b781ec1234ddf8d1e94b9519a97f4245748a7d4db75d5b7080a42c}
if [ $# = 0 ]; then
    set -- https://data.pjreddie.com/files/yolov3-tiny.weights \
        https://pjreddie.com/media/files/yolov3-tiny.weights \
        https://github.com/hank-ai/darknet/releases/download/v2.0/yolov3-tiny.weights
fi

part=$file.part-$$
trap 'rm -f "$part"' EXIT
trap 'exit 130' INT TERM
for url in "$@"; do
    echo "Downloading $file (34 MiB) from $url"
    curl --silent --show-error --fail --location --connect-timeout 10 --speed-limit 1000 \
        --speed-time "${WEIGHTS_STALL:-30}" -o "$part" "$url" || continue
    if echo "$sha256  $part" | sha256sum --check --status; then
        mv "$part" "$file"
        exit 0
    fi
    if head -c 1000 "$part" | LC_ALL=C grep -qiaE '<!doctype html|<html'; then
        echo "Deleted what came from $url: an HTML page instead of the weights" >&2
    else
        echo "Deleted what came from $url: its sha256 is not that of $file, $sha256" >&2
    fi
    rm -f "$part"
done
echo "No address has $file. make weights WEIGHTS_URLS=\"url ...\" tries others." >&2
exit 1
