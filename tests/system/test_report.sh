#!/bin/sh
# bench/studies/report.sh on figures made up here: every part shown or named as missing, nothing left
# unescaped, nothing fetched from elsewhere, and a full disk noticed.
set -u
report=$(realpath "$(dirname "$0")/../../bench/studies/report.sh") || exit 2
. tests/support/lib.sh
mkdir "$work/here" && cd "$work/here" || exit 2
has() { check "'$1' on the page" grep -qF -- "$1" page.html; }
lacks() { check "no '$1' on the page" sh -c '! grep -qiE -- "$1" page.html' - "$1"; }
count() { grep -oE "$1" page.html | wc -l; }
balanced() { check "<$1> balanced" [ "$(count "<$1[ >]")" = "$(count "</$1>")" ]; }

# Nothing measured: every part is named with its command.
check 'an empty page' "$report" build page.html 2>/dev/null
check 'six parts are missing' [ "$(count 'Not measured yet')" = 6 ]
has 'make gprof'
has 'make ab A=stock B=transpose'
lacks '<svg'

mkdir -p build/gprof-O2/results build/gemm-bench build/ab build/loops
printf 'not a jpeg' >predictions.jpg
printf '# One\n\n| row | s |\n| --- | ---: |\n| a<b & `c` | 1.5 |\n\n- **two**\n' >build/gprof-O2/results/table.md
echo '<svg onload="alert(1)"><script>alert(1)</script></svg>' >build/gprof-O2/results/bars.svg
seq 300 >build/gprof-O2/results/flat.txt
printf 'order\tns\nmnk\t12.5\n' >build/loops/loops.tsv
cat >build/gemm-bench/rows.csv <<'END'
impl,M,N,K,threads,median_ms,gflops,calls,cache,status,reason
slow,1,2,3,1,20,5,1,warm,ok,
slow,4,5,6,1,10,5,2,warm,ok,
quick,1,2,3,1,2,50,1,warm,ok,
quick,4,5,6,1,1,50,2,warm,ok,
quick,4,5,6,1,100,50,2,cold,ok,
some,4,5,6,1,,,2,warm,declined,"no, ""never"""
END
cat >build/ab/a-vs-b.json <<'END'
{
  "a": "one",
  "b": "two<",
  "cfg": "cfg/toy.cfg",
  "results": {
    "predicted": {
      "ratio": 0.5, "ratio_low": 0.45, "ratio_high": 0.55, "rounds_p": 0.01,
      "verdict": "faster", "why": ""
    },
    "wall": {
      "ratio": 9, "ratio_low": 8, "ratio_high": 10, "rounds_p": 0.01,
      "verdict": "slower", "why": ""
    }
  }
}
END
printf '# A/B: one against two<\n' >build/ab/a-vs-b.md
{
    echo 'phase,round,pair,image,side,position,predicted_s,wall_s,labels,at_s'
    for i in 1 2 3 4 5; do
        echo "measured,0,$i,\"a,b.jpg\",A,1,0.02$i,0.03$i,2,$i"
        echo "measured,0,$i,\"a,b.jpg\",B,2,0.01$i,0.02$i,2,$i"
        echo "first,0,$i,\"a,b.jpg\",B,2,9,9,2,$i"
    done
} >build/ab/a-vs-b.csv
check 'a page' "$report" build page.html 2>/dev/null
check 'one part is missing' [ "$(count 'Not measured yet')" = 1 ]
has '<td>a&lt;b &amp; <code>c</code></td><td class="n">1.5</td>'
has '<strong>two</strong>'
has '100 more lines in build/gprof-O2/results/flat.txt'
has '<td>mnk</td><td class="n">12.5</td>'
has '<td>no, "never"</td>'
has 'data:image/jpeg;base64,bm90IGEganBlZw=='
has '40 ms, 5 GFLOP/s'
has '4 ms, 50 GFLOP/s'
check 'the fastest first' [ "$(grep -n 'quick (1 thread)' page.html | cut -d: -f1)" -lt \
    "$(grep -n 'slow (1 thread)' page.html | cut -d: -f1)" ]
has 'not drawn: some (1 thread)'
has 'two&lt; <tspan class="dim">against</tspan> one'
has 'class="dot good"'
check 'one comparison' [ "$(count 'class="dot ')" = 1 ]
check 'a dot a sample' [ "$(count '<circle [^>]*class="s[AB]"')" = 20 ]
check 'medians of both measures' [ "$(count '<path [^>]*class="m[AB]"')" = 4 ]
lacks '<script'
lacks '(src|href)="?(https?:)?//'
lacks 'nan|inf"'
for tag in html table tr div svg details pre p ul li figure h2 h3; do balanced $tag; done

mkdir full && ln -s /dev/full full/page.html.new
check 'a full disk is noticed' sh -c '! "$1" build full/page.html 2>err' - "$report"
check 'and said' grep -q 'cannot write full/page.html' err

finish
