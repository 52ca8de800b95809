# SPDX-License-Identifier: MIT
# Holes and ratios of sizes.csv: sweep,size,row,gflops with a line of names. See sizes.sh.
NR == 1 { next }
{
    rate[$1, $3, $2] = $4
    if (!seen[$1]++) sweeps[++sweep_count] = $1
    if (!met[$3]++) rows[++row_count] = $3
    if ($2 > most[$1]) most[$1] = $2
}
END {
    for (s = 1; s <= sweep_count; ++s)
        for (r = 1; r <= row_count; ++r) print line(sweeps[s], rows[r])
}

# The least, the median and the largest of count values.
function spread(values, count,    i, j, v)
{
    for (i = 2; i <= count; ++i) {
        v = values[i]
        for (j = i - 1; j > 0 && values[j] > v; --j) values[j + 1] = values[j]
        values[j + 1] = v
    }
    return sprintf("%.2f, %.2f, %.2f", values[1], values[int((count + 1) / 2)], values[count])
}

# A size that a row has no rate of is no hole.
function line(sweep, row,    n, holes, last, rates, ratios, count)
{
    last = most[sweep]
    for (n = 1; n <= last; ++n) {
        if (!((sweep, row, n) in rate)) continue
        if ((sweep, row, n - 1) in rate && (sweep, row, n + 1) in rate &&
            4 * rate[sweep, row, n] < rate[sweep, row, n - 1] + rate[sweep, row, n + 1])
            holes = holes " " n
        rates[++count] = rate[sweep, row, n]
        ratios[count] = rates[count] / rate[sweep, rows[1], n]
    }
    text = sprintf("%s, %s: holes:%s; GFLOP/s: %s", sweep, row, holes ? holes : " none",
                   spread(rates, count))
    return row == rows[1] ? text : text sprintf("; of %s: %s", rows[1], spread(ratios, count))
}
