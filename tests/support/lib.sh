# For the test scripts: reports, and a folder of their own. Source it from the project's root.

root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failures=0

pass() { echo "PASS $1"; }

# fail NAME WHY
fail()
{
    echo "FAIL $1: $2"
    failures=$((failures + 1))
}

skip() { echo "SKIP $1: $2"; }

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

# A folder in which ./darknet finds what it reads and leaves its pictures.
darknet_folder()
{
    mkdir -p "$1"
    ln -sfn "$root/cfg" "$1/cfg"
    ln -sfn "$root/data" "$1/data"
    ln -sfn "$root/darknet" "$1/darknet"
}
