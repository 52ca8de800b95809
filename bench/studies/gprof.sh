#!/bin/sh
# SPDX-License-Identifier: MIT
# Hotspots of a detection under each variant, by gprof.
#
#   bench/studies/gprof.sh DARKNET FOLDER CFG WEIGHTS IMAGE VARIANT...
#
#   N=5          images a process       PROCESSES=1   processes whose samples are summed
#
# DARKNET is built with -pg, without its variants, whose samples come all the same. For each variant FOLDER gets NAME.flat.txt (the flat profile),
# NAME.graph.txt (the call graph) and NAME.trace.csv. All together give gprof.tsv, gprof.md and,
# with gnuplot, gprof.svg and .png.
#
# gprof takes a sample every 10 ms, so it needs many images. One thread runs, because gprof cannot
# tell the samples of several apart. gprof does not see a GPU: the event times of OpenCL rows come
# from the trace.
set -u
export LC_ALL=C

absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac }
darknet=$(absolute "$1") folder=$(absolute "$2") cfg=$(absolute "$3") weights=$(absolute "$4") image=$(absolute "$5")
shift 5
here=$(dirname "$0")
: "${N:=5}" "${PROCESSES:=1}"
for number in "N=$N" "PROCESSES=$PROCESSES"; do
    case ${number#*=} in
    0* | *[!0-9]* | '')
        echo "gprof: $number: a whole number from 1 on is needed" >&2
        exit 2 ;;
    esac
done

export GEMM_THREADS=1 GEMM_PREPARE="${GEMM_PREPARE:-first}"   # else each image prepares a part
# Darknet writes predictions.jpg where it runs, and reads cfg/ and data/ there.
mkdir -p "$folder/run"
ln -sfn "$PWD/cfg" "$folder/run/cfg"
ln -sfn "$PWD/data" "$folder/run/data"
rm -f "$folder"/gmon.* "$folder/rows.tsv"
child=

# detect_images VARIANT: detects the image N times in one process, which leaves gmon.PID and a trace
detect_images()
{
    i=0
    while [ $i -lt "$N" ]; do
        echo "$image"
        i=$((i + 1))
    done >"$folder/images"
    (cd "$folder/run" &&
        GEMM_IMPL=$1 GEMM_TRACE=$folder/$1.trace.csv GMON_OUT_PREFIX=$folder/gmon \
            exec "$darknet" detect "$cfg" "$weights" <"$folder/images" >"$folder/output" 2>"$folder/error") &
    child=$!
    wait $child
    status=$?
    child=
    predicted=$(grep -c 'Predicted in' "$folder/output")
    if [ $status != 0 ] || [ "$predicted" != "$N" ] ||
        ! ls "$folder"/gmon.[0-9]* >/dev/null 2>&1; then
        echo "gprof: $1: status $status, $predicted of $N images, $(tail -n 1 "$folder/error")" >&2
        return 1
    fi
}

# profile VARIANT: the samples of all its processes become text files and one row of the table
profile()
{
    rm -f "$folder"/gmon.[0-9]*
    run=0
    while [ $run -lt "$PROCESSES" ]; do
        detect_images "$1" || return 1
        run=$((run + 1))
    done
    (cd "$folder" && gprof -s "$darknet" gmon.[0-9]* && mv gmon.sum "$1.gmon") || return 1
    gprof -b -p "$darknet" "$folder/$1.gmon" >"$folder/$1.flat.txt" || return 1
    gprof -b -q "$darknet" "$folder/$1.gmon" >"$folder/$1.graph.txt" || return 1
    awk -v row="$1" -v images=$((N * PROCESSES)) -v trace_images="$N" -f "$here/gprof_row.awk" \
        "$folder/$1.flat.txt" "$folder/$1.trace.csv" >>"$folder/rows.tsv"
}

# The table and the chart of what was measured so far.
report()
{
    [ -s "$folder/rows.tsv" ] || return 1
    awk -v tsv="$folder/gprof.tsv" -f "$here/gprof_table.awk" "$here/articles.tsv" \
        "$folder/rows.tsv" >"$folder/gprof.md"
    cat "$folder/gprof.md"
    if command -v gnuplot >/dev/null 2>&1; then
        gnuplot -e "data='$folder/gprof.tsv'; out='$folder/gprof'" "$here/gprof.gnuplot"
    else
        echo "gprof: no gnuplot, so no chart" >&2
    fi
}

# draw_graph VARIANT: the call graph as a picture
draw_graph()
{
    gprof2dot -s "$folder/$1.graph.txt" 2>/dev/null | dot -Tsvg -o "$folder/$1.graph.svg"
}

stop()
{
    [ -z "$child" ] || kill "$child" 2>/dev/null
    echo "gprof: stopped; the table holds what was measured before" >&2
    report
    exit 130
}
trap stop INT TERM

# left DONE OF: the time that is left, if the others take as long as those that are done
left()
{
    [ "$1" = 0 ] || echo ", about $((($(date +%s) - begin) * ($2 - $1) / $1 / 60 + 1)) min left"
}

failed=0 done=0 begin=$(date +%s)
for variant; do
    echo "[$((done + 1))/$#] $variant: $PROCESSES x $N images$(left $done $#)" >&2
    done=$((done + 1))
    profile "$variant" || failed=1
    last=$variant
done
report || exit 1
if command -v gprof2dot >/dev/null 2>&1 && command -v dot >/dev/null 2>&1; then
    draw_graph "$1" && draw_graph "$last"
fi
rm -rf "$folder"/gmon.[0-9]* "$folder/images" "$folder/output" "$folder/error" "$folder/run"
exit $failed
