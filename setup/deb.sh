#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian source package and its binary packages, and lets lintian judge them.
#
#   setup/deb.sh TARBALL FOLDER [ARCH]     TARBALL: of make dist; FOLDER: gets the packages, and is emptied first
#
# ARCH: the packages of another architecture of Debian, by a cross build. It needs crossbuild-essential-ARCH
# and libc6:ARCH.
# Needs debhelper and lintian. The build itself needs no network and no Darknet.
set -eu
export LC_ALL=C

tarball=$(realpath "$1") folder=$2 arch=${3:-} here=$(pwd)
version=$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' debian/changelog)
for tool in dpkg-buildpackage dh lintian; do
    command -v $tool >/dev/null 2>&1 ||
        { echo "make deb needs $tool (Debian: dpkg-dev debhelper lintian)" >&2; exit 1; }
done
rm -rf "$folder"
mkdir -p "$folder"
cp "$tarball" "$folder/darknet-gemm_$version.orig.tar.xz"
cd "$folder"
tar -xf "darknet-gemm_$version.orig.tar.xz"
cd "darknet-gemm-$version"
cp -R "$here/debian" .
if ! env -u MAKELEVEL -u MAKEFLAGS dpkg-buildpackage -us -uc ${arch:+-a"$arch"} >../log 2>&1; then
    tail -n 20 ../log >&2
    echo "dpkg-buildpackage failed: $folder/log" >&2
    exit 1
fi
cd ..
lintian --fail-on error ./*.changes
ls ./*.dsc ./*.deb
