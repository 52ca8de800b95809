# CSV or TSV (-v tab=1) to an HTML table of at most `most` rows.

function escaped(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}

# Fields of a CSV line, quotes undone, into field[]; returns how many.
function csv(line,    n, c, i, quoted) {
    split("", field)
    n = 1
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\"" && quoted && substr(line, i + 1, 1) == "\"") { field[n] = field[n] c; i++ }
        else if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) n++
        else field[n] = field[n] c
    }
    return n
}

BEGIN { print "<div class=\"wide\"><table>" }

function number(s) { return s ~ /^-?[0-9][0-9.e+-]*%?$/ }

# The heading waits for the first row, to stand right above numbers.
function print_heading(    i) {
    printf "<tr>"
    for (i = 1; i <= names; i++)
        printf "<th%s>%s</th>", number(field[i]) ? " class=\"n\"" : "", escaped(name_of[i])
    print "</tr>"
}
NR <= most + 1 {
    n = tab ? split($0, field, "\t") : csv($0)
    if (NR == 1) {
        names = n
        for (i = 1; i <= n; i++) name_of[i] = field[i]
        next
    }
    if (NR == 2) print_heading()
    printf "<tr>"
    for (i = 1; i <= n; i++)
        printf "<td%s>%s</td>", number(field[i]) ? " class=\"n\"" : "", escaped(field[i])
    print "</tr>"
}
END {
    print "</table></div>"
    if (NR > most + 1) printf "<p class=\"note\">%d more rows in %s.</p>\n", NR - most - 1, escaped(name)
}
