# The table of `make gprof`, as Markdown. The figures of the chart go to the file `tsv`.
#
#   awk -v tsv=FILE -f gprof_table.awk articles.tsv rows.tsv
#
# articles.tsv: source, row, its name there, value, unit. rows.tsv: as gprof_row.awk prints it.
# "x" is a speed-up. Those of the last two columns are the article's, over its own baseline.

BEGIN { FS = "\t" }
/^#/ { next }
FNR == NR { if ($1 == "004") article[$2] = $4; next }
{
    rows[++n] = $1
    symbol[$1] = $2; gemm[$1] = $3; calls[$1] = $4; total[$1] = $5; device[$1] = $6; others[$1] = $7
}

function quotient(a, b) { return (b > 0 ? a / b : 0) }
function times(base, s) { return (base > 0 && s > 0 ? sprintf("%.2f", base / s) : "-") }

END {
    print "# Where the time of a detection goes, by gprof\n"
    print "Seconds an image, one thread. The two columns of the article are not measured here.\n"
    printf "| variant | symbol | gemm s | share | calls | ms a call | gemm x stock | whole s |"
    printf " whole x stock | above 2%% | device s (events) | gemm x mnk_acc | article's s |"
    print " article's x mnk_acc |"
    print "|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|"
    print "#row\tgemm\tother" >tsv
    for (i = 1; i <= n; ++i) {
        r = rows[i]
        printf "| %s | %s | %.4f | %.1f%% | %d | %.3f | %s |", r, symbol[r], gemm[r],
            100 * quotient(gemm[r], total[r]), calls[r], 1000 * quotient(gemm[r], calls[r]),
            times(gemm["stock"], gemm[r])
        printf " %.4f | %s | %s | %s |", total[r], times(total["stock"], total[r]), others[r],
            device[r]
        printf " %s | %s | %s |\n", times(gemm["mnk_acc"], gemm[r]),
            r in article ? article[r] : "-", times(article["mnk_acc"], article[r])
        printf "%s\t%s\t%.4f\n", r, gemm[r], total[r] - gemm[r] >tsv
    }
}
