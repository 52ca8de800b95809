# Judges what one test command printed (tests/support/run.sh).
#
# In the environment: command. Variables: seconds, status; required, the list of GEMM_REQUIRE; counts,
# a file that gets "passed failed skipped". Prints the command and everything but the passes and the plans.

function failure(name) { print "not ok - " name; ++failed }

BEGIN {
    n = split(required, names, " ")
    for (i = 1; i <= n; ++i) must[names[i]] = 1
    printf "== %s (%d s)\n", ENVIRON["command"], seconds
}
/^1\.\.[0-9]+$/ {
    planned += substr($0, 4)
    ++plans
    next
}
/^not ok/ { ++tests; ++failed; print; next }
/^ok/ && / # SKIP/ {
    ++tests
    print
    name = $0
    sub(/^ok *[0-9]* *-? */, "", name)
    sub(/ # SKIP.*/, "", name)
    split(name, word, " ")
    # What this machine cannot have is no failure, unless it is required by its name.
    if (word[1] in must || ("all" in must && !/ # SKIP machine:/)) failure("required: " name)
    else ++skipped
    next
}
/^ok/ { ++tests; ++passed; next }
{ print }
END {
    if (status >= 126 || (status && !failed)) failure("the command ended with status " status)
    else if (!tests) failure("the command printed no test")
    else if (!plans || planned != tests) failure("the command planned " planned + 0 " tests and ran " tests)
    print passed + 0, failed + 0, skipped + 0 >counts
}
