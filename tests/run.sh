#!/bin/sh
# Runs test commands and counts what they print.
#
#   tests/run.sh COMMAND...           each a line for sh
#
# A test prints "PASS name", "FAIL name: why" or "SKIP name: why" (tests/report.h, tests/lib.sh). A
# command that crashes, or ends badly without a FAIL, counts as one. GEMM_REQUIRE="name ..." (or "all") turns the
# SKIP of a name into a FAIL. The last line is the sum; the status is 1 when anything failed.
set -u

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

for command; do
    echo "== $command"
    { sh -c "$command" 2>&1; echo "STATUS $?"; } | tee -a "$log" | grep -v '^PASS\|^STATUS 0'
done

awk -v required="${GEMM_REQUIRE:-}" '
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
    }' "$log"
