# SPDX-License-Identifier: MIT
# Seconds an image by variant, gemm and the rest: gprof.svg and gprof.png, 400 pixels wide, for a phone.
#   gnuplot -e "data='FILE.tsv'; out='PATH without ending'" gprof.gnuplot
rows = int(system(sprintf("grep -vc '^#' '%s'", data)))
height = 100 + 14 * rows
set datafile separator tab
set datafile commentschars '#'
set style fill solid noborder
set lmargin 13
set rmargin 4
set xlabel 'seconds an image, by gprof, one thread'
set yrange [rows - 0.5:-0.5]
set ytics nomirror scale 0 noenhanced
set key at screen 0.5,0.99 center top horizontal
set tmargin 3
set grid xtics
set xrange [0:*]
set terminal svg size 400,height background 'white' font 'sans,11'
set output out.'.svg'
plot data using 2:0:(0):2:($0 - 0.4):($0 + 0.4):ytic(1) with boxxyerror title 'gemm' lc rgb '#1f6fb4', \
     '' using 2:0:2:($2 + $3):($0 - 0.4):($0 + 0.4) with boxxyerror title 'all else' lc rgb '#b9c4cc'
set terminal pngcairo size 400,height font 'sans,8'
set output out.'.png'
replot
