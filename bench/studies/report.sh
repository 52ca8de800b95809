#!/bin/sh
# SPDX-License-Identifier: MIT
# One HTML page of all that was measured: the last whole result of each measurement in BUILD. It opens
# with a summary: the machine, a sentence for each result, and one chart of all variants.
#
#   bench/studies/report.sh BUILD PAGE          PAGE stands in BUILD
#
# cmark-gfm makes HTML of the Markdown. It was chosen because it knows tables (cmark and discount's
# defaults do not), leaves raw HTML out, and takes 0.4 MB (pandoc: 170 MB).
set -u
export LC_ALL=C
build=$1
page=$2
here=$(dirname "$0")
title='Darknet with another gemm: measurements'

# The measurements: folder, command. A folder is a pattern below BUILD.
parts='detect-all/latest	make detect-all
bench/latest	make bench
bench-detect/latest	make bench-detect
peers/latest	make bench-peers
bench-cl/latest	make bench-cl
gprof*/results/latest	make gprof
loops/latest	make loops
explain/latest	make explain
gemm-bench	./gemm-bench -o build/gemm-bench/shapes.md'
ab_command='make ab A=stock B=packed'

# resolve PATTERN: the folders that have files, without links, so that a page keeps what it shows
resolve()
{
    for dir in "$build"/$1; do
        [ -n "$(find "$dir/" -maxdepth 1 -type f -size +0 2>/dev/null)" ] || continue
        if [ -L "$dir" ]; then
            echo "$(dirname "$dir")/$(readlink "$dir")"
        else
            echo "$dir"
        fi
    done
}

# The newest whole comparison of each name: paths without ending.
comparisons()
{
    for json in $(ls -r "$build"/ab/[0-9]*/*.json 2>/dev/null); do
        grep -q '^  "problem": "",$' "$json" || continue
        name=$(basename "$json")
        case " ${named:-} " in *" $name "*) continue ;; esac
        named="${named:-} $name"
        echo "${json%.json}"
    done
}

# ---- the answer ----

# The newest comparison with Darknet's own loops tells of a pass and of a whole image; else detect-all tells of a pass.
answer()
{
    for comparison in $(comparisons); do
        grep -q '^  "a": "stock",$' "$comparison.json" || continue
        awk '
            function value(key) { return match($0, "\"" key "\": [0-9.e+-]+") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) : "" }
            function text(key, at) { at = $0; sub(".*\"" key "\": \"", "", at); sub(/".*/, "", at); return at }
            /^  "b":/ { b = text("b") }
            /^  "cfg":/ { cfg = text("cfg"); sub(/.*\//, "", cfg); sub(/\.cfg$/, "", cfg) }
            /^    "predicted":/ { on = 1 }
            /^    "wall":/ { on = 0; wall = 1 }
            /^      "b": / { if (on) ms = 1000 * value("median_s") }
            /"ratio":/ && !/"control":/ { if (on) pass = value("ratio"); if (wall) image = value("ratio") }
            on && /"verdict":/ { verdict = text("verdict") }
            END {
                if (verdict != "faster" || !(pass > 0) || !(image > 0)) exit 1
                printf "**Take `%s`: a pass of %s takes %.3g ms, %.3g times as fast as Darknet\047s own loops.**", b, cfg, ms, 1 / pass
                printf " A whole image is detected %.3g times as fast, because reading and drawing the picture take the rest.\n", 1 / image
            }' "$comparison.json" && return
    done
    table=$(resolve detect-all/latest)/table.txt
    [ ! -s "$table" ] || awk '
        FNR > 1 && $3 ~ /^[0-9.]+$/ && $4 == "yes" && !/WRONG/ && (!best || $2 < best) { best = $2; name = $1; times = $3 }
        END {
            if (name == "stock") print "**Nothing that was measured is faster than Darknet\047s own loops.**"
            else if (best) printf "**Take `%s`: a pass takes %.3g ms, %.3g times as fast as Darknet\047s own loops.**\n", name, 1000 * best, times
        }' "$table"
}

# What the words of this page mean.
legend()
{
    cat <<'END'

- *multiply*: one call of gemm. *pass*: the network once, without the picture. *image*: reading, pass, drawing, writing.
- `stock`: Darknet's own loops, on one thread. `mkn`, `tile_8` and others: loops of articles. `./gemm-bench --list` has all names.
- Times are medians. A 95% interval holds the median of such runs in 19 of 20 cases. "2 times as fast" is the time of the first
  divided by that of the second.
END
}

# The last picture of `make detect`, with its command and what was found.
picture()
{
    [ -s "$build/detect/predictions.jpg" ] && [ -s "$build/detect/said.txt" ] || return 0
    awk '
        NR == 1 { network = $0; next }
        NR == 2 { sub(/^\+ /, ""); command = $0; next }
        /: Predicted in / { pass = $0; sub(/.*Predicted in /, "", pass); sub(/ seconds.*/, "", pass) }
        /: [0-9]+%$/ { sub(/: [0-9]+%$/, ""); if (!($0 in found)) order[++n] = $0; ++found[$0]; ++all }
        END {
            printf "\n%s found %d objects above 0.5", network, all
            for (i = 1; i <= n; ++i) printf "%s %d %s", i == 1 ? ":" : ",", found[order[i]], order[i]
            printf ", in a first pass of %.3g ms. The command: `%s`\n", 1000 * pass, command
        }' "$build/detect/said.txt"
    printf '\n![The picture with boxes](<detect/predictions.jpg>)\n'
}

# ---- a sentence for each result; the arguments are its folder ----

say_ab()
{
    awk '
        function value(key) { return match($0, "\"" key "\": [0-9.e+-]+") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) : "" }
        function text(key, at) { at = $0; sub(".*\"" key "\": \"", "", at); sub(/".*/, "", at); return at }
        /^  "a":/ { a = text("a") }
        /^  "b":/ { b = text("b") }
        /^  "cfg":/ { cfg = text("cfg") }
        /^    "predicted":/ { on = 1 }
        /^    "wall":/ { on = 0; wall = 1 }
        on && /"ratio":/ && !/"control":/ { ratio = value("ratio"); low = value("ratio_low"); high = value("ratio_high") }
        wall && /"ratio":/ && !/"control":/ { process = value("ratio") }
        on && /"verdict":/ { verdict = text("verdict"); why = text("why") }
        wall && /"verdict":/ { process_verdict = text("verdict"); process_why = text("why") }
        END {
            printf "- `%s` against `%s` on %s: **%s**", b, a, cfg, verdict
            if (verdict == "faster" || verdict == "slower")
                printf ", a pass %.2f times as fast (95%% interval %.2f to %.2f)", 1 / ratio, 1 / high, 1 / low
            else if (why != "") printf " (%s)", why
            printf ". The whole image, with reading and drawing: **%s**", process_verdict
            if (process_verdict == "faster" || process_verdict == "slower") printf ", %.2f times as fast", 1 / process
            else if (process_why != "") printf " (%s)", process_why
            print "."
        }' "$1.json"
}

say_detect_all()
{
    awk 'FNR == 1 { if (sub(/.*GEMM_CONV=/, "")) how = " under `GEMM_CONV=" $0 "`"; next }
        $3 ~ /^[0-9.]+$/ { ++n; if ($4 != "yes" || /WRONG/) ++wrong; else if (!best || $2 < best) { best = $2; name = $1; times = $3 } }
        END {
            if (!n) exit
            printf "- `%s` detects fastest of %d variants: %.4f s a pass%s, %.2f times as fast as `stock`. ", name, n, best, how, times
            print wrong ? "**" wrong " variants detect something else.**" : "All of them detect the same."
        }' "$1/table.txt"
}

say_gprof()
{
    awk -F '\t' '!/^#/ { gemm[$1] = $2; all[$1] = $2 + $3; if (!(name in all) || all[$1] < all[name]) name = $1 }
        END {
            printf "- By gprof, one image on one thread: "
            if (all["stock"] > 0) printf "under `stock` gemm takes %.2f of %.2f s; ", gemm["stock"], all["stock"]
            if (all[name] > 0) printf "under `%s`, the fastest there, %.2f of %.2f s.\n", name, gemm[name], all[name]
        }' "$1/gprof.tsv"
}

say_loops()
{
    awk -F '\t' 'NR == 1 { name = $1; times = $5 } { last = $1 } $1 == "mkn" { tie = NR > 1 && $8 == 1 }
        END {
            if (!NR) exit
            printf "- One multiply: `%s` is the fastest of %d loops, %s times as fast as `mkn`", name, NR, times
            printf "%s; `%s` is the slowest.\n", tie ? ", but the intervals of the two overlap" : "", last
        }' "$1/loops.tsv"
}

# The fastest row of each network, with each number of threads. Of the columns those up to the time count.
say_bench_detect()
{
    awk -F ' *[|] *' '/^\| network / { on = 1; next }
        on && /^\| [^-]/ {
            ms = $5 + 0
            at = $2 ", threads: " $3
            if (!(at in best)) order[++n] = at
            if (!(at in best) || ms < best[at]) { best[at] = ms; row[at] = $4 }
        }
        / WRONG: / { print "- **" $0 "**" }
        END { for (i = 1; i <= n; ++i) printf "- %s: a forward pass is fastest by %s: %.3f ms.\n", order[i], row[order[i]], best[order[i]] }' "$1/bench-detect.txt"
}

say_bench_cl()
{
    sed -n 's/^device: /- The OpenCL rows were measured on this device: /p
        s/^chosen: /- The search of the Adreno paper on this device chose /p' "$1/bench-cl.txt"
}

# say FOLDER: the sentence, by the files that the folder has
say()
{
    if [ -s "$1/table.txt" ]; then say_detect_all "$1"
    elif [ -s "$1/gprof.tsv" ]; then say_gprof "$1"
    elif [ -s "$1/loops.tsv" ]; then say_loops "$1"
    elif [ -s "$1/bench-detect.txt" ]; then say_bench_detect "$1"
    elif [ -s "$1/bench-cl.txt" ]; then say_bench_cl "$1"
    else echo "- Also measured: ${1#"$build"/}, below."
    fi
}

# ---- the page ----

# Markdown below the headings of this page. Text of a program becomes Markdown where it has tables.
show_file()
{
    echo
    case $1 in
    *.md) sed 's/^#/##/' "$1" ;;
    *bench-cl.txt | *bench-detect.txt) awk '/^\|/ && !table { print "" } { table = /^\|/; sub(/^[0-9]\. /, "**&**"); print }' "$1" ;;
    *) printf '```\n'; cat "$1"; printf '```\n' ;;
    esac
}

# show_folder FOLDER
show_folder()
{
    printf '\nResult: %s\n' "${1#"$build"/}"
    for file in "$1"/*.md "$1"/table.txt "$1"/bench-detect.txt "$1"/bench-cl.txt; do
        [ ! -s "$file" ] || show_file "$file"
    done
    for file in "$1"/*.svg "$1"/*.jpg; do
        [ ! -s "$file" ] || printf '\n![%s](<%s>)\n' "$(basename "$file")" "${file#"$build"/}"
    done
    echo
    for file in "$1"/*.txt "$1"/*.csv "$1"/*.tsv "$1"/*.json; do
        [ ! -s "$file" ] || printf '[%s](<%s>)\n' "$(basename "$file")" "${file#"$build"/}"
    done
}

machine()
{
    cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
    echo "${cpu:-$(uname -m)}, $(nproc) cores, $(uname -sm)"
}

# The chart of the summary, from the studies that compare with Darknet's own loops.
chart()
{
    set --
    for kind in detect-all gprof; do
        case $kind in
        detect-all) file=$(resolve detect-all/latest)/table.txt option=detect=1 ;;
        gprof) file=$(resolve 'gprof*/results/latest' | head -n 1)/gprof.tsv option=gprof=1 ;;
        esac
        [ ! -s "$file" ] || set -- "$@" $option "$file"
    done
    { [ $# != 0 ] && awk -f "$here/report_chart.awk" "$@" >"$svg.new-$$" && mv "$svg.new-$$" "$svg"; } ||
        rm -f "$svg.new-$$" "$svg"
}

summary()
{
    printf '# %s\n\n' "$title"
    answer
    printf '\nMade on %s.\n\n- Machine: %s\n' "$(date -u '+%Y-%m-%d %H:%M UTC')" "$(machine)"
    for comparison in $(comparisons); do say_ab "$comparison"; done
    echo "$parts" | while IFS=$tab read -r folder command; do
        for dir in $(resolve "$folder"); do say "$dir"; done
    done
    [ ! -s "$svg" ] ||
        printf '\nHow many times as fast as Darknet'"'"'s own loops (`stock` = 1):\n\n![variants](<report/variants.svg>)\n'
    picture
    legend
}

details()
{
    if [ -n "$(comparisons)" ]; then
        printf '\n# make ab\n'
        for comparison in $(comparisons); do
            show_file "$comparison.md"
            printf '\n[samples](<%s.csv>) [figures](<%s.json>)\n' "${comparison#"$build"/}" "${comparison#"$build"/}"
        done
    fi
    echo "$parts" | while IFS=$tab read -r folder command; do
        [ -n "$(resolve "$folder")" ] || continue
        printf '\n# %s\n' "$command"
        for dir in $(resolve "$folder"); do show_folder "$dir"; done
    done
}

# One line with the commands of what was not measured.
missing()
{
    list=
    [ -n "$(comparisons)" ] || list=", \`$ab_command\`"
    [ -s "$build/detect/predictions.jpg" ] || list="$list, \`make detect\`"
    list=$list$(echo "$parts" | while IFS=$tab read -r folder command; do
        [ -n "$(resolve "$folder")" ] || printf ', `%s`' "$command"
    done)
    [ -z "$list" ] || printf '\nNot measured: %s.\n' "${list#, }"
}

markdown()
{
    summary
    details
    missing
}

html()
{
    cat <<END
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root { color-scheme: light dark; --text: #222; --page: #fff; --line: #ccc; }
@media (prefers-color-scheme: dark) { :root { --text: #ddd; --page: #181a1b; --line: #555; } }
body { max-width: 75rem; margin: auto; padding: 1rem; font: 1rem/1.5 sans-serif; color: var(--text); background: var(--page); }
p, li, h1, h2, h3 { overflow-wrap: anywhere; }
p { overflow-x: auto; }
h1 { margin-top: 3rem; border-top: 1px solid var(--line); }
h1:first-child { margin-top: 0; border: 0; }
h1:first-child + p { font-size: 1.15rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
pre { overflow-x: auto; }
th:not([align]) { text-align: left; }
img { max-width: 100%; background: #fff; }
@media (max-width: 40rem) {
  body { padding: .5rem; }
  h1 { font-size: 1.3rem; margin-top: 2rem; }
  h2 { font-size: 1.15rem; }
  h3 { font-size: 1rem; }
  table { font-size: .85rem; }
  th, td { padding: .1rem .3rem; }
  pre { font-size: .8rem; }
}
</style></head><body>
END
    markdown | cmark-gfm -e table && echo '</body></html>'
}

tab=$(printf '\t')
if ! command -v cmark-gfm >/dev/null; then
    echo 'report: cmark-gfm is missing (Debian: cmark-gfm)' >&2
    exit 1
fi
mkdir -p "$build/report" || exit 1
svg=$build/report/variants.svg
chart
new=$page.new-$$
if ! html >"$new" || ! mv "$new" "$page"; then
    echo "report: cannot write $page" >&2
    rm -f "$new"
    exit 1
fi
echo "report: $page" >&2
