# The samples of an A/B (its CSV) as a drawing: a dot a sample in order of time from above, a line at
# the median. -v column=7 is what Darknet says, 8 the wall time. The file name may hold commas, so
# columns are counted from the end.

function scaled(v) { return 8 + 364 * (v - low) / (high - low) }

function sort(v, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        t = v[i]
        for (j = i - 1; j >= 1 && v[j] > t; j--) v[j + 1] = v[j]
        v[j + 1] = t
    }
}

function median(side,    i, v) {
    for (i = 1; i <= count[side]; i++) v[i] = sample[side, i]
    sort(v, count[side])
    i = int((count[side] + 1) / 2)
    return count[side] % 2 ? v[i] : (v[i] + v[i + 1]) / 2
}

# A round step that gives three to six ticks.
function step_of(range,    step) {
    step = 10 ^ int(log(range) / log(10) - 1)
    while (range / step > 6) {
        if (range / (2 * step) <= 6) return 2 * step
        if (range / (5 * step) <= 6) return 5 * step
        step *= 10
    }
    return step
}

function strip(side, top,    i, m, y) {
    printf "<text x=\"8\" y=\"%d\" class=\"s%s\">%s</text>\n", top, side, side
    for (i = 1; i <= count[side]; i++) {
        y = top + 6 + 30 * (i - 0.5) / count[side]
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" class=\"s%s\"/>\n", scaled(sample[side, i]), y, side
    }
    m = median(side)
    printf "<path d=\"M%.1f %dv36\" class=\"m%s\"/>\n", scaled(m), top + 3, side
}

BEGIN { FS = "," }
/^measured,/ {
    side = $(NF - 5)
    v = 1000 * (column == 7 ? $(NF - 3) : $(NF - 2))
    sample[side, ++count[side]] = v
    if (!n++ || v < low) low = v
    if (n == 1 || v > high) high = v
}
END {
    if (count["A"] < 1 || count["B"] < 1) exit
    if (high <= low) high = low * 1.01 + 0.001
    room = (high - low) * 0.04
    low -= room
    high += room
    printf "<svg viewBox=\"0 0 380 138\" role=\"img\" aria-label=\"%s of A and B, ms\">\n", title
    step = step_of(high - low)
    for (t = int(low / step) * step; t <= high; t += step) {
        if (t < low) continue
        printf "<path d=\"M%.1f 18v98\" class=\"grid\"/>", scaled(t)
        anchor = scaled(t) > 355 ? "end" : scaled(t) < 25 ? "start" : "middle"
        printf "<text x=\"%.1f\" y=\"130\" text-anchor=\"%s\">%.6g</text>\n", scaled(t), anchor, t
    }
    printf "<text x=\"372\" y=\"12\" text-anchor=\"end\">%s, ms</text>\n", title
    strip("A", 24)
    strip("B", 74)
    print "</svg>"
}
