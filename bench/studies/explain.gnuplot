# SPDX-License-Identifier: MIT
# explain.tsv under this machine's caches, a point a row. chart=misses: misses of L1 against the measured
# time. chart=ranks: predicted against measured rank. 400 pixels wide, for a phone: a name that would lie over
# another one is left out, and the table of explain.md has it.
# Variables: data, image, format, chart; labels, the path of explain_labels.awk.
if (format eq 'svg') set terminal svg size 400,480 background 'white' font 'sans,11' noenhanced
if (format eq 'png') set terminal pngcairo size 400,480 background 'white' font 'sans,8' noenhanced
set output image
set datafile separator "\t"
here = sprintf("< awk -F '\\t' '$2 == \"here\" && $10 != \"-\"' '%s'", data)
# named(X, Y, LOG): the lines whose names find room. Columns: x, y, name.
named(x, y, log) = here.sprintf(" | awk -F '\\t' -v x=%d -v y=%d -v logs=%d -f '%s'", x, y, log, labels)
set key off
set rmargin 9
font_of_names = format eq 'svg' ? ',9' : ',7'
set grid lc rgb '#dddddd'
if (chart eq 'misses') {
    set title 'Misses of L1 and time, this machine, one thread'
    set xlabel 'misses of L1 a thousand multiply-adds (counted)'
    set ylabel 'ns a multiply-add (measured)'
    set logscale xy
    plot here using 6:10 with points pt 7 ps 0.7 lc rgb '#3b6ea5', \
         named(6, 10, 1) using 1:2:3 with labels left offset 0.6,0.3 font font_of_names
} else {
    set title 'Predicted and measured rank, this machine, one thread'
    set xlabel 'predicted rank'
    set ylabel 'measured rank'
    plot x with lines lc rgb '#bbbbbb', \
         here using 9:11 with points pt 7 ps 0.7 lc rgb '#3b6ea5', \
         named(9, 11, 0) using 1:2:3 with labels left offset 0.6,0.3 font font_of_names
}
