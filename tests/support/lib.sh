# SPDX-License-Identifier: MIT
# For the test scripts: TAP, and a folder of their own. Source it from the project's root. A script
# ends with `finish`.
#
# From the Makefile, as absolute paths: BUILD, the folder of all that is built, and OUT, that of the
# configuration.

export LC_ALL=C
root=$(pwd)
: "${BUILD:=$root/build}" "${OUT:=$BUILD/release}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# few_or_all FEW ALL: the one of `make test`, or of `make test-all` (TEST_ALL=1)
few_or_all() { if [ "${TEST_ALL:-0}" = 1 ]; then echo "$2"; else echo "$1"; fi; }

# plain COMMAND...: PoCL does not optimize, and compiles in a quarter of the time
plain() { POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable "$@"; }

# Also kept in a file, because a part of a script may run in a subshell.
say_test() { echo "$1" | tee -a "$work/tap"; }

pass() { say_test "ok - $1"; }

# fail NAME WHY
fail()
{
    say_test "not ok - $1"
    echo "$2" | sed 's/^/# /'
}

# skip NAME WHY: something is missing that can be installed
skip() { say_test "ok - $1 # SKIP $2"; }

# skip_machine NAME WHY: this processor or system cannot have it
skip_machine() { say_test "ok - $1 # SKIP machine: $2"; }

# relay [PREFIX]: the tests on standard input become this script's own, PREFIX before their names
relay()
{
    awk -v prefix="${1:-}" '
        /^1\.\.[0-9]+$/ { planned = substr($0, 4); next }
        /^(not )?ok/ {
            verdict = /^not/ ? "not ok" : "ok"
            sub(/^(not )?ok *[0-9]* *-? */, "")
            $0 = verdict " - " prefix $0
            ++tests
        }
        { print }
        END { if (!tests || planned != tests) print "not ok - " prefix "plan: " planned + 0 " tests planned, " tests + 0 " ran" }
        ' | tee -a "$work/tap"
}

# The plan, and the status: 1 when a test failed.
finish()
{
    echo "1..$(grep -c '^ok\|^not ok' "$work/tap")"
    ! grep -q '^not ok' "$work/tap"
    exit
}

# expect_failure NAME MESSAGE COMMAND...: ends with a status that is neither 0 nor a signal's, and
# says MESSAGE (a fixed string).
expect_failure()
{
    name=$1 message=$2
    shift 2
    "$@" >"$work/output" 2>&1 </dev/null
    status=$?
    if [ $status = 0 ] || [ $status -ge 126 ]; then
        fail "$name" "status $status: $(tail -n 2 "$work/output" | tr '\n' ' ')"
    elif ! grep -qF -- "$message" "$work/output"; then
        fail "$name" "no '$message' in: $(tail -n 2 "$work/output" | tr '\n' ' ')"
    else
        pass "$name"
    fi
}

# expect NAME MESSAGE COMMAND...: ends well and says MESSAGE (a fixed string)
expect()
{
    name=$1 message=$2
    shift 2
    if ! "$@" >"$work/output" 2>&1 </dev/null; then
        fail "$name" "failed: $(tail -n 2 "$work/output" | tr '\n' ' ')"
    elif ! grep -qF -- "$message" "$work/output"; then
        fail "$name" "no '$message' in: $(tail -n 2 "$work/output" | tr '\n' ' ')"
    else
        pass "$name"
    fi
}

# check NAME COMMAND...: the command must succeed
check()
{
    what=$1
    shift
    if "$@" >"$work/check" 2>&1; then pass "$what"; else fail "$what" "$(tail -n 12 "$work/check")"; fi
}

# From here on PoCL is the only OpenCL platform: for tests of what PoCL does, and for layers that make another
# device of it. False where it is not installed.
no_pocl='no PoCL (Debian: pocl-opencl-icd)'
use_pocl()
{
    mkdir -p "$work/vendors"
    cp "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/pocl*.icd "$work/vendors" 2>/dev/null || return
    export OCL_ICD_VENDORS="$work/vendors"
}

# by_pjreddie CFG: a copy that keeps the rules of pjreddie's Darknet, to compare with an unpatched one
by_pjreddie()
{
    copy=$work/pjreddie-${1##*/}
    awk '{ print } /^\[net/ { print "darknet=pjreddie" }' "$1" >"$copy"
    echo "$copy"
}

# A folder in which ./darknet finds what it reads and leaves its pictures.
darknet_folder()
{
    mkdir -p "$1"
    ln -sfn "$root/cfg" "$1/cfg"
    ln -sfn "$root/data" "$1/data"
    ln -sfn "$root/darknet" "$1/darknet"
}
