#!/bin/sh
# SPDX-License-Identifier: MIT
# A darknet that takes no time and fails on request, for tests/system/test_ab.sh.
#
# FAKE_MS=MS       what it says and sleeps for an image (default 2)
# FAKE_LABELS=L    lines of labels, ';' between them (default "kite: 94%;person: 89%")
# FAKE_DRAWING=F   what predictions.jpg is a copy of (default data/kite.jpg)
# FAKE_FAIL=HOW    at the FAKE_AT-th image (default 5): segv, missing, mute, hang, exit3
ms=${FAKE_MS:-2}
seconds=$(awk -v ms="$ms" 'BEGIN { printf "%.6f", ms / 1000 }')

case $1 in
speed)
    [ "${FAKE_FAIL:-}" != segv ] || kill -SEGV $$
    [ "${FAKE_FAIL:-}" != mute ] || exit 0
    sleep "$seconds"
    awk -v n="$3" -v s="$seconds" 'BEGIN { printf "\n%d evals, %f Seconds\n", n, n * s }'
    exit 0 ;;
detect) ;;
*) exit 1 ;;
esac

[ -z "${FAKE_PIDS:-}" ] || echo $$ >>"$FAKE_PIDS"
echo "Loading weights from $3...Done!" >&2
count=0
while printf 'Enter Image Path: ' && read -r image; do
    count=$((count + 1))
    if [ $count = "${FAKE_AT:-5}" ]; then
        case ${FAKE_FAIL:-} in
        segv) kill -SEGV $$ ;;
        missing) echo "Cannot load image \"$image\"" >&2; exit 0 ;;
        mute) continue ;;
        hang) while :; do sleep 0.1; done ;;
        exit3) echo "out of memory" >&2; exit 3 ;;
        esac
    fi
    sleep "$seconds"
    cp "${FAKE_DRAWING:-data/kite.jpg}" predictions.jpg
    printf '%s: Predicted in %s seconds.\n' "$image" "$seconds"
    printf '%s\n' "${FAKE_LABELS:-kite: 94%;person: 89%}" | tr ';' '\n'
done
