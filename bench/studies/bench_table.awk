# From gemm-bench's CSV files, each called after its run, to the table of bench.sh.
# A run of several rounds, NAME-1.csv and up, counts with the median: of each shape's time where times are added up,
# of its ratio in each round where two rows are compared shape by shape, since what they met in one round was alike.
# Behind it stand the lowest and the highest value of a single round. (A run without rounds is round 1.)
function base(path) { sub(/.*\//, "", path); sub(/(-[0-9]+)?\.csv$/, "", path); return path }
function round_of(path) { return match(path, /-[0-9]+\.csv$/) ? substr(path, RSTART + 1) + 0 : 1 }
function median(list,    v, n, i, j, t) {
    n = split(list, v, " ")
    for (i = 2; i <= n; ++i)
        for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; --j) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return n % 2 ? v[(n + 1) / 2] + 0 : (v[n / 2] + v[n / 2 + 1]) / 2
}
function wanted(what, least, value, note) {
    what = what "|" least
    if (round == 0) { lines[++count] = what; middle[what] = value; notes[what] = note; return }
    if (value <= 0 || value >= NONE) return
    if (!(what in low) || value < low[what]) low[what] = value
    if (!(what in high) || value > high[what]) high[what] = value
}
function print_line(line,    part, value, text) {
    split(line, part, "|")
    value = middle[line]
    if (value <= 0 || value >= NONE) {
        printf "| %s | %s | not measured | | missed |\n", part[1], part[2]
        return
    }
    # two decimals, and a third where two would look like what was wanted
    text = sprintf("%.2f", value)
    if (value < part[2] && text + 0 >= part[2]) text = sprintf("%.3f", value)
    printf "| %s | %s | %s%s | %.2f to %.2f | %s |\n", part[1], part[2], text, notes[line], low[line], high[line],
        (value >= part[2] ? "met" : "missed")
}
# total times of rows over their shapes, weighted by calls; 0 when a shape is missing
function whole(key) { return (key in time) && !((key, round) in incomplete) }
function ratio(a, b) { return whole(a) && whole(b) ? time[a] / time[b] : 0 }
# ms[a] / ms[b] on one shape, 0 when either is missing; for round 0 the median of those of the rounds
function shape_ratio(a, b, s) {
    if (!((a, s) in ms) || !((b, s) in ms)) return 0
    if (round == 0) return median(ratios[a, b, s])
    ratios[a, b, s] = ratios[a, b, s] " " ms[a, s] / ms[b, s]
    return ms[a, s] / ms[b, s]
}
function threads(n) { return n " thread" (n > 1 ? "s" : "") }
function of_peak(key) { return whole(key) ? at_peak[key] / time[key] / 100 : 0 }
# the least shape_ratio, and its shape in `worst`
function least_ratio(run, a, b, skip,    i, r, least) {
    least = NONE
    for (i = 1; i <= shapes[run]; ++i) {
        if (shape[run, i] == skip) continue
        r = shape_ratio(a, b, shape[run, i])
        if (r > 0 && r < least) { least = r; worst = shape[run, i] }
    }
    return least
}

BEGIN { FS = ","; NONE = 1e30 }
FNR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; run = base(FILENAME); here = round_of(FILENAME); next }
$at["status"] != "ok" { print "bench: " $0 >"/dev/stderr"; next }
{
    impl = $at["impl"]
    sub(/\+(OPENBLAS|BLIS).*/, "", impl)
    sub(/\+GEMM_ISA.*/, "", impl)
    s = $at["M"] "x" $at["N"] "x" $at["K"]
    trans = run == "transposes" ? substr("NT", 1 + $at["TA"], 1) substr("NT", 1 + $at["TB"], 1) : ""
    key = run " " impl trans " " $at["threads"]
    if (!((run, s) in seen)) { seen[run, s] = 1; shape[run, ++shapes[run]] = s }
    if (!((key, s) in all_times)) {
        ++cells
        cell_key[cells] = key
        cell_shape[cells] = s
        calls[cells] = $at["calls"]
        # the best of the other libraries on this shape
        if (run == "shapes" && impl != "packed") best[cells] = run " best " $at["threads"]
    }
    all_times[key, s] = all_times[key, s] " " (times[key, s, here] = $at["median_ms"])
    all_peaks[key, s] = all_peaks[key, s] " " (peaks[key, s, here] = $at["peak_percent"])
    if (here > rounds) rounds = here
}
# the table's values for `round`, or for the median round, 0
function evaluate(    c, key, s, t, n, i, p, o, v, trans, first) {
    delete time
    delete at_peak
    delete ms
    for (c = 1; c <= cells; ++c) {
        key = cell_key[c]
        s = cell_shape[c]
        if (round > 0 && !((key, s, round) in times)) { incomplete[key, round]; continue }
        t = ms[key, s] = round == 0 ? median(all_times[key, s]) : times[key, s, round]
        time[key] += t * calls[c]
        at_peak[key] += t * calls[c] * (round == 0 ? median(all_peaks[key, s]) : peaks[key, s, round])
        if (c in best && (!((best[c], s) in ms) || t < ms[best[c], s])) ms[best[c], s] = t
    }
    first = "16x173056x27"
    for (n = 1; n <= 2; ++n) {
        p = "shapes packed " n
        o = "shapes onednn " n
        wanted("13 shapes, " threads(n) ", x oneDNN", n == 1 ? 1.08 : 1.05, ratio(o, p), "")
        wanted("the same, of the FMA peak", n == 1 ? 0.90 : 0.88, of_peak(p), "")
        wanted(first ", " threads(n) ", x oneDNN", 1.6, shape_ratio(o, p, first), "")
        v = least_ratio("shapes", "shapes best " n, p, first)
        wanted("each other shape, " threads(n) ", x the best library", 0.97, v, " (" worst ")")
    }
    v = least_ratio("squares", "squares onednn 1", "squares packed 1")
    wanted("squares 256 to 2048, x oneDNN", 0.95, v, " (" worst ")")
    for (i = 1; i <= 3; ++i) {
        trans = substr("NTTNTT", 2 * i - 1, 2)
        v = least_ratio("transposes", "transposes packedNN 1", "transposes packed" trans " 1")
        wanted(trans ", x its own NN", 0.85, v, " (" worst ")")
    }
    if ("avx2 packed 1" in time) {
        wanted("GEMM_ISA=avx2, of the AVX2 peak", 0.88, of_peak("avx2 packed 1"), "")
        wanted("GEMM_ISA=avx2, x stock OpenBLAS", 1, ratio("avx2 openblas 1", "avx2 packed 1"), "")
    }
    for (n = 1; n <= 2; ++n) {
        v = least_ratio("grouped", "grouped stock " n, "grouped packed " n)
        wanted("M = 1, K = 9, " threads(n) ", x stock", 2, v, " (" worst ")")
    }
}
END {
    for (round = 1; round <= rounds; ++round) evaluate()
    round = 0
    evaluate()
    print "| what | wanted | measured | single rounds | |"
    print "| --- | --- | --- | --- | --- |"
    for (i = 1; i <= count; ++i) print_line(lines[i])
}
