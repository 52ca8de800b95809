# SPDX-License-Identifier: MIT
# Judges what one test command printed (tests/support/run.sh).
#
# In the environment: command. Variables: seconds, status; times, a file that the shell's `times` wrote;
# required, the list of GEMM_REQUIRE; lacks, that of GEMM_LACKS; counts, a file that gets "passed failed
# skipped seconds processors". Prints the command, its seconds and everything but the passes and the plans.

function failure(name) { print "not ok - " name; ++failed }

# Does the reason "... (Debian: PACKAGE...)" name a package that this system does not have?
function lacking(reason,    package) {
    if (!match(reason, /\(Debian: [^;) ]+/)) return 0
    package = substr(reason, RSTART + 9, RLENGTH - 9)
    return package in lacked
}

# The processors' seconds, user and system, of all children: the second line, "0m1.5s 0m0.2s". They say what
# a command costs, whatever runs beside it.
function processor_seconds(    line, time, part, n, sum) {
    while ((getline line <times) > 0) n = split(line, time, " ")
    for (; n > 0; --n) {
        split(time[n], part, "m")
        sum += part[1] * 60 + part[2]
    }
    return sum
}

BEGIN {
    n = split(required, names, " ")
    for (i = 1; i <= n; ++i) must[names[i]] = 1
    n = split(lacks, names, " ")
    for (i = 1; i <= n; ++i) lacked[names[i]] = 1
    processors = sprintf("%.0f", processor_seconds())
    printf "== %s (%d s, %s of processors)\n", ENVIRON["command"], seconds, processors
}
/^1\.\.[0-9]+$/ {
    planned += substr($0, 4)
    ++plans
    next
}
/^not ok/ { ++tests; ++failed; print; next }
/^ok/ && / # SKIP/ {
    ++tests
    lacked_here = lacking($0)
    print $0 (lacked_here ? ": not among this system's packages" : "")
    name = $0
    sub(/^ok *[0-9]* *-? */, "", name)
    sub(/ # SKIP.*/, "", name)
    split(name, word, " ")
    # What this machine cannot have is no failure, unless it is required by its name.
    if (word[1] in must || ("all" in must && !/ # SKIP machine:/ && !lacked_here)) failure("required: " name)
    else ++skipped
    next
}
/^ok/ { ++tests; ++passed; next }
{ print }
END {
    if (status >= 126 || (status && !failed)) failure("the command ended with status " status)
    else if (!tests) failure("the command printed no test")
    else if (!plans || planned != tests) failure("the command planned " planned + 0 " tests and ran " tests)
    print passed + 0, failed + 0, skipped + 0, seconds, processors >counts
}
