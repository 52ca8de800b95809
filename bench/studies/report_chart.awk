# SPDX-License-Identifier: MIT
# One chart of all measured variants: how many times as fast as Darknet's own loops, on a logarithmic
# scale, as an SVG of 400 pixels.
#
#   awk -f report_chart.awk [detect=1 table.txt] [gprof=1 gprof.tsv]
#
# table.txt: of make detect-all, a pass. gprof.tsv: gemm alone. `stock` is 1 in both.

function add(variant, series, value)
{
    if (!(value > 0)) return
    if (!(variant in best)) { names[++n] = variant; best[variant] = 0 }
    if (value > best[variant]) best[variant] = value
    speed[variant, series] = value
    seen[series] = 1
    if (low == 0 || value < low) low = value
    if (value > high) high = value
}

function x_of(value) { return 140 + 245 * (log(value) - log(low)) / (log(high) - log(low)) }

FILENAME != last_file { last_file = FILENAME; kind = detect ? 1 : 2; detect = gprof = 0 }
kind == 1 && FNR > 1 && $3 ~ /^[0-9.]+$/ { add($1, 1, $3) }
kind == 2 && !/^#/ { if ($1 == "stock") stock = $2; gemm[++m] = $1 "\t" $2 }

END {
    for (i = 1; i <= m; ++i) {
        split(gemm[i], part, "\t")
        if (stock > 0 && part[2] > 0) add(part[1], 2, stock / part[2])
    }
    if (!n) exit 1
    if (low > 1) low = 1
    if (high < 2 * low) high = 2 * low
    for (i = 2; i <= n; ++i)
        for (j = i; j > 1 && best[names[j]] > best[names[j - 1]]; --j) {
            name = names[j]; names[j] = names[j - 1]; names[j - 1] = name
        }
    split("#1f6fb4 #d1495b", color, " ")
    split("a pass (make detect-all)|the multiplies alone (make gprof)", title, "|")
    top = 18
    for (s = 1; s <= 2; ++s) top += 16 * seen[s]
    height = top + 17 * n + 8
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" height=\"%d\" viewBox=\"0 0 400 %d\"", height, height
    print " font-family=\"sans-serif\" font-size=\"12\"><rect width=\"400\" height=\"100%\" fill=\"white\"/>"
    y = 0
    for (s = 1; s <= 2; ++s) {
        if (!seen[s]) continue
        y += 16
        printf "<circle cx=\"146\" cy=\"%d\" r=\"3.5\" fill=\"%s\"/><text x=\"154\" y=\"%d\">%s</text>\n", y - 4, color[s], y, title[s]
    }
    for (decade = 0.001; decade <= 1000; decade *= 10)
        for (k = 1; k <= 5; k += k == 1 ? 1 : 3) {
            v = decade * k
            if (v < low || v > high) continue
            printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"%s\"/>", x_of(v), x_of(v), top, height - 6, v == 1 ? "#888" : "#ddd"
            if (k == 2 && x_of(10) - x_of(1) < 110) continue       # no room for its label
            printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%gx</text>\n", x_of(v), top - 4, v
        }
    for (i = 1; i <= n; ++i) {
        y = top + 17 * i - 4
        printf "<text x=\"132\" y=\"%d\" text-anchor=\"end\">%s</text>", y, names[i]
        for (s = 1; s <= 2; ++s)
            if ((names[i], s) in speed)
                printf "<circle cx=\"%.1f\" cy=\"%d\" r=\"3.5\" fill=\"%s\"><title>%s: %.2fx, %s</title></circle>", x_of(speed[names[i], s]), y - 4, color[s], names[i], speed[names[i], s], title[s]
        print ""
    }
    print "</svg>"
}
