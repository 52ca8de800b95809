#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/studies/result.sh: a result has a folder of its own, and `latest` is the last whole one.
# bench/studies/report.sh on made-up figures: the summary has a sentence for each result, one line names
# what is missing, raw HTML is left out, nothing is fetched from elsewhere, and a full disk is noticed.
. tests/support/lib.sh
report=$root/bench/studies/report.sh result=$root/bench/studies/result.sh
mkdir "$work/here" && cd "$work/here" || exit 2
equal() { [ "$2" = "$3" ] && pass "$1" || fail "$1" "'$3', not '$2'"; }

# ---- result.sh ----
first=$($result open r)
equal 'result: a folder by time' 1 "$(echo "$first" | grep -c '^r/[0-9]\{8\}-[0-9]\{6\}$')"
echo one >"$first/a"
$result close "$first" 0 2>said
equal 'result: whole' "0 one result: $first" "$? $(cat r/latest/a) $(cat said)"
second=$($result open r)
equal 'result: another folder' yes "$([ "$second" != "$first" ] && [ -d "$second" ] && echo yes)"
echo two >"$second/a"
$result close "$second" 130 2>said
equal 'result: stopped' '130 one two' "$? $(cat r/latest/a) $(cat "$second/a")"
equal 'result: says where both are' "result: not whole, kept in $second
result: the last whole one is $first" "$(cat said)"
third=$($result open r)
$result close "$third" 1 2>said
equal 'result: an empty one is removed' "1 one no " "$? $(cat r/latest/a) $([ -e "$third" ] && echo yes || echo no) $(cat said)"
fourth=$($result open r)
echo four >"$fourth/a"
$result close "$fourth" 3 '0 3' b 2>said
equal 'result: a file is missing' '3 one' "$? $(cat r/latest/a)"
$result close "$fourth" 3 '0 3' a 2>said
equal 'result: a status of a whole one' '3 four' "$? $(cat r/latest/a)"
$result keep kept sh -c 'echo shown; exit 4' >said
equal 'result: kept and shown' '4 shown shown 1' "$? $(cat said) $(cat kept) $(ls kept* | wc -l)"
touch plain
expect_failure 'result: a file in its place' 'plain' $result open plain
# Ctrl-C of make, as its recipes are written: the measurement ends, its result is closed.
sed -n '/^open_result/p; /^close_result/p' "$root/mk/measure.mk" >Makefile
printf '.PHONY: slow\nslow:\n\t@$(call open_result,s); echo part >"$$result/a"; echo >started; sleep 30; $(close_result)\n' >>Makefile
mkdir bench && ln -s "$root/bench/studies" bench/studies
mkdir -p s/before && echo before >s/before/a && ln -s before s/latest
setsid make slow >said 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s started ] && break; sleep 0.1; done
kill -TERM "-$!"              # setsid makes it a group of its own
{ wait $!; } 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q 'last whole' said && break; sleep 0.1; done
equal 'result: after a signal' 'before part' "$(cat s/latest/a) $(cat s/[0-9]*/a)"
equal 'result: says so after a signal' 1 "$(grep -c 'result: the last whole one is s/before' said)"

# ---- report.sh ----
has() { check "report: '$1' on the page" grep -qF -- "$1" page.html; }
lacks() { check "report: no '$1' on the page" sh -c '! grep -qiE -- "$1" page.html' - "$1"; }

check 'report: an empty page' "$report" build page.html
equal 'report: one line of what is missing' 1 "$(grep -c 'Not measured' page.html)"
for command in 'make ab A=stock B=packed' 'make detect' 'make detect-all' 'make bench' 'make bench-detect' \
    'make bench-peers' 'make bench-cl' 'make gprof' 'make loops' 'make explain'; do
    check "report: $command is missing" sh -c 'grep "Not measured" page.html | grep -qF "<code>$1</code>"' - "$command"
done
equal 'report: no heading but the title' 1 "$(grep -c '<h[1-6]' page.html)"

# put FOLDER: a whole result
put() { mkdir -p "build/$1/20260102-030405" && ln -sfn 20260102-030405 "build/$1/latest"; into=build/$1/20260102-030405; }
mkdir -p build/detect
printf 'not a jpeg' >build/detect/predictions.jpg
printf '%s\n' kite-demo '+ GEMM_IMPL=auto ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg' 'layer     filters' \
    'data/kite.jpg: Predicted in 0.027380 seconds.' 'kite: 100%' 'person: 97%' 'kite: 84%' >build/detect/said.txt
put gprof-O2/results
printf '# One\n\n| row | s |\n|---|---:|\n| a<b & `c` | 1.5 |\n\n<script>alert(1)</script>\n' >$into/gprof.md
printf '#row\tgemm\tother\nstock\t0.9\t0.1\npacked\t0.1\t0.1\n' >$into/gprof.tsv
echo '<svg/>' >$into/gprof.svg
put loops
printf 'tile_8\t10.0\t0.1\t-\t2.50\t4\t.5\t1\nmkn\t25.0\t0.2\t-\t1.00\t5\t.5\t2\nknm\t100\t1\t-\t0.25\t6\t2\t3\n' >$into/loops.tsv
put explain
printf '# Why a loop is fast\n' >$into/explain.md
put detect-all
printf 'variant          seconds   x stock   labels  difference   of a pass, GEMM_CONV=im2col\nstock             1.1518      1.00   yes              0\npacked            0.3435      3.35   yes       1.06e-05\nblis           unusable: no\n' >$into/table.txt
put bench-detect
{
    printf 'Forward passes\n\n| network | threads | row | ms | hook / row | kernels |\n|---|---|---|---|---|---|\n'
    printf '| yolov3-tiny.cfg | 1 | hook | 73.650 (69.220-78.090) | 1.00 | |\n| yolov3-tiny.cfg | 1 | im2col | 299.410 (286.230-312.590) | 0.25 | |\n'
    printf '| x.cfg | 2 | hook | 10.500 (9-11) | 1.00 | |\n| x.cfg | 2 | cl | 4.500 (4-5) | 2.33 | 4.1 |\n\ndevice: A Device\n'
} >$into/bench-detect.txt
put bench-cl
printf 'device: A Device\n3. squares\n| size | cl |\n|---|---|\n| 128 | 1.5 |\nchosen: cl_local, 1 ms\n' >$into/bench-cl.txt
comparison()
{
    mkdir -p "build/ab/$1"
    printf '{\n  "a": "stock",\n  "b": "packed",\n  "cfg": "x.cfg",\n  "problem": "%s",\n  "results": {\n    "predicted": {\n      "a": {"n": 8, "median_s": 0.5},\n      "b": {"n": 8, "median_s": 0.026},\n      "ratio": 0.5, "ratio_low": 0.4, "ratio_high": 0.8, "rounds_p": 0.01,\n      "control": {"n": 8, "ratio": 1.1, "ratio_low": 1.0, "ratio_high": 1.2, "differs": false},\n      "verdict": "%s", "why": ""\n    },\n    "wall": {\n      "ratio": 1, "verdict": "no difference shown", "why": "the interval of the ratio contains 1"\n    }\n  }\n}\n' "$2" "$3" >"build/ab/$1/n.json"
    echo "# A/B of $1" >"build/ab/$1/n.md"
}
comparison 20260101-000000 '' slower
comparison 20260102-000000 '' faster
comparison 20260103-000000 interrupted none
# Under locales with a decimal comma, and with an i without a dot.
for locale in de_DE tr_TR; do
    localedef -i $locale -f UTF-8 "$work/$locale.UTF-8" >said 2>&1 || fail "report: $locale" "$(cat said)"
    check "report: a page in $locale" env LOCPATH="$work" LC_ALL=$locale.UTF-8 "$report" build page.html
    mv page.html page.$locale
    mv build/report/variants.svg variants.$locale
done
check 'report: a page' env LC_ALL=C "$report" build page.html
for locale in de_DE tr_TR; do
    equal "report: the same page in $locale" '' \
        "$(diff -I '^<p>Made on ' page.html page.$locale; diff build/report/variants.svg variants.$locale)"
done
has '<p><strong>Take <code>packed</code>: a pass of x takes 26 ms, 2 times as fast as Darknet'"'"'s own loops.</strong> A whole image is detected 1 times as fast, because reading and drawing the picture take the rest.</p>'
equal 'report: the answer comes first' 1 "$(sed -n '/<h1>/,$p' page.html | sed -n 2p | grep -c 'Take <code>packed')"
has '<li>Machine: '
has '<li><code>packed</code> against <code>stock</code> on x.cfg: <strong>faster</strong>, a pass 2.00 times as fast (95% interval 1.25 to 2.50). The whole image, with reading and drawing: <strong>no difference shown</strong> (the interval of the ratio contains 1).</li>'
has '<li><code>packed</code> detects fastest of 2 variants: 0.3435 s a pass under <code>GEMM_CONV=im2col</code>, 3.35 times as fast as <code>stock</code>. All of them detect the same.</li>'
has '<li>By gprof, one image on one thread: under <code>stock</code> gemm takes 0.90 of 1.00 s; under <code>packed</code>, the fastest there, 0.10 of 0.20 s.</li>'
has '<li>One multiply: <code>tile_8</code> is the fastest of 3 loops, 2.50 times as fast as <code>mkn</code>; <code>knm</code> is the slowest.</li>'
has '<li>yolov3-tiny.cfg, threads: 1: a forward pass is fastest by hook: 73.650 ms.</li>'
has '<li>x.cfg, threads: 2: a forward pass is fastest by cl: 4.500 ms.</li>'
has '<li>The OpenCL rows were measured on this device: A Device</li>'
has '<li>The search of the Adreno paper on this device chose cl_local, 1 ms</li>'
has '<h2>A/B of 20260102-000000</h2>'
lacks 'A/B of 2026010[13]'
has '<td>x.cfg</td>'
has '<h2>One</h2>'
has '<h2>Why a loop is fast</h2>'
has '<td>a&lt;b &amp; <code>c</code></td>'
has '<td align="right">1.5</td>'
has '<img src="gprof-O2/results/20260102-030405/gprof.svg" alt="gprof.svg" />'
has '<img src="detect/predictions.jpg" alt="The picture with boxes" />'
has '<p>kite-demo found 3 objects above 0.5: 2 kite, 1 person, in a first pass of 27.4 ms. The command: <code>GEMM_IMPL=auto ./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg</code></p>'
has '<em>pass</em>: the network once'
has 'prefers-color-scheme: dark'
has '<a href="loops/20260102-030405/loops.tsv">loops.tsv</a>'
has '<img src="report/variants.svg" alt="variants" />'
lacks '<script'
lacks '(src|href)="(https?:)?//'
equal 'report: the missing ones' '<p>Not measured: <code>make bench</code>, <code>make bench-peers</code>, <code>./gemm-bench -o build/gemm-bench/shapes.md</code>.</p>' \
    "$(grep 'Not measured' page.html)"
equal 'report: they are the last line' 1 "$(tail -n 2 page.html | grep -c 'Not measured')"
equal 'report: the summary is before the first heading' yes "$(awk '/<h1>/ { ++n } /variants.svg|2.50 times as fast/ && n == 1 { ++found } END { print (found >= 2 ? "yes" : "no") }' page.html)"
# The chart has each variant once, in its series.
equal 'report: variants of the chart' 'packed stock' \
    "$(sed -n 's/.*text-anchor="end">\([^<]*\)<.*/\1/p' build/report/variants.svg | xargs)"
equal 'report: figures of the chart' '3.35x 9.00x 1.00x 1.00x' \
    "$(grep -o '[0-9.]*x, ' build/report/variants.svg | tr -d ',' | xargs)"
equal 'report: a chart for a phone' 1 "$(grep -c '<svg [^>]*width="400"' build/report/variants.svg)"

# Loops of the same rank: the first of them may be no faster.
cp build/loops/latest/loops.tsv few
sed -i '/^mkn/s/2$/1/' build/loops/latest/loops.tsv
"$report" build page.html 2>said
has 'times as fast as <code>mkn</code>, but the intervals of the two overlap; <code>knm</code> is the slowest.</li>'
mv few build/loops/latest/loops.tsv
"$report" build page.html 2>said

# ---- In a browser: nothing overlaps, the same quantity twice is the same number ----
# All variants are in the chart. Frames have 400 and 1200 pixels, dark and light; charts are put into the page, so that
# their letters are seen.
if [ "${TEST_ALL:-0}" = 0 ]; then
    :
elif command -v chromium >/dev/null; then
    cp build/detect-all/latest/table.txt few
    $OUT/bench/gemm_bench --list 2>/dev/null | awk -F '\t' '$1 !~ /^(stock|packed)$/ { printf "%-20s %.4f %.2f   yes  1e-06\n", $1, 1.1518 / (.5 + ++n / 40), .5 + n / 40 }' >>build/detect-all/latest/table.txt
    check 'report: a page of all variants' "$report" build page.html
    {
        awk 'match($0, /<img src="[^"]*\.svg"/) {
            file = "build/" substr($0, RSTART + 10, RLENGTH - 11)
            if ((getline line <file) <= 0 || line == "<svg/>") { print; next }
            print "<p>"; do print line; while ((getline line <file) > 0); print "</p>"; next
        } { print }' page.html
        printf '<style>svg { max-width: 100%%; height: auto; }</style>\n<script>\n'
        cat "$root/tests/support/page.js"
        echo '</script>'
    } >build/seen.html
    printf '<!doctype html><style>:root { color-scheme: light dark; }</style>\n' >frames.html
    for scheme in light dark; do
        for width in 400 1200; do
            printf '<iframe src="build/seen.html" style="color-scheme: %s; width: %spx; height: 900px; border: 0"></iframe>\n' $scheme $width
        done
    done >>frames.html
    HOME=$work timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
        --user-data-dir="$work/browser" --dump-dom "file://$PWD/frames.html" 2>browser | sed -n 's/.*said: //p' >said
    equal 'report: frames of a browser' '1200 pixels, rgb(24, 26, 27)
1200 pixels, rgb(255, 255, 255)
400 pixels, rgb(24, 26, 27)
400 pixels, rgb(255, 255, 255)' "$(sed -n 's/^\([0-9]* pixels, rgb([0-9, ]*)\), [0-9]\{3,\} parts, [0-9]\{3,\} quantities$/\1/p' said | sort)"
    equal 'report: in a browser' '' "$(grep -v '^[0-9]* pixels, ' said | sort -u | head -n 20)"
    mv few build/detect-all/latest/table.txt
else
    skip 'report: in a browser' 'no Chromium (Debian: chromium)'
fi

# Without a comparison the answer is that of detect-all, and a picture without objects is said.
mv build/ab build/away
sed -i '/%$/d' build/detect/said.txt && echo '0 objects above 0.5' >>build/detect/said.txt
"$report" build page.html 2>said
has '<p><strong>Take <code>packed</code>: a pass takes 344 ms, 3.35 times as fast as Darknet'"'"'s own loops.</strong></p>'
has '<p>kite-demo found 0 objects above 0.5, in a first pass of'
sed -i '/^packed/d' build/detect-all/latest/table.txt
"$report" build page.html 2>said
has '<p><strong>Nothing that was measured is faster than Darknet'"'"'s own loops.</strong></p>'
mv build/away build/ab

# A program may write no file of more than 512 bytes, as on a disk that is full.
expect_failure 'report: a full disk' 'cannot write full.html' sh -c 'ulimit -f 1; trap "" XFSZ; exec "$@"' sh "$report" build full.html
equal 'report: a full disk leaves nothing' '' "$(ls -A . | grep full)"
mkdir bin && ln -s /bin/sh "$work/here/bin/sh" && ln -s "$(command -v dirname)" "$work/here/bin/dirname" && ln -s "$(command -v printf)" "$work/here/bin/printf"
expect_failure 'report: no converter' 'cmark-gfm is missing' \
    env PATH="$work/here/bin" "$report" build page.html

finish
