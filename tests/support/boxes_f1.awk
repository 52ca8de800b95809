# SPDX-License-Identifier: MIT
# boxes_f1.awk EXPECTED FOUND: how well the boxes of one output of `boxes` are those of another.
# A found box is right where an expected one of its picture and class, which no box took yet, overlaps
# it by an IoU of at least .5. The most certain boxes choose first. Prints "F1 RIGHT EXPECTED FOUND",
# with F1 = 2 RIGHT / (EXPECTED + FOUND), and 0 where EXPECTED has no box.
#   awk -f boxes_f1.awk EXPECTED FOUND

function least(a, b) { return a < b ? a : b }
function most(a, b) { return a > b ? a : b }

# The intersection over the union of two boxes.
function overlap(a, b,    w, h, both) {
    w = least(right[a], right[b]) - most(left[a], left[b])
    h = least(bottom[a], bottom[b]) - most(top[a], top[b])
    if (w <= 0 || h <= 0) return 0
    both = w * h
    return both / (area[a] + area[b] - both)
}

# Takes the expected box that overlaps b most. Returns whether there is one.
function take(b,    a, best, largest) {
    largest = .5
    for (a = 1; a <= n; ++a) {
        if (found[a] || taken[a] || key[a] != key[b] || overlap(a, b) < largest) continue
        largest = overlap(a, b)
        best = a
    }
    if (best) taken[best] = 1
    return best > 0
}

NF == 7 {
    found[++n] = FILENAME == ARGV[2]
    key[n] = $1 " " $2
    certain[n] = $3
    left[n] = $4; right[n] = $5; top[n] = $6; bottom[n] = $7
    area[n] = ($5 - $4) * ($7 - $6)
    if (found[n]) ++count; else ++expected
}
END {
    for (done = 0; done < count; ++done) {
        best = 0
        for (b = 1; b <= n; ++b)
            if (found[b] && !used[b] && (!best || certain[b] > certain[best])) best = b
        used[best] = 1
        hits += take(best)
    }
    printf "%.4f %d %d %d\n", expected ? 2 * hits / (expected + count) : 0, hits, expected, count
}
