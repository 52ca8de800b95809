# gemm-bench's CSV as bars: for each row of the table the time of all shapes together, caches warm,
# each shape as often as the network calls it; the fastest first. Rows that could not do every shape
# are named below, not drawn.

function escaped(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}

function draw(i, top, longest,    width, label) {
    width = 368 * total[order[i]] / longest
    label = sprintf("%.4g ms, %.4g GFLOP/s", total[order[i]], work[order[i]] / total[order[i]])
    printf "<text x=\"6\" y=\"%d\">%s</text><text x=\"374\" y=\"%d\" text-anchor=\"end\" class=\"dim\">%s</text>\n",
        top, escaped(order[i]), top, label
    printf "<rect x=\"6\" y=\"%d\" width=\"%.1f\" height=\"7\" rx=\"2\" class=\"sB\"/>\n", top + 5, width
}

BEGIN { FS = "," }
NR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    if (!at["impl"] || !at["median_ms"] || !at["gflops"]) exit
    next
}
at["M"] && $at["M"] < 1 { next }
at["cache"] && $at["cache"] != "warm" { next }
{
    id = $at["impl"]
    if (at["threads"]) id = id " (" $at["threads"] " thread" ($at["threads"] == 1 ? ")" : "s)")
    if (!(id in shapes)) order[++n] = id
    if ($at["median_ms"] == "" || at["status"] && $at["status"] != "ok") { bad[id] = 1; next }
    calls = at["calls"] ? $at["calls"] : 1
    total[id] += $at["median_ms"] * calls
    work[id] += $at["gflops"] * $at["median_ms"] * calls
    if (++shapes[id] > most) most = shapes[id]
}
END {
    for (i = 1; i <= n; i++) {
        if (!bad[order[i]] && shapes[order[i]] == most) { order[++m] = order[i]; continue }
        left_out = left_out (left_out == "" ? "" : ", ") order[i]
    }
    if (!m) exit
    for (i = 2; i <= m; i++)
        for (j = i; j > 1 && total[order[j]] < total[order[j - 1]]; j--) {
            t = order[j]; order[j] = order[j - 1]; order[j - 1] = t
        }
    printf "<svg viewBox=\"0 0 380 %d\" role=\"img\" aria-label=\"time of all shapes\">\n", 24 * m + 4
    for (i = 1; i <= m; i++) draw(i, 24 * i - 10, total[order[m]])
    print "</svg>"
    if (left_out != "") printf "<p class=\"note\">Not every shape, so not drawn: %s.</p>\n", escaped(left_out)
}
