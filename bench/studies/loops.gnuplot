# SPDX-License-Identifier: MIT
# Bars of loops.tsv: ours, in ns a multiply-add. Points: the article's cycles a multiply-add, on an
# axis of their own because the machines have nothing in common.
# Variables: data, image, format, shape.
if (format eq 'svg') set terminal svg size 1100,520 background 'white' font 'sans,11' noenhanced
if (format eq 'png') set terminal pngcairo size 1100,520 background 'white' \
    font 'sans,11' noenhanced
set output image
set datafile separator "\t"
set datafile missing '-'
set title sprintf('Loop orders, unrollings and tiles, M,N,K = %s, one thread', shape)
set style fill solid 0.85
set boxwidth 0.7
set xtics rotate by -60 nomirror font ',9'
set ylabel 'this machine: ns a multiply-add'
set y2label 'the article: cycles a multiply-add (soft core, 75 MHz)'
set ytics nomirror
set y2tics
# the slowest takes a hundred times as long as the fastest
set logscale y
set logscale y2
set yrange [0.03:*]
set y2range [10:*]
set key top left
set grid ytics lc rgb '#dddddd'
plot data using 0:3:xtic(1) with boxes lc rgb '#3b6ea5' title 'this machine', \
     data using 0:($6/0.268435456) axes x1y2 with points pt 7 ps 0.9 lc rgb '#d1495b' \
         title 'the article (theirs)'
