# SPDX-License-Identifier: MIT
# A GEMM_TRACE as a table: what each call is, by what it was computed, what it keeps, and why.
BEGIN {
    FS = ","
    print "| call | M,N,K | way | MFLOP | keeps KiB | why |"
    print "|---|---|---|---:|---:|---|"
}
FNR > 1 {
    product = $4 ? $4 "," $5 "," $6 : ""
    flop = $7 * $8
    printf "| %s | %s | %s | %.1f | %.0f | %s |\n", $13 == "" ? "multiply" : $13, product,
        $14 == "" ? $1 : $1 " " $14, flop, ($17 - kept) / 1024, $16
    total += flop
    kept = $17
}
END {
    printf "| together | | | %.1f | %.0f | |\n\n", total, kept / 1024
    print "call: filter/stride pad groups batch, and pool where a maxpool is computed with it. M,N,K: filters, places of the"
    print "output, weights of a filter. way: the variant and its algorithm. MFLOP: two operations a multiply-add, without"
    print "im2col. keeps: what stays in memory for later passes. why: the ways that were asked before, and why they were"
    print "not taken. 3.22 times as long as implicit: by the model of Winograd's algorithm. docs/packed-ways.md has the ways."
}
