# All A/B summaries (their JSON, as ab writes it: a key and its value on one line) as one drawing:
# B's time over A's with its interval on a logarithmic scale, coloured by verdict.

function escaped(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}

function text_of(key,    s) {
    s = $0
    if (!sub(".*\"" key "\": \"", "", s)) return ""
    sub(/".*/, "", s)
    return s
}

function number_of(key,    s) {
    s = $0
    if (!sub(".*\"" key "\": ", "", s)) return ""
    sub(/[,} ].*/, "", s)
    return s == "null" ? "" : s + 0
}

function scaled(v) { return 12 + 356 * log(v / low) / log(high / low) }

function row(i, top,    class) {
    class = verdict[i] == "faster" ? "good" : verdict[i] == "slower" ? "bad" : "none"
    printf "<text x=\"12\" y=\"%d\">%s <tspan class=\"dim\">against</tspan> %s <tspan class=\"dim\">%s</tspan></text>\n",
        top, escaped(b[i]), escaped(a[i]), escaped(net[i])
    printf "<path d=\"M%.1f %dH%.1f\" class=\"bar %s\"/>", scaled(from[i]), top + 11, scaled(to[i]), class
    printf "<circle cx=\"%.1f\" cy=\"%d\" r=\"4.5\" class=\"dot %s\"/>", scaled(ratio[i]), top + 11, class
    printf "<text x=\"368\" y=\"%d\" text-anchor=\"end\" class=\"%s\">%s</text>\n", top, class, verdict[i]
}

FNR == 1 { file++ }
/^  "a": / { side_a = text_of("a") }
/^  "b": / { side_b = text_of("b") }
/^  "cfg": / { cfg = text_of("cfg"); sub(/.*\//, "", cfg); sub(/\.cfg$/, "", cfg) }
/^    "predicted": / { inner = 1 }
/^    "wall": / { inner = 0 }
inner && /"ratio": / { r = number_of("ratio"); lo = number_of("ratio_low"); hi = number_of("ratio_high") }
inner && /"verdict": / && r != "" && lo != "" && hi != "" && lo > 0 {
    n++
    a[n] = side_a; b[n] = side_b; net[n] = cfg
    ratio[n] = r; from[n] = lo; to[n] = hi
    verdict[n] = text_of("verdict")
    if (verdict[n] == "none") verdict[n] = "not finished"
    if (verdict[n] == "void") verdict[n] = "void: results differ"
    if (n == 1 || lo < low) low = lo
    if (n == 1 || hi > high) high = hi
}
END {
    if (!n) exit
    low = (low < 0.8 ? low : 0.8) / 1.05
    high = (high > 1.25 ? high : 1.25) * 1.05
    height = 40 * n + 34
    printf "<svg viewBox=\"0 0 380 %d\" role=\"img\" aria-label=\"time of B over time of A\">\n", height
    m = split("0.01 0.02 0.05 0.1 0.2 0.3 0.5 0.7 0.8 0.9 1 1.1 1.25 1.5 2 3 5 10 20 50 100", tick, " ")
    for (i = 1; i <= m; i++) {
        if (tick[i] < low || tick[i] > high) continue
        x = scaled(tick[i])
        if (tick[i] != 1 && (x - last < 30 || x - scaled(1) < 30 && scaled(1) - x < 30)) continue
        last = x
        printf "<path d=\"M%.1f 4V%d\" class=\"%s\"/>", scaled(tick[i]), height - 26, tick[i] == 1 ? "one" : "grid"
        printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", scaled(tick[i]), height - 14, tick[i]
    }
    for (i = 1; i <= n; i++) row(i, 40 * i - 20)
    printf "<text x=\"190\" y=\"%d\" text-anchor=\"middle\" class=\"dim\">time of B over time of A, 95%% interval</text>\n", height - 2
    print "</svg>"
}
