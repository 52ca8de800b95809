#!/bin/sh
# SPDX-License-Identifier: MIT
# The README's two commands on a fresh Debian, as root and as a user with sudo.
#
#   tests/support/debian.sh RELEASE TARGET MODELS
#
# RELEASE is a name that mmdebstrap knows: trixie, sid. TARGET is what root makes behind `make detect`:
#   test, test-all          user: make detect, make test-quick
#   'test-quick ONLY=...'   user: make detect
# Each of the two gets a minimal system of its own with a clone of HEAD, and MODELS beside it. Both have a
# compiler cache, one for both: the user builds all as root did, in a third of the time. Needs root.
#
# Commands print as they run. The last line is the sum of all tests, each `make detect` counted as one;
# the status is 1 when anything failed. Everything lies in one temporary folder (TMPDIR), which goes at
# the end, also after a failure. Mounts lie in a namespace of their own: they go with its processes.
set -u
export LC_ALL=C

release=$1 target=$2 models=$3
case $target in
test | test-all | test-quick | 'test-quick ONLY='*) ;;
*)
    echo "TARGET='$target' is none of test, test-all and test-quick" >&2
    exit 1 ;;
esac
if [ "$(id -u)" != 0 ]; then
    echo "make test ON=debian makes a system in a folder: it needs root" >&2
    exit 1
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/debian-$release.XXXXXX") || exit 1
trap 'rm -rf --one-file-system "$folder"' EXIT
trap 'exit 130' INT TERM
: >"$folder/counts"         # "PASSED FAILED SKIPPED" a line
. tests/support/inside.sh
mkdir -m 777 "$folder/ccache"

# make_system NAME: a copy of the minimal system, with the project in /project/darknet-gemm
make_system()
{
    cp -a "$folder/minimal" "$folder/$1" && mkdir "$folder/$1/project" &&
        git clone --quiet --depth 1 "file://$(pwd)" "$folder/$1/project/darknet-gemm" || return 1
    if [ -d "$models" ]; then
        mkdir "$folder/$1/project/shared" && cp -R "$models" "$folder/$1/project/shared/models"
    fi
}

# detect NAME USER: the first command counts as one test
detect()
{
    echo "== $release, $2: make detect"
    start=$(date +%s)
    if inside "$1" "$2" 'make detect' && [ -s "$folder/$1/project/darknet-gemm/predictions.jpg" ]; then
        echo "1 0 0" >>"$folder/counts"
    else
        echo "not ok - $release, $2: make detect"
        echo "0 1 0" >>"$folder/counts"
    fi
    echo "== $release, $2: make detect: $(($(date +%s) - start)) s"
}

# run_tests NAME USER TARGET: the second command. Its last line is a sum; without one it failed itself.
run_tests()
{
    echo "== $release, $2: make $3"
    start=$(date +%s)
    inside "$1" "$2" "make INSTALL=1 $3; echo status \$?" | tee "$folder/output"
    awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { sum = $1 " " $3 " " $5 }
        { last = $0 }
        END {
            split(sum, n)
            if (last != "status 0" && !n[2]) sum = n[1] + 0 " 1 " n[3] + 0
            print sum
        }' "$folder/output" >>"$folder/counts"
    echo "== $release, $2: make $3: $(($(date +%s) - start)) s"
}

finish()
{
    awk -v release="$release" '
        { passed += $1; failed += $2; skipped += $3 }
        END {
            printf "Debian %s: %d passed, %d failed, %d skipped\n", release, passed, failed, skipped
            exit failed != 0 || passed == 0
        }' "$folder/counts"
    exit
}

echo "== $release: a minimal system by mmdebstrap"
if ! mmdebstrap --quiet --mode=root --variant=minbase --include=ca-certificates,ccache,git,make,sudo \
    "$release" "$folder/minimal"; then
    echo "not ok - $release: mmdebstrap"
    echo '0 1 0' >>"$folder/counts"
    finish
fi
[ -z "$(git status --porcelain)" ] || echo "What is not committed is not tested: a clone of HEAD is."

if make_system root; then
    detect root root
    run_tests root root "$target"
else
    echo "not ok - $release, root: a system with the project"
    echo '0 1 0' >>"$folder/counts"
fi
rm -rf --one-file-system "$folder/root"

if make_system user && chroot "$folder/user" useradd --create-home --shell /bin/sh somebody &&
    echo 'somebody ALL=(ALL) NOPASSWD: ALL' >"$folder/user/etc/sudoers.d/somebody" &&
    chroot "$folder/user" chown -R somebody /project; then
    detect user somebody
    case $target in test-quick*) ;; *) run_tests user somebody test-quick ;; esac
else
    echo "not ok - $release, somebody: a system with the project and sudo"
    echo '0 1 0' >>"$folder/counts"
fi
finish
