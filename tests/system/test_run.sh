#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/support/run.sh: what the end of a run says, and the cache that its commands share.
. tests/support/lib.sh

cat >"$work/fails" <<'END'
echo 'ok 1 - right'
echo 'not ok 2 - wrong'
echo '# off by 3'
echo '# and more'
echo 1..2
END
echo 'echo "ok - right" && kill -SEGV $$' >"$work/crashes"
cat >"$work/skips" <<'END'
echo 'ok 1 - none # SKIP machine: it has none'
mkdir "$XDG_CACHE_HOME" "$QUICK_CACHE" && echo 'ok 2 - both folders are new'
echo 1..2
END

# run COMMAND...: its output is in $work/output
run()
{
    GEMM_REQUIRE='' tests/support/run.sh "$@" >"$work/output" 2>&1
    status=$?
}

run "NAME=value sh $work/fails --cases 3" "sh $work/crashes" "sh $work/skips"
cat >"$work/expected" <<'END'
sh fails --cases 3: not ok 2 - wrong
    # off by 3
sh crashes: not ok - the command ended with status 139
3 passed, 2 failed, 1 skipped
END
sed '1,/^What failed:$/d' "$work/output" >"$work/end"
if [ $status = 1 ] && cmp -s "$work/expected" "$work/end"; then pass run-fails; else fail run-fails "$(cat "$work/end")"; fi
if [ "$(grep -cE '^    sh (fails --cases 3|crashes|skips) \([0-9]+ s, [0-9]+ of processors\)$' "$work/output")" = 3 ]; then
    pass run-longest
else
    fail run-longest "$(grep -A 5 '^All commands' "$work/output")"
fi

run "sh $work/skips"
if [ $status = 0 ] && [ "$(tail -n 1 "$work/output")" = '1 passed, 0 failed, 1 skipped' ] &&
    ! grep -q 'What failed' "$work/output"; then
    pass run-passes
else
    fail run-passes "$(cat "$work/output")"
fi

finish
