# SPDX-License-Identifier: MIT
# GFLOP/s of OpenCL rows on squares, and a hundred times cl_naive. 400 pixels wide, for a phone.
# Variables: data (of bench_cl --squares), image, format.
if (format eq 'svg') set terminal svg size 400,420 background 'white' font 'sans,11' noenhanced
if (format eq 'png') set terminal pngcairo size 400,420 background 'white' font 'sans,8' noenhanced
set output image
set datafile separator "\t"
set datafile missing '-'
set title 'C += AB, N x N x N, data on the OpenCL device'
set xlabel 'N'
set ylabel 'GFLOP/s'
set logscale x 2
set logscale y
set key outside below
set grid lc rgb '#dddddd'
plot for [i = 2:5] data using 1:i with linespoints pt 7 ps 0.6 lw 2 title columnheader(i), \
     data using 1:(100 * $2) with lines dt 2 lw 2 lc rgb '#888888' \
         title '100 times cl_naive: the claim of the article'
