#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs test commands, as many at a time as there are processors, and counts the tests that they print.
#
#   tests/support/run.sh COMMAND...       each a line for sh; JOBS=n at a time
#
# SEED is a new number in each run, unless the environment has one: commands draw their cases by it.
#
# A command prints TAP: "ok N - name", "not ok N - name", "ok N - name # SKIP why", and the plan "1..N"
# (report.h and lib.sh beside this file). A command that crashes, or whose plan is missing or wrong,
# counts as a failure. GEMM_REQUIRE="name ..." makes a failure of a skipped test, by the first word of
# its name; "all" means every one but "SKIP machine: ...", which this machine cannot have, and "SKIP ...
# (Debian: package)" where GEMM_LACKS has the package: the system offers none. What a command printed
# appears when it has ended. The end names the ten longest commands and, once more, all that failed. The
# last line is the sum; the status is 1 when anything failed.
set -u
export LC_ALL=C

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM
judge=$(dirname "$0")/tap.awk
export logs judge

# What a user's own folder keeps (verdicts on OpenCL programs, tuning tables) must not decide a test. The
# programs that PoCL compiled stay in the build, because a device has the same ones in every run.
# Commands under layer_quick.so have a folder of their own, because it keeps verdicts without binaries.
XDG_CACHE_HOME=$logs/cache QUICK_CACHE=$logs/quick
export XDG_CACHE_HOME QUICK_CACHE
if [ -n "${BUILD:-}" ]; then
    POCL_CACHE_DIR=$BUILD/pocl
    mkdir -p "$POCL_CACHE_DIR" || exit 1
    export POCL_CACHE_DIR
fi

: "${SEED:=$(date +%s)}"
export SEED
echo "SEED=$SEED"

number=0
for command; do
    number=$((number + 1))
    printf '%s\n' "$command" >"$logs/$(printf %03d $number).command"
done

run_one='
    base=${1%.command}
    start=$(date +%s)
    sh "$1" >"$base.log" 2>&1 </dev/null
    status=$?
    seconds=$(($(date +%s) - start))
    times >"$base.times"
    command=$(cat "$1") awk -v seconds=$seconds -v times="$base.times" -v status=$status \
        -v required="${GEMM_REQUIRE:-}" -v lacks="${GEMM_LACKS:-}" -v counts="$base.count" -f "$judge" "$base.log" >"$base.said"
    cat "$base.said"'
ls "$logs"/*.command | xargs -P "${JOBS:-$(nproc)}" -n 1 sh -c "$run_one" run-one

# of each command: passed, failed, skipped, seconds, seconds of the processors, and its name, without
# variables and folders. A command that could not even be judged has failed.
: >"$logs/failures"
for file in "$logs"/*.command; do
    base=${file%.command}
    name=$(sed -E 's/^([A-Z_]+=[^ ]* )*//; s|[^ ]*/([^ /]+)|\1|g' "$file" | cut -c 1-60)
    if [ -s "$base.count" ]; then
        echo "$(cat "$base.count") $name"
        awk -v name="$name" '
            /^not ok/ { print name ": " $0; why = 1; next }
            why && /^#/ { print "    " $0 }
            { why = 0 }' "$base.said" >>"$logs/failures"
    else
        echo "0 1 0 0 0 $name"
        echo "$name: not ok - it could not be judged" >>"$logs/failures"
    fi
done >"$logs/counts"
sort -k 4,4nr "$logs/counts" | awk '
    { processors += $5 }
    NR <= 10 {
        name = ""
        for (i = 6; i <= NF; ++i) name = name " " $i
        longest = longest sprintf("   %s (%d s, %d of processors)\n", name, $4, $5)
    }
    END { printf "All commands took %d s of processors. The longest:\n%s", processors, longest }'
[ ! -s "$logs/failures" ] || echo 'What failed:'
cat "$logs/failures"
awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed != 0 || passed == 0
    }' "$logs/counts"
