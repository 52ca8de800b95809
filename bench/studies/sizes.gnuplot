# SPDX-License-Identifier: MIT
# GFLOP/s over each size from 1: M, N, K alone, and all three. 400 pixels wide, for a phone.
# Variables: data (sizes.csv of sizes.sh), image, format.
if (format eq 'svg') set terminal svg size 400,760 background 'white' font 'sans,11' noenhanced
if (format eq 'png') set terminal pngcairo size 400,760 background 'white' font 'sans,8' noenhanced
set output image
set yrange [0:*]
set ylabel 'GFLOP/s'
set grid lc rgb '#dddddd'
set key bottom right
rows = system(sprintf("awk -F, 'NR > 1 && !seen[$3]++ { print $3 }' '%s'", data))
points(sweep, row) = sprintf("< awk -F, '$1 == \"%s\" && $3 == \"%s\" { print $2, $4 }' '%s'", \
                             sweep, row, data)
set multiplot layout 4,1
do for [sweep in 'M N K MNK'] {
    set title sweep eq 'MNK' ? 'M = N = K, one thread' : sweep.', the others 128, one thread'
    plot for [row in rows] points(sweep, row) using 1:2 with lines lw 2 title row
}
unset multiplot
