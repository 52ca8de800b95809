#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian packages of other architectures: cross builds on Debian 13, lintian, and tests under
# qemu-user.
#
#   tests/support/packages.sh ARCH...         arm64 armhf riscv64 i386, as Debian names them
#
# Each ARCH has a minimal system of its own with a clone of HEAD, in a temporary folder (TMPDIR). The
# system goes before the next one comes, so one that fails stops no other. Needs root. For each ARCH:
#   make deb ARCH=       the packages, which lintian finds no error in: counts as one test
#   a program that is linked with the unpacked packages, for five choices of the variant
#   make test-quick CROSS_COMPILE=
#
# The last line of each ARCH is the sum of its tests, and those lines are repeated at the end. The
# status is 1 when anything failed. PACKAGES_LIMIT: the seconds after which one of the three steps is
# ended (10800).
set -u
export LC_ALL=C

limit=${PACKAGES_LIMIT:-10800} room=6       # GiB that a system with its builds may need

if [ $# = 0 ]; then
    echo "make test ON=packages needs ARCHES: arm64 armhf riscv64 i386" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "make test ON=packages makes a system in a folder: it needs root" >&2
    exit 1
fi
for arch; do
    case $arch in
    arm64 | armhf | riscv64 | i386) ;;
    *)
        echo "ARCHES: '$arch' is none of arm64, armhf, riscv64 and i386" >&2
        exit 1 ;;
    esac
done
folder=$(mktemp -d "${TMPDIR:-/tmp}/packages.XXXXXX") || exit 1
trap 'rm -rf --one-file-system "$folder"' EXIT
trap 'exit 130' INT TERM
. tests/support/inside.sh

# Where this system has its packages from; those of security have a place of their own.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$') ||
    { echo 'make test ON=packages: no package source of this system ends with /debian' >&2; exit 1; }
free=$(($(df -Pk "$folder" | awk 'END { print $4 }') / 1048576))
if [ "$free" -lt $room ]; then
    echo "make test ON=packages needs $room GiB in ${TMPDIR:-/tmp} (TMPDIR), and $free are free" >&2
    exit 1
fi
[ -z "$(git status --porcelain)" ] || echo "What is not committed is not tested: a clone of HEAD is."

# make_system ARCH: $folder/system with the project. One suite, because trixie-updates of a mirror may
# be older for one architecture than for another.
make_system()
{
    include=ca-certificates,git,make,qemu-user,opencl-c-headers,crossbuild-essential-$1,libc6:$1
    [ "$1" != riscv64 ] || include=$include,libatomic1:riscv64
    mmdebstrap --quiet --mode=root --variant=minbase --architectures="$(dpkg --print-architecture),$1" \
        --include="$include" trixie "$folder/system" "$mirror" &&
        mkdir "$folder/system/project" &&
        git clone --quiet --depth 1 "file://$(pwd)" "$folder/system/project/darknet-gemm"
}

# Inside: a program with the packages of $arch. Prints TAP lines.
program='
    of_host() { dpkg-architecture -a$arch -qDEB_HOST_$1 2>/dev/null; }
    triple=$(of_host GNU_TYPE) cpu=$(of_host GNU_CPU)
    libraries=$PWD/build/packages-$arch/usr/lib/$(of_host MULTIARCH)
    [ $cpu != i686 ] || cpu=i386
    for package in build/debian-$arch/*_$arch.deb; do dpkg -x $package build/packages-$arch; done
    $triple-gcc -Ibuild/packages-$arch/usr/include examples/multiply/multiply.c \
        -L$libraries -ldarknet-gemm -o build/multiply-$arch
    for choice in IMPL=stock IMPL=mnk IMPL=packed IMPL=auto ISA=generic; do
        said=$(timeout 300 qemu-$cpu -E GEMM_$choice -E LD_LIBRARY_PATH=$libraries build/multiply-$arch)
        verdict="not ok"
        [ "$said" != "57 66 129 150" ] || verdict=ok
        echo "$verdict - $arch-multiply-$choice"
    done'

# run_tests ARCH: in $folder/system. Prints TAP lines, and at last the status of make test-quick.
run_tests()
{
    within="timeout --kill-after=60 $limit"
    if inside system root "$within make deb OPENCL=0 ARCH=$1"; then
        echo "ok - $1-deb"
    else
        [ $? != 124 ] || echo "make deb was ended after PACKAGES_LIMIT=$limit seconds"
        echo "not ok - $1-deb"
    fi
    inside system root "arch=$1; $program"
    triple=$(dpkg-architecture -a"$1" -qDEB_HOST_GNU_TYPE 2>/dev/null)
    inside system root "$within make test-quick CROSS_COMPILE=$triple-; echo status \$?"
}

for arch; do
    echo "== $arch: a minimal system by mmdebstrap, and its tests"
    start=$(date +%s)
    rm -rf --one-file-system "$folder/system"
    if make_system "$arch"; then run_tests "$arch"; else echo "not ok - $arch-system"; fi 2>&1 |
        tee "$folder/output"
    awk -v arch="$arch" -v limit="$limit" -v seconds=$(($(date +%s) - start)) '
        /^ok - / { ++passed; ++own }
        /^not ok - / { ++failed; ++own }
        /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5; ++sums }
        { last = $0 }
        END {
            if (last == "status 124")
                print arch ": make test-quick was ended after PACKAGES_LIMIT=" limit " seconds"
            if (!failed && (own != 6 || sums != 1 || last != "status 0")) ++failed
            printf "%s: %d passed, %d failed, %d skipped (%d s)\n", arch, passed, failed, skipped, seconds
        }' "$folder/output" | tee -a "$folder/sums"
done
echo '== all architectures'
cat "$folder/sums"
! grep -vq ' passed, 0 failed, ' "$folder/sums"
