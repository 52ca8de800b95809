# SPDX-License-Identifier: MIT
# The tables of `make explain`, from what was counted and measured.
#
#   awk -F '\t' -v shape=M,N,K -v tsv=FILE -f explain_table.awk \
#       kind=article articles.tsv kind=cache caches kind=time times kind=count counts
#
# times   row, ns a multiply-add
# counts  row, floats a multiply, cache, and what explain_count.awk prints
#
# Prints Markdown. FILE gets a line for each row and cache.
/^#/ { next }
kind == "article" { if ($1 == "003") theirs[$2] = $4; next }
kind == "cache" {
    caches[++cache_count] = $1
    size[$1] = $2 " " $3 " " $4
    instruction_cost[$1] = $5; l1_cost[$1] = $6; last_cost[$1] = $7
    next
}
kind == "time" { measured[$1] = $2; next }
kind == "count" {
    if (!($1 in floats)) rows[++row_count] = $1
    floats[$1] = $2
    instructions[$1, $3] = $4; accesses[$1, $3] = $5; l1[$1, $3] = $6; last[$1, $3] = $7
}

function predict(r, c)
{
    return (instruction_cost[c] * instructions[r, c] + l1_cost[c] * l1[r, c] + \
            last_cost[c] * last[r, c]) / multiply_adds
}

# The rank of each row that has a value in both x and y, ties as their mean: rank[r]. Returns how many.
function rank_rows(x, y, rank,    i, j, n, below, same)
{
    n = 0
    split("", rank)
    for (i = 1; i <= row_count; ++i) {
        if (!(rows[i] in x) || !(rows[i] in y)) continue
        ++n
        below = same = 0
        for (j = 1; j <= row_count; ++j) {
            if (!(rows[j] in x) || !(rows[j] in y)) continue
            if (x[rows[j]] < x[rows[i]]) ++below
            else if (x[rows[j]] == x[rows[i]]) ++same
        }
        rank[rows[i]] = below + (same + 1) / 2
    }
    return n
}

# Spearman's rank correlation over the rows that have both.
function correlation(x, y,    a, b, n, r, mean, up, left, right)
{
    n = rank_rows(x, y, a)
    rank_rows(y, x, b)
    mean = (n + 1) / 2
    for (r in a) {
        up += (a[r] - mean) * (b[r] - mean)
        left += (a[r] - mean) ^ 2
        right += (b[r] - mean) ^ 2
    }
    return left > 0 && right > 0 ? sprintf("%.2f (%d rows)", up / sqrt(left * right), n) : "-"
}

function or_dash(values, r, format) { return r in values ? sprintf(format, values[r]) : "-" }

# What limits a row: the largest part of its predicted time, and why it is large.
function limit(r, c,    all, misses, far)
{
    all = predict(r, c) * multiply_adds
    misses = l1_cost[c] * l1[r, c]
    far = last_cost[c] * last[r, c]
    if (misses + far > all / 2)
        return sprintf("Misses are %.0f%% of its time: one access in %.1f leaves L1.",
                       100 * (misses + far) / all, accesses[r, c] / l1[r, c])
    if (floats[r] < 2)
        return sprintf("Instructions: a multiply takes one float, and %.1f instructions go with it.",
                       instructions[r, c] / multiply_adds)
    if (accesses[r, c] * floats[r] > 2 * multiply_adds)
        return sprintf("Loads and stores: %.1f for each vector of %.1f floats.",
                       accesses[r, c] * floats[r] / multiply_adds, floats[r])
    return sprintf("Instructions: %.1f for each vector of %.1f floats.",
                   instructions[r, c] * floats[r] / multiply_adds, floats[r])
}

function print_caches(    i, c)
{
    print "\n| cache | instructions, data, last level: bytes, ways, bytes a line | cycles: an" \
          " instruction, a miss of L1, of the last level | predicted and measured here | predicted" \
          " and the article's |"
    print "|---|---|---|---|---|"
    for (i = 1; i <= cache_count; ++i) {
        c = caches[i]
        for (j = 1; j <= row_count; ++j) guess[rows[j]] = predict(rows[j], c)
        printf "| %s | %s | %s, %s, %s | %s | %s |\n", c, size[c], instruction_cost[c], l1_cost[c],
            last_cost[c], correlation(guess, measured), correlation(guess, theirs)
    }
    printf "\nMeasured here and the article's: %s.\n", correlation(measured, theirs)
}

function print_here(    i, r, c)
{
    c = caches[1]
    print "\n## Here\n"
    print "| row | instructions a multiply-add | accesses | floats a multiply | misses of L1 a" \
          " thousand | of the last level | predicted cycles | rank | measured ns | rank | the" \
          " article's rank | what limits it |"
    print "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    for (i = 1; i <= row_count; ++i) {
        r = rows[i]
        printf "| %s | %.3f | %.3f | %s | %.2f | %.3f | %.3f | %s | %s | %s | %s | %s |\n", r,
            instructions[r, c] / multiply_adds, accesses[r, c] / multiply_adds, floats[r],
            1000 * l1[r, c] / multiply_adds, 1000 * last[r, c] / multiply_adds, predict(r, c),
            place[r, c], or_dash(measured, r, "%.3f"), or_dash(measured_rank, r, "%s"),
            or_dash(their_rank, r, "%s"), limit(r, c)
    }
}

function print_others(    i, k, r, c)
{
    print "\n## Under other caches\n"
    print "Misses of L1 and of the last level a thousand multiply-adds, predicted cycles, rank.\n"
    printf "| row |"
    for (k = 2; k <= cache_count; ++k) printf " %s | | | |", caches[k]
    printf "\n|---|"
    for (k = 2; k <= cache_count; ++k) printf "---:|---:|---:|---:|"
    print ""
    for (i = 1; i <= row_count; ++i) {
        r = rows[i]
        printf "| %s |", r
        for (k = 2; k <= cache_count; ++k) {
            c = caches[k]
            printf " %.2f | %.3f | %.3f | %s |", 1000 * l1[r, c] / multiply_adds,
                1000 * last[r, c] / multiply_adds, predict(r, c), place[r, c]
        }
        print ""
    }
}

function print_tsv(    i, k, r, c)
{
    print "#row\tcache\tinstructions\taccesses\tfloats\tl1\tlast\tpredicted\trank\tmeasured_ns" \
          "\tmeasured_rank\tarticle\tarticle_rank" >tsv
    for (i = 1; i <= row_count; ++i) {
        for (k = 1; k <= cache_count; ++k) {
            r = rows[i]
            c = caches[k]
            printf "%s\t%s\t%.4f\t%.4f\t%s\t%.4f\t%.4f\t%.4f\t%s\t%s\t%s\t%s\t%s\n", r, c,
                instructions[r, c] / multiply_adds, accesses[r, c] / multiply_adds, floats[r],
                1000 * l1[r, c] / multiply_adds, 1000 * last[r, c] / multiply_adds, predict(r, c),
                place[r, c], or_dash(measured, r, "%s"), or_dash(measured_rank, r, "%s"),
                or_dash(theirs, r, "%s"), or_dash(their_rank, r, "%s") >tsv
        }
    }
}

END {
    split(shape, side, ",")
    multiply_adds = side[1] * side[2] * side[3]
    for (k = 1; k <= cache_count; ++k) {
        for (i = 1; i <= row_count; ++i) guess[rows[i]] = predict(rows[i], caches[k])
        rank_rows(guess, guess, rank)
        for (i = 1; i <= row_count; ++i) place[rows[i], caches[k]] = rank[rows[i]]
    }
    rank_rows(measured, guess, measured_rank)
    rank_rows(theirs, guess, their_rank)
    print "# Why a loop is fast\n"
    print "M,N,K = " shape ", one thread. Instructions, accesses and misses are counted by cachegrind" \
          " in the row's own function, as it was compiled for this machine. They do not vary. A" \
          " correlation is Spearman's. The article's ranks are among its own rows, on its machine."
    print_caches()
    print_here()
    print_others()
    print_tsv()
}
