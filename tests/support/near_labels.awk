# SPDX-License-Identifier: MIT
# near_labels.awk EXPECTED FOUND: whether two outputs of `darknet detect` agree within POINTS per cent.
# In each picture the n-th most certain box of a class is compared with that of the other output. A
# box that only one of them has may be POINTS above the threshold of 50 per cent at most. Prints what
# differs; ends with status 1 where anything does, or where EXPECTED has no box.
#   awk -v POINTS=3 -f near_labels.awk EXPECTED FOUND

{ side = FILENAME == ARGV[2] }
!/: [0-9]+%$/ { picture = $0; next }
{
    class = $0
    sub(/: [0-9]+%$/, "", class)
    key = picture "\t" class
    value = $NF + 0
    keys[key] = 1
    n = ++count[side, key]
    for (; n > 1 && box[side, key, n - 1] < value; --n) box[side, key, n] = box[side, key, n - 1]
    box[side, key, n] = value
    if (!side) ++expected
}
END {
    for (key in keys) {
        most = count[0, key] > count[1, key] ? count[0, key] : count[1, key]
        for (n = 1; n <= most; ++n) {
            a = n <= count[0, key] ? box[0, key, n] : 50
            b = n <= count[1, key] ? box[1, key, n] : 50
            if (a - b <= POINTS && b - a <= POINTS) continue
            printf "%s: %s%% and %s%%\n", key, box[0, key, n], box[1, key, n]
            differs = 1
        }
    }
    if (!expected) print "no box is expected"
    exit differs || !expected
}
