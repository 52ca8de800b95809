# SPDX-License-Identifier: MIT
# A GEMM_TRACE as a table: what each call is, by what it was computed, what it keeps, and why.
# `auto` says first why it took the row.
BEGIN {
    FS = ","
    print "| call | M,N,K | way | MFLOP | keeps KiB | why |"
    print "|---|---|---|---:|---:|---|"
}
FNR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i }
function column(name) { return $at[name] }
FNR > 1 {
    product = column("M") ? column("M") "," column("N") "," column("K") : ""
    flop = column("ms") * column("gflops")
    chosen = column("auto")
    why = chosen == "" || column("why") == "" ? chosen column("why") : chosen "; " column("why")
    printf "| %s | %s | %s | %.1f | %.0f | %s |\n", column("layer") == "" ? "multiply" : column("layer"), product,
        column("algorithm") == "" ? column("variant") : column("variant") " " column("algorithm"), flop,
        (column("kept") - kept) / 1024, why
    total += flop
    kept = column("kept")
}
END {
    printf "| together | | | %.1f | %.0f | |\n\n", total, kept / 1024
    print "call: filter/stride pad groups batch, and pool where a maxpool is computed with it. M,N,K: filters, places of the"
    print "output, weights of a filter. way: the variant and its algorithm. MFLOP: two operations a multiply-add, without"
    print "im2col. keeps: what stays in memory for later passes. why: the row that auto took and the times of its table, the"
    print "sides of hybrid, and the ways that were asked before, with the reason. 3.22 times as long as implicit: by the model"
    print "of Winograd's algorithm. docs/packed-ways.md has the ways of packed, docs/opencl.md those of cl."
}
