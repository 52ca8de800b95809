# SPDX-License-Identifier: MIT
# GFLOP/s of squares over their size, a line a library. 400 pixels wide, for a phone.
# Variables: data (gemm-bench's CSV), image, format.
if (format eq 'svg') set terminal svg size 400,380 background 'white' font 'sans,11' noenhanced
if (format eq 'png') set terminal pngcairo size 400,380 background 'white' font 'sans,8' noenhanced
set output image
set title 'C += AB, N x N x N, one thread'
set xlabel 'N'
set ylabel 'GFLOP/s'
set logscale x 2
set yrange [0:*]
set key outside below
set grid lc rgb '#dddddd'
rows = system(sprintf("awk -F, 'NR > 1 && !seen[$1]++ { print $1 }' '%s'", data))
points(row) = sprintf("< awk -F, '$1 == \"%s\" { print $4, $10 }' '%s'", row, data)
label(row) = system(sprintf("echo '%s' | sed 's/+.*//'", row))
plot for [row in rows] points(row) using 1:2 with linespoints pt 7 ps 0.5 lw 2 title label(row)
