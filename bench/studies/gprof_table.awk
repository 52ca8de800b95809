# The table of `make gprof`: Markdown on standard output, the numbers in the file `tsv`.
#
#   awk -v tsv=FILE -f gprof_table.awk articles.tsv rows.tsv
#
# articles.tsv: source, row, its name there, value, unit; rows.tsv: as gprof_row.awk prints it.
# Speed-ups are over the row stock, where it was measured; the article's are over its own baseline.

BEGIN { FS = "\t" }
/^#/ { next }
FNR == NR { if ($1 == "004") article[$2] = $4; next }
{
    rows[++n] = $1
    symbol[$1] = $2; gemm[$1] = $3; calls[$1] = $4; total[$1] = $5; device[$1] = $6; others[$1] = $7
}

function quotient(a, b) { return (b > 0 ? a / b : 0) }
function ratio(a, b) { return (a > 0 && b > 0 ? sprintf("%.2f", a / b) : "-") }

END {
    base = article["mnk_acc"]
    print "| variant | symbol | s an image | share | calls | ms a call | gemm x stock | whole s | whole x stock | above 2% | device s (events) | gemm x mnk_acc | article's s | article's x mnk_acc |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    print "#row\tgemm\tother" >tsv
    for (i = 1; i <= n; ++i) {
        r = rows[i]
        seconds = (r in article) ? article[r] : "-"
        speedup = (r in article) ? ratio(base, article[r]) : "-"
        printf "| %s | %s | %.4f | %.1f%% | %d | %.3f | %s | %.4f | %s | %s | %s | %s | %s | %s |\n", r, symbol[r], gemm[r],
            100 * quotient(gemm[r], total[r]), calls[r], 1000 * quotient(gemm[r], calls[r]),
            ratio(gemm["stock"], gemm[r]), total[r], ratio(total["stock"], total[r]), others[r], device[r],
            ratio(gemm["mnk_acc"], gemm[r]), seconds, speedup
        printf "%s\t%s\t%.4f\n", r, gemm[r], total[r] - gemm[r] >tsv
    }
}
