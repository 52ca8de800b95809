# SPDX-License-Identifier: MIT
# explain.tsv under this machine's caches, a point a row. chart=misses: misses of L1 against the measured
# time. chart=ranks: predicted against measured rank.
# Variables: data, image, format, chart.
if (format eq 'svg') set terminal svg size 1100,640 background 'white' font 'sans,11' noenhanced
if (format eq 'png') set terminal pngcairo size 1100,640 background 'white' \
    font 'sans,11' noenhanced
set output image
set datafile separator "\t"
here = sprintf("< awk -F '\\t' '$2 == \"here\" && $10 != \"-\"' '%s'", data)
set key off
set grid lc rgb '#dddddd'
if (chart eq 'misses') {
    set title 'Misses of L1 and time, this machine, one thread'
    set xlabel 'misses of L1 a thousand multiply-adds (counted)'
    set ylabel 'ns a multiply-add (measured)'
    set logscale xy
    plot here using 6:10 with points pt 7 ps 0.7 lc rgb '#3b6ea5', \
         here using 6:10:1 with labels left offset 0.6,0.3 font ',8'
} else {
    set title 'Predicted and measured rank, this machine, one thread'
    set xlabel 'predicted rank'
    set ylabel 'measured rank'
    plot x with lines lc rgb '#bbbbbb', \
         here using 9:11 with points pt 7 ps 0.7 lc rgb '#3b6ea5', \
         here using 9:11:1 with labels left offset 0.6,0.3 font ',8'
}
