#!/bin/sh
# Runs test commands, as many at a time as there are processors, and counts what they print.
#
#   tests/support/run.sh COMMAND...           each a line for sh; JOBS=n at a time
#
# A test prints "PASS name", "FAIL name: why" or "SKIP name: why" (tests/support/report.h, tests/support/lib.sh). A
# command that crashes, or ends badly without a FAIL, counts as one. GEMM_REQUIRE="name ..." (or
# "all") turns the SKIP of a name into a FAIL. A command's output appears when it has ended, without
# its PASS lines. The last line is the sum; the status is 1 when anything failed.
set -u

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
export logs

number=0
for command; do
    number=$((number + 1))
    printf '%s\n' "$command" >"$logs/$(printf %03d $number).command"
done

run_one='
    log=${1%.command}.log
    start=$(date +%s)
    sh "$1" >"$log" 2>&1 </dev/null
    echo "STATUS $?" >>"$log"
    echo "== $(cat "$1") ($(($(date +%s) - start)) s)"
    grep -v "^PASS \|^STATUS 0" "$log"
    :'
ls "$logs"/*.command | xargs -P "${JOBS:-$(nproc)}" -n 1 sh -c "$run_one" run-one

cat "$logs"/*.log | awk -v required="${GEMM_REQUIRE:-}" '
    BEGIN { n = split(required, names, " "); for (i = 1; i <= n; ++i) must[names[i]] = 1 }
    /^PASS / { ++passed }
    /^FAIL / { ++failed; ++seen }
    /^SKIP / {
        name = $2; sub(/:$/, "", name)
        if (("all" in must) || (name in must)) { ++failed; ++seen; print "FAIL (required) " $0 }
        else ++skipped
    }
    /^STATUS / { if ($2 >= 126 || ($2 != 0 && !seen)) { ++failed; print "FAIL a command ended with status " $2 } seen = 0 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed != 0 || passed == 0
    }'
