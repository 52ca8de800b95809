#!/bin/sh
# One HTML page of all that was measured: the Markdown files and the SVG charts that the other
# targets left in the folders of BUILD. Other files are linked.
#
#   bench/studies/report.sh BUILD PAGE          PAGE stands in BUILD
#
# cmark-gfm makes HTML of the Markdown. It was chosen because it knows tables (cmark and discount's
# defaults do not), leaves raw HTML out, and takes 0.4 MB (pandoc: 170 MB).
set -u
build=$1
page=$2
title='Darknet with another gemm: measurements'

# folder NAME COMMAND: what the command left in BUILD/NAME (a pattern)
folder()
{
    printf '\n# %s\n' "$2"
    for dir in "$build"/$1; do
        if [ -z "$(find "$dir" -maxdepth 1 -type f -size +0 2>/dev/null)" ]; then
            printf '\nNot measured yet.\n'
            continue
        fi
        for file in "$dir"/*.md; do
            [ ! -s "$file" ] || { echo; sed 's/^#/##/' "$file"; }
        done
        for file in "$dir"/*.svg "$dir"/*.jpg; do
            [ ! -s "$file" ] || printf '\n![%s](<%s>)\n' "$(basename "$file")" "${file#"$build"/}"
        done
        echo
        for file in "$dir"/*.txt "$dir"/*.csv "$dir"/*.tsv "$dir"/*.json; do
            [ ! -s "$file" ] || printf '[%s](<%s>)\n' "$(basename "$file")" "${file#"$build"/}"
        done
    done
}

markdown()
{
    printf '# %s\n\nMade on %s.\n' "$title" "$(date -u '+%Y-%m-%d %H:%M UTC')"
    folder report 'make detect'
    folder detect-all 'make detect-all'
    folder bench 'make bench'
    folder bench-detect 'make bench-detect'
    folder peers 'make bench-peers'
    folder bench-cl 'make bench-cl'
    folder ladder 'make ladder'
    folder ab 'make ab A=stock B=packed'
    folder 'gprof*/results' 'make gprof'
    folder loops 'make loops'
    folder explain 'make explain'
    folder gemm-bench './gemm-bench -o build/gemm-bench/shapes.md'
}

html()
{
    cat <<END
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
body { max-width: 75rem; margin: auto; padding: 1rem; font: 1rem/1.5 sans-serif; color: #222; }
p, li, h1, h2, h3 { overflow-wrap: anywhere; }
p { overflow-x: auto; }
h1 { margin-top: 3rem; border-top: 1px solid #ccc; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ccc; white-space: nowrap; }
pre { overflow-x: auto; }
th:not([align]) { text-align: left; }
img { max-width: 100%; }
img[src$=".svg"] { min-width: 40rem; }
</style></head><body>
END
    markdown | cmark-gfm -e table && echo '</body></html>'
}

if ! command -v cmark-gfm >/dev/null; then
    echo 'report: cmark-gfm is missing (Debian: cmark-gfm)' >&2
    exit 1
fi
# The drawing of the last detection, before the next one replaces it.
mkdir -p "$build/report" || exit 1
[ ! -s predictions.jpg ] || cp predictions.jpg "$build/report/" || exit 1
if ! html >"$page.new" || ! mv "$page.new" "$page"; then
    echo "report: cannot write $page" >&2
    rm -f "$page.new"
    exit 1
fi
echo "report: $page" >&2
