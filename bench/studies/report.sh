#!/bin/sh
# One HTML page of all that was measured: what the other commands left under build/, drawings
# included, in a file that needs nothing beside it.
#
#   bench/studies/report.sh BUILD PAGE
#
# Each part has a folder under BUILD. In it .md is shown as text, .svg, .png and .jpg as pictures,
# .csv and .tsv as tables, .txt as it is; of .json only the A/B summaries are read. A part without
# a folder, or with an empty one, is named with the command that measures it.
set -u
build=$1
page=$2
here=$(dirname "$0")/report

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
markdown() { awk -v shift="$1" -f "$here/markdown.awk" "$2"; }
measured() { [ -d "$1" ] && [ -n "$(find "$1" -maxdepth 1 -type f ! -name '.*' -size +0)" ]; }
title_of() { basename "$1" | sed 's/\.[a-z]*$//' | escape; }

# picture TYPE CLASS FILE
picture() {
    printf '<figure class="%s"><img alt="%s" src="data:%s;base64,' "$2" "$(title_of "$3")" "$1"
    base64 -w 0 "$3"
    printf '"><figcaption>%s</figcaption></figure>\n' "$(title_of "$3")"
}

text_file() {
    lines=$(wc -l <"$1")
    echo "<details$([ "$lines" -gt 40 ] || echo ' open')><summary>$(title_of "$1")</summary><pre>"
    sed 200q "$1" | escape
    echo '</pre>'
    [ "$lines" -le 200 ] || echo "<p class=\"note\">$((lines - 200)) more lines in $1.</p>"
    echo '</details>'
}

show_file() {
    case $1 in
    *.md) markdown 2 "$1" ;;
    *.svg) picture image/svg+xml paper "$1" ;;
    *.png) [ -f "${1%.png}.svg" ] || picture image/png paper "$1" ;;
    *.jpg) picture image/jpeg photo "$1" ;;
    *.csv) echo "<h3>$(title_of "$1")</h3>"; awk -v most=80 -v name="$1" -f "$here/table.awk" "$1" ;;
    *.tsv) echo "<h3>$(title_of "$1")</h3>"; awk -v tab=1 -v most=80 -v name="$1" -f "$here/table.awk" "$1" ;;
    *.txt) text_file "$1" ;;
    esac
}

# Text before pictures before raw tables.
show_folder() {
    for ending in md txt svg png jpg tsv csv; do
        for file in "$1"/*."$ending"; do
            [ ! -s "$file" ] || show_file "$file"
        done
    done
}

show_ab() {
    for file in "$1"/*.md; do
        [ -s "$file" ] || continue
        markdown 2 "$file"
        [ -s "${file%.md}.csv" ] || continue
        echo '<div class="charts">'
        awk -v column=7 -v title='by Darknet' -f "$here/samples.awk" "${file%.md}.csv"
        awk -v column=8 -v title='wall' -f "$here/samples.awk" "${file%.md}.csv"
        echo '</div>'
    done
}

parts='detections|Detections|make detect|
detect-all|Every variant on the same images|make detect-all|
gprof|Where the time goes|make gprof|
loops|Loop orders, unrolling and tiles|make loops|
gemm-bench|gemm on the shapes of the network|./gemm-bench --csv >build/gemm-bench/rows.csv|
ab|Does B beat A?|make ab A=stock B=transpose|'

# A profile for each set of flags has a folder of its own.
folders_of() {
    case $1 in
    detections) set -- "$build/report" ;;
    gprof) set -- "$build"/gprof*/results ;;
    *) set -- "$build/$1" ;;
    esac
    for folder; do
        if measured "$folder"; then echo "$folder"; fi
    done
}

summary() {
    echo '<ul class="parts">'
    echo "$parts" | while IFS='|' read -r id title command _; do
        if [ -n "$(folders_of "$id")" ]; then
            printf '<li><a href="#%s">%s</a></li>\n' "$id" "$title"
        else
            printf '<li>%s: <span class="dim">not measured yet;</span> <code>%s</code></li>\n' "$title" "$command"
        fi
    done
    echo '</ul>'
}

# Which is fastest, and how sure that is, in two drawings.
in_short() {
    echo '<div class="charts">'
    for file in "$build"/gemm-bench/*.csv; do
        [ -s "$file" ] || continue
        echo "<figure><figcaption>gemm alone, all shapes: $(title_of "$file")</figcaption>"
        awk -f "$here/totals.awk" "$file"
        echo '</figure>'
    done
    if [ -n "$(find "$build/ab" -name '*.json' -size +0 2>/dev/null)" ]; then
        echo '<figure><figcaption>A whole detection, by Darknet'"'"'s own clock</figcaption>'
        awk -f "$here/ratios.awk" "$build"/ab/*.json
        echo '</figure>'
    fi
    echo '</div>'
}

sections() {
    echo "$parts" | while IFS='|' read -r id title command _; do
        printf '<h2 id="%s">%s</h2>\n<code class="command">%s</code>\n' "$id" "$title" "$command"
        if [ -z "$(folders_of "$id")" ]; then
            echo '<p class="note">Not measured yet: this command does it.</p>'
        elif [ "$id" = ab ]; then
            show_ab "$build/ab"
        else
            folders_of "$id" | while read -r folder; do
                echo "<p class=\"note\">$folder</p>"
                show_folder "$folder"
            done
        fi
    done
}

machine() {
    echo '<div class="wide"><table>'
    {
        printf 'processor\t%s\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | sed 1q)"
        printf 'processors\t%s\n' "$(nproc)"
        printf 'memory\t%s\n' "$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo 2>/dev/null)"
        printf 'system\t%s\n' "$(uname -srm)"
        printf 'compiler\t%s\n' "$(${CC:-gcc} --version 2>/dev/null | sed 1q)"
        printf 'commit\t%s\n' "$(git describe --always --dirty 2>/dev/null)"
    } | escape | awk -F '\t' '$2 != "" { printf "<tr><th>%s</th><td>%s</td></tr>\n", $1, $2 }'
    echo '</table></div>'
}

write_page() {
    echo '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    echo '<meta name="viewport" content="width=device-width, initial-scale=1">'
    echo '<title>Darknet with another gemm: measurements</title><style>'
    cat "$here/style.css"
    echo '</style></head><body><h1>Darknet with another gemm: measurements</h1>'
    echo "<p class=\"dim\">Made on $(date -u '+%Y-%m-%d %H:%M UTC') from what lies under $build/.</p>"
    summary
    in_short
    sections
    echo '<h2 id="machine">Machine</h2>'
    machine
    echo '</body></html>'
}

# The drawings of the last `make detect`, before they are drawn over.
mkdir -p "$build/report" || exit 1
for drawing in predictions.jpg predictions.png; do
    [ ! -s $drawing ] || cp $drawing "$build/report/" || exit 1
done
if ! write_page >"$page.new" || ! mv "$page.new" "$page"; then
    echo "report: cannot write $page" >&2
    rm -f "$page.new"
    exit 1
fi
echo "report: $page" >&2
