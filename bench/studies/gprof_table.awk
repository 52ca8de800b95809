# SPDX-License-Identifier: MIT
# The two tables of `make gprof`, as Markdown. The figures of the chart go to the file `tsv`.
#
#   awk -v tsv=FILE -f gprof_table.awk articles.tsv rows.tsv
#
# articles.tsv: source, row, its name there, value, unit. rows.tsv: as gprof_row.awk prints it.
# "x" is a speed-up.

BEGIN { FS = "\t" }
/^#/ { next }
FNR == NR { if ($1 == "004") article[$2] = $4; next }
{
    rows[++n] = $1
    symbol[$1] = $2; gemm[$1] = $3; calls[$1] = $4; total[$1] = $5; device[$1] = $6; others[$1] = $7
}

function quotient(a, b) { return (b > 0 ? a / b : 0) }
function gain(base, s) { return (base > 0 && s > 0 ? sprintf("%.0f%%", 100 * (base / s - 1)) : "-") }
function times(base, s) { return (base > 0 && s > 0 ? sprintf("%.2f", base / s) : "-") }

END {
    print "# Where the time of a detection goes, by gprof\n"
    print "Seconds an image, one thread. gemm: all functions of the variant.\n"
    on_device = 0
    for (i = 1; i <= n; ++i) on_device += device[rows[i]] != "-"
    print "| variant | whole s | whole x stock | gemm s | of it | gemm x stock |" (on_device ? " device s |" : "")
    print "|---|---:|---:|---:|---:|---:|" (on_device ? "---:|" : "")
    print "#row\tgemm\tother" >tsv
    for (i = 1; i <= n; ++i) {
        r = rows[i]
        printf "| %s | %.4f | %s | %.4f | %.1f%% | %s |", r, total[r], times(total["stock"], total[r]),
            gemm[r], 100 * quotient(gemm[r], total[r]), times(gemm["stock"], gemm[r])
        print on_device ? " " device[r] " |" : ""
        printf "%s\t%s\t%.4f\n", r, gemm[r], total[r] - gemm[r] >tsv
    }
    print "\nThe table of the article: the function with its seconds and its share of the whole, and how much faster"
    print "than mnk_acc it is. gemm: all functions of the variant, by the name of the one with the most time. Others: above"
    print "2%. The last two columns are the article\047s own, of its machine.\n"
    print "| variant | function | s an image | share | gain | article: s | article: gain |"
    print "|---|---|---:|---:|---:|---:|---:|"
    for (i = 1; i <= n; ++i) {
        r = rows[i]
        printf "| %s | %s | %.4f | %.1f%% | %s | %s | %s |\n", r, symbol[r], gemm[r], 100 * quotient(gemm[r], total[r]),
            gain(gemm["mnk_acc"], gemm[r]), r in article ? article[r] : "-", gain(article["mnk_acc"], article[r])
        others_of = split(others[r] == "-" ? "" : others[r], other, " ")
        for (k = 1; k <= others_of; ++k) {
            split(other[k], part, "=")
            printf "| | %s | %.4f | %.1f%% | | | |\n", part[1], part[2], 100 * quotient(part[2], total[r])
        }
    }
}
