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
END { printf "| together | | | %.1f | %.0f | |\n", total, kept / 1024 }
