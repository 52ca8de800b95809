# SPDX-License-Identifier: MIT
# Sums what cachegrind counted in one function. Prints, with tabs: instructions, reads and writes, misses
# of L1, misses of the last level.
#
#   awk -v symbol=NAME -f explain_count.awk CACHEGRIND_OUT
/^events:/ { for (i = 2; i <= NF; ++i) at[$i] = i; next }
/^fn=/ {
    name = substr($0, 4)
    inside = name == symbol || index(name, symbol ".") == 1
    next
}
inside && /^[0-9]/ {
    found = 1
    instructions += $at["Ir"]
    accesses += $at["Dr"] + $at["Dw"]
    l1 += $at["I1mr"] + $at["D1mr"] + $at["D1mw"]
    last += $at["ILmr"] + $at["DLmr"] + $at["DLmw"]
}
END {
    if (!found) {
        print "explain_count.awk: " symbol " was not called" >"/dev/stderr"
        exit 1
    }
    printf "%.0f\t%.0f\t%.0f\t%.0f\n", instructions, accesses, l1, last
}
