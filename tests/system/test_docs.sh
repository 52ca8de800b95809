#!/bin/sh
# SPDX-License-Identifier: MIT
# The pages: README.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md, demo/README.md and docs/. Every link leads to a file and a heading. The files,
# pages, targets of make and tests that they name exist. docs/log/ says what was, so only its links count.
. tests/support/lib.sh

pages="README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md demo/README.md $(echo docs/*.md)"
all="$pages $(echo docs/log/*.md)"

# none NAME WHAT: passes when $work/missing is empty
none()
{
    if [ -s "$work/missing" ]; then fail "$1" "$(sed "s#^#$2: #" "$work/missing")"; else pass "$1"; fi
}

# ---- Links ----
# "PAGE ANCHOR" a line for each heading, as GitHub makes anchors.
for page in $all; do
    awk -v page="$page" '/^#+ / {
        sub(/^#+ /, ""); gsub(/[^a-zA-Z0-9 _-]/, ""); gsub(/ /, "-")
        print page, tolower($0)
    }' "$page"
done >"$work/anchors"

# "PAGE TARGET" a line.
for page in $all; do
    grep -o ']([^)]*)' "$page" | sed "s|^](|$page |; s|)\$||"
done | grep -v ' https\{0,1\}:' >"$work/links"

while read -r page target; do
    file=${target%%#*} anchor=
    case $target in *'#'*) anchor=${target#*#} ;; esac
    [ -z "$file" ] && file=$page || file=$(realpath -m --relative-to=. "$(dirname "$page")/$file")
    [ -e "$file" ] && { [ -z "$anchor" ] || grep -qxF "$file $anchor" "$work/anchors"; } ||
        echo "$page: $target"
done <"$work/links" >"$work/missing"
none docs-links 'no such file or heading'
check docs-links-found [ "$(wc -l <"$work/links")" -gt 50 ]

# Debian's own pip installs nothing outside of a virtual environment.
grep -nE '^ +([^#]*[^/])?pip3? install' $pages >"$work/missing"
none docs-pip 'Debian refuses this pip'

# ---- What the text names ----
# Files in code, as patterns. `my` is the name in examples.
for page in $pages; do
    grep -o '`[^` ]*`' "$page" | tr -d '`' |
        grep -E '^(src|tests|bench|kernels|mk|setup|cfg|demo|docs|patches|install)/' |
        grep -v '[<>…:]\|my\.' | sed "s|^|$page: |"
done | sort -u | while read -r page name; do
    ls -d $name >/dev/null 2>&1 || echo "$page $name"
done >"$work/missing"
none docs-files 'no such file'

# The sources that makefiles and comments name, Darknet's src/gemm.c apart.
grep -rohE '(^|[ (,])(src|kernels|tests|bench)/[a-z0-9_/]+\.(c|h|cl|sh)\b' mk Makefile src kernels | sed 's/^[ (,]//' | sort -u >"$work/sources"
check docs-sources-found [ "$(wc -l <"$work/sources")" -ge 50 ]
grep -vx src/gemm.c "$work/sources" | while read -r name; do [ -e "$name" ] || echo "$name"; done >"$work/missing"
none docs-sources 'no such file'

grep -rohE 'docs/[a-z/-]+\.(md|svg|png)' src tests bench kernels mk Makefile setup .ci | sort -u |
    while read -r page; do [ -e "$page" ] || echo "$page"; done >"$work/missing"
none docs-of-comments 'no such page'

# The changelog names targets that are gone too, and says so: "- `make NAME` is gone".
is_target() { grep -qE "^([a-z-]+ )*$1( [a-z-]+)*:" Makefile mk/*.mk; }
sed -n 's/^- `make \([a-z-]*\)[^`]*` is gone.*/\1/p' CHANGELOG.md >"$work/gone"
for page in $pages; do
    grep -oE '(^    |`)make [a-z][a-z./_-]+' "$page" | sed "s|.*make |$page: |"
done | grep -v ' .*[./]' | sort -u | while read -r page target; do
    case $page in CHANGELOG.md:) grep -qx "$target" "$work/gone" && continue ;; esac
    is_target "$target" || echo "$page $target"
done >"$work/missing"
none docs-targets 'no such target of make'
while read -r target; do ! is_target "$target" || echo "$target"; done <"$work/gone" >"$work/missing"
none docs-targets-gone 'it is said to be gone'

grep -ohE 'build/release/tests/[a-z0-9_]+|`test_[a-z0-9_]+' $pages | sed 's/.*[/`]//' | sort -u |
    while read -r name; do
        ls tests/*/"$name".* >/dev/null 2>&1 || echo "$name"
    done >"$work/missing"
none docs-tests 'no such test'

# ---- Pages ----
# A page opens with a sentence, and not with a table, a list, code or the next heading.
for page in docs/*.md; do
    sed -n '3s/^[A-Z`].*[a-z.:]$/ok/p' "$page" | grep -q ok || echo "$page"
done >"$work/missing"
none docs-opening 'no sentence below its heading'

# ---- make help ----
make -s help >"$work/help"
grep -c '^  make ' "$work/help" >"$work/count"
check docs-help-targets [ "$(cat "$work/count")" -ge 20 -a "$(cat "$work/count")" -le 31 ]
check docs-help-all [ "$(cat "$work/count")" = "$(cat Makefile mk/*.mk | grep -c '^[a-z-]*:.*## ')" ]
awk 'length($0) > 100' "$work/help" >"$work/missing"
none docs-help-width 'longer than 100 columns'
# ---- The environment ----
# settings.c alone reads it. A name in quotes there that looks like a variable is one.
grep -oE '"([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]|HOME)"' src/driver/settings.c | tr -d '"' | sort -u >"$work/variables"
sed -n 's/^| `\([A-Z][A-Z0-9_]*\)` |.*/\1/p' docs/environment.md | sort >"$work/page-variables"
check docs-environment-found [ "$(wc -l <"$work/variables")" -ge 15 ]
diff "$work/variables" "$work/page-variables" >"$work/missing"
none docs-environment 'settings.c has <, docs/environment.md has >'

# ---- The ways of `packed` ----
# "WAY FILE" a line, in order: of the table in convolution.c, and of the page. A way's name is the first string
# of its packed_way.
for way in $(sed -n 's/^ *&\(packed_way_[a-z0-9]*\),.*/\1/p' src/packed/conv/convolution.c); do
    grep -o "^const packed_way $way = {\"[a-z0-9]*" src/packed/conv/*.c |
        sed 's|.*/\([a-z_]*\.c\):.*"|\1 |; s|\(.*\) \(.*\)|\2 \1|'
done >"$work/ways"
sed -n '/^| name in the trace/,/^$/s/^| `\([a-z0-9]*\)`.*| `\([a-z_]*\.c\)` |$/\1 \2/p' docs/packed-ways.md >"$work/page-ways"
check docs-ways-found [ "$(wc -l <"$work/ways")" -ge 7 ]
diff "$work/ways" "$work/page-ways" >"$work/missing"
none docs-ways 'the code has <, docs/packed-ways.md has >'

# The ways of `cl` that GEMM_WAY may name: of the table in ways.c, and of the page.
sed -n 's/^    {"\([a-z0-9_]*\)", offer_[a-z]*, .*NAMED, .*/\1/p' src/cl/op/ways.c >"$work/ways"
sed -n '/^### Ways/,/^### /s/^| `\([a-z0-9_]*\)` .*/\1/p' docs/opencl.md >"$work/page-ways"
check docs-cl-ways-found [ "$(wc -l <"$work/ways")" -ge 7 ]
diff "$work/ways" "$work/page-ways" >"$work/missing"
none docs-cl-ways 'the code has <, docs/opencl.md has >'

# The way of a multiply and of a layer, as docs/development.md tells it: each function is in src/, or Darknet's own.
sed -n '/^## How a multiply runs/,/^## Kinds/s/^    //p' docs/development.md |
    sed 's/src\/[^ ]*//g' | grep -o '\(gemm\|hook\|take\)_[a-z_]*' | sort -u >"$work/hops"
check docs-hops-found [ "$(wc -l <"$work/hops")" -ge 15 ]
while read -r hop; do
    grep -rqE "^[+]?[a-z].*[ *]$hop\(" src patches/pjreddie --include='*.c' --include='*.patch' || echo "$hop"
done <"$work/hops" >"$work/missing"
none docs-hops 'docs/development.md names a function that src has not'

# The functions, structs and constants that the two tables for newcomers name.
{ sed -n '/^## The way through the code/,/^## How/p' docs/development.md
  sed -n '/^## Where the limits stand/,/^## `implicit`/p' docs/packed-ways.md
  sed -n '/^## Adding an activation/,/^## Finding/p' docs/development.md; } |
    grep -o '`[A-Za-z_]*`' | tr -d '`' | grep '_\|^[A-Z]' | sort -u >"$work/names"
check docs-names-found [ "$(wc -l <"$work/names")" -ge 35 ]
while read -r name; do
    grep -rqw "$name" src kernels tests/unit || echo "$name"
done <"$work/names" >"$work/missing"
none docs-names 'a table for newcomers names what src has not'

# ---- The examples of docs/development.md ----
# A newcomer adds a loop, an OpenCL row and a tile as the page says. It must compile.
page=docs/development.md new=$work/new
mkdir "$new" && cp -R src kernels "$new"
sed -n '/^ *\/\* Orders k, j, i/,/VARIANT(my_loop/p' $page >>"$new/src/gemm_opt.c"
sed -i 's/^gemm_row_multiply gemm_mnk_acc/gemm_row_multiply gemm_my_loop, gemm_mnk_acc/' "$new/src/gemm_opt.h"
sed -n '/const gemm_cl_row gemm_cl_my = /,/;$/p; ' $page >>"$new/src/cl/rows.c"
sed -i 's/^extern const gemm_cl_row gemm_cl_naive/extern const gemm_cl_row gemm_cl_my, gemm_cl_naive/
    s/^ *GEMM_CL_IMAGE_8x4,/GEMM_CL_TILE_128x64, &/' "$new/src/cl/rows.h"
sed -n 's/^ *\(\[GEMM_CL_TILE_128x64\] = .*\)/\1/p' $page >"$work/tile"
sed -i "/^const gemm_cl_row gemm_cl_choices/r $work/tile" "$new/src/cl/rows.c"
grep -o '`\(CL_\)*ROW("*\(cl_\)*my[^`]*' $page | tr -d '`' >"$work/rows"
sed -i "/^const gemm_variant gemm_variants/r $work/rows" "$new/src/driver/table.c"
check docs-examples-found [ "$(cat "$work/tile" "$work/rows" | wc -l)" = 3 ]
for file in gemm_opt cl/rows driver/table; do
    check "docs-examples-${file##*/}" "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only \
        -I"$new/src" "$new/src/$file.c"
done

finish
