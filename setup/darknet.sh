#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts Darknet's unchanged source tree into a folder.
#
#   setup/darknet.sh FOLDER           DARKNET_SRC=dir: a copy of this checkout instead
#
# Tried in turn: DARKNET_SRC, Debian's source package (its upstream tarball, checked by sha256),
# a git clone of upstream. FOLDER appears only when it is whole. DARKNET_SHA256: another sha256, for the
# tests.
set -eu
export LC_ALL=C

folder=$1
commit=61c9d02ec461e30d55762ec7669d6a1d3c356fb2
upstream=https://github.com/pjreddie/darknet
tarball_sha256=${DARKNET_SHA256:-ec536ae11853846aab96183d8ec18730a46cce71f7d935768d235029329f9e93}

new=$folder.new
rm -rf "$new"
mkdir -p "$new"
trap 'rm -rf "$new"' EXIT
trap 'exit 130' INT TERM

# Debian's source package through a private apt configuration: the system's own stays as it is. Of
# its files only the upstream tarball counts, so the others may be missing on the mirror.
from_debian()
{
    command -v apt-get >/dev/null 2>&1 || return 1
    apt=$(cd "$new" && pwd)/apt
    mkdir -p "$apt/parts" "$apt/lists/partial"
    cat /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed 's/^Types:.*/Types: deb-src/' >"$apt/parts/source.sources"
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -n 's/^deb /deb-src /p' >"$apt/parts/source.list"
    set -- -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/parts" \
        -o Dir::State::Lists="$apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User=root
    (cd "$apt" && { apt-get "$@" update; apt-get "$@" source --download-only --tar-only darknet; }) \
        >"$apt/log" 2>&1 || :
    tarball=$(ls "$apt"/darknet_*.orig.tar.xz 2>/dev/null) || { tail -n 2 "$apt/log" >&2; return 1; }
    if ! echo "$tarball_sha256  $tarball" | sha256sum --check --status; then
        echo "Debian's ${tarball##*/} is not the one expected: sha256 is not $tarball_sha256" >&2
        return 1
    fi
    mkdir "$new/tree" && tar -xJf "$tarball" -C "$new/tree" --strip-components=1
}

from_git()
{
    git clone --quiet "$upstream" "$new/tree" && git -C "$new/tree" checkout --quiet "$commit"
}

if [ -n "${DARKNET_SRC:-}" ]; then
    for file in Makefile src/gemm.c examples/detector.c cfg/yolov3-tiny.cfg data/kite.jpg; do
        if [ ! -f "$DARKNET_SRC/$file" ]; then
            echo "DARKNET_SRC=$DARKNET_SRC is not a checkout of Darknet: it has no $file" >&2
            exit 1
        fi
    done
    echo "Copying Darknet from $DARKNET_SRC"
    cp -R "$DARKNET_SRC" "$new/tree"
    rm -rf "$new/tree/obj"
elif echo "Getting Darknet from Debian's source package" && from_debian; then
    :
elif echo "Getting Darknet $commit from $upstream" && from_git; then
    :
else
    echo "Darknet is neither in Debian's source packages nor at $upstream: give DARKNET_SRC=dir" >&2
    exit 1
fi
rm -rf "$folder"
mv "$new/tree" "$folder"
