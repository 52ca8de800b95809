#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the Python environment of `make bench-peers`, or completes it.
#
#   bench/peers/venv.sh FOLDER [MORE]
#
# MORE is a file of packages beside those of requirements.txt. A package that cannot be had is named with the reason, and the others are installed. The next run
# tries it again. Where nothing can be had it prints SKIP with the reason, and ends with status 3.
set -eu
export LC_ALL=C

venv=$1
pins=$(dirname "$0")/requirements.txt
log=$venv.log
skip()
{
    echo "SKIP $1"
    exit 3
}
# What pip said last.
reason() { grep -v '^ *$\|notice\|WARNING' "$log" | tail -n 1; }

# A file of packages, and its copy that says that all of them are there.
is_complete() { cmp -s "$1" "$venv/$2"; }
if is_complete "$pins" complete && { [ $# = 1 ] || is_complete "$2" complete-more; }; then exit 0; fi
mkdir -p "$(dirname "$venv")"
command -v python3 >/dev/null 2>&1 || skip 'python3 is not installed'
if [ ! -x "$venv/bin/pip" ] && ! python3 -m venv "$venv" >"$log" 2>&1; then
    rm -rf "$venv"
    skip "python3 -m venv fails (on Debian: apt-get install python3-venv): $(head -n 1 "$log")"
fi
echo "Installing Python packages in $venv" >&2
# complete FILE COPY
complete()
{
    is_complete "$@" && return
    missing=0
    for package in $(sed 's/#.*//' "$1"); do
        if "$venv/bin/pip" install --disable-pip-version-check --retries 1 --timeout 15 --no-deps \
            --only-binary :all: "$package" >"$log" 2>&1; then continue; fi
        case $package in numpy==*) skip "pip cannot get $package: $(reason)" ;; esac
        echo "$package cannot be installed: $(reason)"
        missing=1
    done
    [ $missing = 1 ] || cp "$1" "$venv/$2"
}
complete "$pins" complete
[ $# = 1 ] || complete "$2" complete-more
