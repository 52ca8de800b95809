#!/bin/sh
# SPDX-License-Identifier: MIT
# What a release must have: every source file names its licence, and all places name one version.
. tests/support/lib.sh

# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted '$2', got '$3'"; fi; }

# ---- SPDX, in one of the first two lines ----
find Makefile .ci mk src kernels bench tests setup demo install examples python debian -type f \
    \( -name '*.[ch]' -o -name '*.cl' -o -name '*.sh' -o -name '*.mk' -o -name '*.awk' -o -name '*.py' -o \
    -name '*.gnuplot' -o -name '*.in' -o -name 'CMakeLists.txt' -o -name Makefile -o -path .ci/run -o \
    -path debian/rules \) 2>/dev/null >"$work/sources"
check spdx-sources [ "$(wc -l <"$work/sources")" -gt 300 ]
while read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || echo "$file"
done <"$work/sources" >"$work/without"
is spdx '' "$(tr '\n' ' ' <"$work/without")"
check licence grep -q '^MIT License' LICENSE

# ---- the version, which src/darknet_gemm.h has ----
version=$(sed -n 's/^#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' src/darknet_gemm.h)
check version-form sh -c 'echo "$1" | grep -qxE "[0-9]+\.[0-9]+\.[0-9]+"' - "$version"
is version-of-changelog "$version" "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)"
symbols=$(sed -n 's/.* DARKNET_GEMM_//p' src/lib/exports | sort -u)
is version-of-symbols "${version%%.*}" "$(echo "$symbols" | sed 's/\..*//' | sort -u)"

# ---- debian/, which is no part of the file of make dist ----
if [ -d debian ]; then
    is version-of-debian "$version" "$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' debian/changelog)"
    awk '/^ / { sub(/@/, " ", $1); print $1 }' debian/libdarknet-gemm1.symbols | sed 's/ Base$//' | grep -v '^DARKNET' | sort >"$work/debian"
    sort src/lib/exports | diff - "$work/debian" >"$work/diff"
    is debian-symbols '' "$(cat "$work/diff")"
    is debian-soname "libdarknet-gemm.so.${version%%.*} libdarknet-gemm${version%%.*}" "$(sed -n '1s/ #.*//p' debian/libdarknet-gemm1.symbols)"

    # ---- make release, in a small repository: every difference is found ----
    here=$work/release
    mkdir -p "$here/src" "$here/debian"
    cp src/darknet_gemm.h "$here/src"
    cp CHANGELOG.md "$here"
    cp debian/changelog "$here/debian"
    git_here() { git -C "$here" -c user.name=test -c user.email=test@example.org "$@"; }
    commit_here() { git_here add . && git_here commit -q --allow-empty -m "$1"; }
    release() { (cd "$here" && "$root/setup/release.sh"); }
    if command -v git >/dev/null 2>&1; then
        git_here init -q && commit_here first
        expect release-ready "git tag -a v$version" release
        while read -r name file change message; do
            sed -i "$change" "$here/$file"
            commit_here "$name"
            expect_failure "release-$name" "$message" release
            git_here reset -q --hard HEAD~1
        done <<END
version src/darknet_gemm.h /GEMM_VERSION/s/"[0-9.]*"/"99.0.0"/ src/darknet_gemm.h has 99.0.0
changelog CHANGELOG.md /^##/s/$version/98.0.0/ CHANGELOG.md begins with 98.0.0
date CHANGELOG.md /^##/s/20.*// CHANGELOG.md has no date
debian debian/changelog 1s/($version/(97.0.0/ debian/changelog begins with 97.0.0
debian-date debian/changelog /^.--/s/20[0-9][0-9]/2001/ debian/changelog is of 2001
END
        echo >>"$here/CHANGELOG.md"
        expect_failure release-uncommitted 'changes that are not committed' release
        git_here reset -q --hard
        git_here tag -a "v$version" -m release
        expect release-tagged "is tagged: v$version" release
        commit_here later
        expect_failure release-tag-elsewhere "tag v$version is not on HEAD" release
    else
        skip release 'no git (Debian: git)'
    fi
else
    skip_machine debian 'this is the source of a release'
fi

finish
