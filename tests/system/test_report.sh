#!/bin/sh
# bench/studies/report.sh on made-up figures: every part is shown or named as missing, raw HTML is
# left out, nothing is fetched from elsewhere, and a full disk is noticed.
. tests/support/lib.sh
report=$root/bench/studies/report.sh
mkdir "$work/here" && cd "$work/here" || exit 2
has() { check "report: '$1' on the page" grep -qF -- "$1" page.html; }
lacks() { check "report: no '$1' on the page" sh -c '! grep -qiE -- "$1" page.html' - "$1"; }
missing() { grep -oF 'Not measured yet' page.html | wc -l; }

check 'report: an empty page' "$report" build page.html
check 'report: twelve parts are missing' [ "$(missing)" = 12 ]
has 'make gprof'

mkdir -p build/gprof-O2/results build/loops build/explain
printf 'not a jpeg' >predictions.jpg
printf '# One\n\n| row | s |\n|---|---:|\n| a<b & `c` | 1.5 |\n\n<script>alert(1)</script>\n' \
    >build/gprof-O2/results/gprof.md
echo '<svg/>' >build/gprof-O2/results/gprof.svg
printf 'order\tns\n' >build/loops/loops.tsv
printf '# Why a loop is fast\n' >build/explain/explain.md
check 'report: a page' "$report" build page.html
check 'report: eight parts are missing' [ "$(missing)" = 8 ]
has '<h2>One</h2>'
has '<h2>Why a loop is fast</h2>'
has '<td>a&lt;b &amp; <code>c</code></td>'
has '<td align="right">1.5</td>'
has '<img src="gprof-O2/results/gprof.svg" alt="gprof.svg" />'
has '<img src="report/predictions.jpg"'
has '<a href="loops/loops.tsv">loops.tsv</a>'
lacks '<script'
lacks '(src|href)="(https?:)?//'

mkdir full && ln -s /dev/full full/page.html.new
expect_failure 'report: a full disk' 'cannot write full/page.html' "$report" build full/page.html
mkdir bin && ln -s /bin/sh "$work/here/bin/sh"
expect_failure 'report: no converter' 'cmark-gfm is missing' \
    env PATH="$work/here/bin" "$report" build page.html

finish
