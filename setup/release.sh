#!/bin/sh
# SPDX-License-Identifier: MIT
# Do all places name one version, and does the tag? Run before and after `git tag`.
#
#   setup/release.sh
#
# The version is that of src/darknet_gemm.h. CHANGELOG.md and debian/changelog must begin with it and have
# one date, nothing may be uncommitted, and the tag, if there is one, must be on HEAD. Without a tag the
# last line is the command that makes it. Every difference is a line; the status is then 1.
set -eu
export LC_ALL=C

wrong=0
differs()
{
    echo "make release: $*" >&2
    wrong=1
}

version=$(sed -n 's/^#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' src/darknet_gemm.h)
first=$(sed -n '/^## /{p;q;}' CHANGELOG.md)
changes=$(echo "$first" | awk '{ print $2 }')
date=$(echo "$first" | awk '{ print $3 }')
[ "$changes" = "$version" ] ||
    differs "CHANGELOG.md begins with $changes, src/darknet_gemm.h has $version"
echo "$date" | grep -qxE '[0-9]{4}-[0-9]{2}-[0-9]{2}' ||
    differs "CHANGELOG.md has no date: '## $version 2026-01-31'"

package=$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' debian/changelog)
[ "$package" = "$version" ] ||
    differs "debian/changelog begins with $package, src/darknet_gemm.h has $version"
packed=$(sed -n '/^ -- /{s/.*>  //p;q;}' debian/changelog)
packed=$(date -u -d "$packed" +%Y-%m-%d)
[ "$packed" = "$date" ] || differs "debian/changelog is of $packed, CHANGELOG.md of $date"

[ -z "$(git status --porcelain)" ] || differs "there are changes that are not committed"
tagged=$(git rev-parse --verify --quiet "refs/tags/v$version^{commit}") || tagged=
if [ -n "$tagged" ] && [ "$tagged" != "$(git rev-parse HEAD)" ]; then
    differs "tag v$version is not on HEAD: it is $(git log -1 --oneline "$tagged")"
fi
[ $wrong = 0 ] || exit 1

if [ -n "$tagged" ]; then
    echo "$version of $date is tagged: v$version"
else
    echo "$version of $date has no tag yet. To release it:"
    echo "git tag -a v$version -m 'darknet-gemm $version'"
fi
