# SPDX-License-Identifier: MIT
# A bar for each line of loops.tsv: ours, in ns a multiply-add. Points: the article's cycles a multiply-add,
# on an axis of their own because the machines have nothing in common. 400 pixels wide, for a phone.
# Variables: data, image, format, shape.
rows = int(system(sprintf("wc -l <'%s'", data)))
height = 120 + 14 * rows
if (format eq 'svg') set terminal svg size 400,height background 'white' font 'sans,11' noenhanced
if (format eq 'png') set terminal pngcairo size 400,height background 'white' font 'sans,8' noenhanced
set output image
set datafile separator "\t"
set datafile missing '-'
stats data using 3 nooutput
least = 10 ** floor(log10(0.7 * STATS_min))
set title sprintf("Loop orders, unrollings and tiles\nM,N,K = %s, one thread", shape)
set style fill solid 0.85 noborder
set lmargin 13
set rmargin 4
set xlabel 'bars: this machine, ns a multiply-add'
set x2label 'points: the article, cycles (soft core, 75 MHz)'
set yrange [rows - 0.5:-0.5]
set ytics nomirror scale 0
set xtics nomirror
set x2tics
# the slowest takes a hundred times as long as the fastest
set logscale x
set logscale x2
set xrange [least:*]
set x2range [10:*]
set key off
set grid xtics lc rgb '#dddddd'
plot data using 3:0:(least):3:($0 - 0.38):($0 + 0.38):ytic(1) with boxxyerror lc rgb '#3b6ea5', \
     data using ($6/0.268435456):0 axes x2y1 with points pt 7 ps 0.5 lc rgb '#d1495b'
