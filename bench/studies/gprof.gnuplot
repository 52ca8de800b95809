# SPDX-License-Identifier: MIT
# Seconds an image by variant, gemm and the rest: gprof.svg and gprof.png.
#   gnuplot -e "data='FILE.tsv'; out='PATH without ending'" gprof.gnuplot
set datafile separator tab
set datafile commentschars '#'
set style data histograms
set style histogram rowstacked
set style fill solid
set boxwidth 0.8
set ylabel 'seconds an image, by gprof, one thread'
set xtics rotate by 90 right noenhanced
set key top right
set grid ytics
set yrange [0:*]
set terminal svg size 1200,480 background 'white'
set output out.'.svg'
plot data using 2:xtic(1) title 'gemm' linecolor rgb '#1f6fb4', \
     '' using 3 title 'all else' linecolor rgb '#b9c4cc'
set terminal pngcairo size 1200,480
set output out.'.png'
replot
