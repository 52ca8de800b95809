# SPDX-License-Identifier: MIT
# Leaves out names of a chart that would lie over others: x, y and name of the lines that keep theirs.
# Variables: x, y, the columns; logs=1: both axes have logarithms. The name is in column 1.
function place(value) { return logs ? log(value) : value }
$x > 0 && $y > 0 {
    at[++n] = place($x); up[n] = place($y); line[n] = $x "\t" $y "\t" $1; length_of[n] = length($1)
    if (n == 1 || at[n] < left) left = at[n]
    if (n == 1 || at[n] > right) right = at[n]
    if (n == 1 || up[n] < low) low = up[n]
    if (n == 1 || up[n] > high) high = up[n]
}
# A name is 0.022 of the chart's width a letter, and 0.035 of its height.
END {
    for (i = 1; i <= n; ++i) {
        from = right > left ? (at[i] - left) / (right - left) : 0
        to = from + 0.022 * length_of[i]
        height = high > low ? (up[i] - low) / (high - low) : 0
        for (j = 1; j <= kept; ++j)
            if (from < end[j] && begin[j] < to && height - above[j] < 0.035 && above[j] - height < 0.035) break
        if (j <= kept) continue
        begin[++kept] = from; end[kept] = to; above[kept] = height
        print line[i]
    }
}
