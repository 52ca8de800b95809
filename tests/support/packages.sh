#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian packages of other architectures: cross builds on Debian 13, lintian, and tests under
# qemu-user.
#
#   tests/support/packages.sh ARCH...         arm64 armhf riscv64 i386, as Debian names them
#
# All of it happens in one minimal system with a clone of HEAD, in a temporary folder (TMPDIR) that
# goes at the end. Needs root. For each ARCH:
#   make deb ARCH=       the packages, which lintian finds no error in: counts as one test
#   a program that is linked with the unpacked packages, for five choices of the variant
#   make test-quick CROSS_COMPILE=
#
# The last line of each ARCH is the sum of its tests, and those lines are repeated at the end. The
# status is 1 when anything failed.
set -u

if [ $# = 0 ]; then
    echo "make test-packages needs ARCHES: arm64 armhf riscv64 i386" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "make test-packages makes a system in a folder: it needs root" >&2
    exit 1
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/packages.XXXXXX") || exit 1
trap 'rm -rf --one-file-system "$folder"' EXIT
trap 'exit 130' INT TERM
. tests/support/inside.sh

architectures=$(dpkg --print-architecture) include=ca-certificates,git,make,qemu-user,opencl-c-headers
for arch; do
    architectures=$architectures,$arch
    include=$include,crossbuild-essential-$arch,libc6:$arch
    [ "$arch" != riscv64 ] || include=$include,libatomic1:riscv64
done
# Where this system has its packages from; those of security have a place of their own.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$') ||
    { echo 'make test-packages: no package source of this system ends with /debian' >&2; exit 1; }
echo "== a minimal system by mmdebstrap: $architectures"
# One suite: trixie-updates of a mirror may be older for one architecture than for another.
mmdebstrap --quiet --mode=root --variant=minbase --architectures="$architectures" --include="$include" \
    trixie "$folder/system" "$mirror" &&
    mkdir "$folder/system/project" &&
    git clone --quiet --depth 1 "file://$(pwd)" "$folder/system/project/darknet-gemm" ||
    { echo "not ok - a system with the project"; exit 1; }
[ -z "$(git status --porcelain)" ] || echo "What is not committed is not tested: a clone of HEAD is."

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
        said=$(qemu-$cpu -E GEMM_$choice -E LD_LIBRARY_PATH=$libraries build/multiply-$arch)
        verdict="not ok"
        [ "$said" != "57 66 129 150" ] || verdict=ok
        echo "$verdict - $arch-multiply-$choice"
    done'

for arch; do
    echo "== $arch"
    start=$(date +%s)
    {
        if inside system root "make deb OPENCL=0 ARCH=$arch"; then
            echo "ok - $arch-deb"
        else
            echo "not ok - $arch-deb"
        fi
        inside system root "arch=$arch; $program"
        triple=$(dpkg-architecture -a"$arch" -qDEB_HOST_GNU_TYPE 2>/dev/null)
        inside system root "make test-quick CROSS_COMPILE=$triple-; echo status \$?"
    } 2>&1 | tee "$folder/output"
    awk -v arch="$arch" -v seconds=$(($(date +%s) - start)) '
        /^ok - / { ++passed; ++own }
        /^not ok - / { ++failed; ++own }
        /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5; ++sums }
        { last = $0 }
        END {
            if (own != 6 || sums != 1 || last != "status 0") ++failed
            printf "%s: %d passed, %d failed, %d skipped (%d s)\n", arch, passed, failed, skipped, seconds
        }' "$folder/output" | tee -a "$folder/sums"
done
echo '== all architectures'
cat "$folder/sums"
! grep -vq ' passed, 0 failed, ' "$folder/sums"
