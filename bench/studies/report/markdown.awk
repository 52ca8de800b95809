# Markdown, as this project's programs write it, to HTML: headings, tables, lists, fences, paragraphs,
# `code` and **bold**. Headings go down by `shift` levels.

function escaped(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}

# Every second piece between two marks stands inside them.
function marked(s, mark, tag,    n, i, piece, out) {
    n = split(s, piece, mark)
    out = piece[1]
    for (i = 2; i <= n; i++) {
        if (i % 2 == 0 && i < n) out = out "<" tag ">" piece[i] "</" tag ">"
        else if (i % 2 == 0) out = out "" piece[i]
        else out = out piece[i]
    }
    return out
}

function inline(s) {
    return marked(marked(escaped(s), "`", "code"), "[*][*]", "strong")
}

function leave() {
    if (block == "p") print "</p>"
    if (block == "ul") print "</ul>"
    if (block == "table") print "</table></div>"
    block = ""
}

function enter(what, open) {
    if (block == what) return
    leave()
    block = what
    print open
}

function cell_row(line, tag,    n, i, cell, class) {
    gsub(/^ *\| */, "", line)
    gsub(/ *\| *$/, "", line)
    n = split(line, cell, / *\| */)
    printf "<tr>"
    for (i = 1; i <= n; i++) {
        class = right[i] ? " class=\"n\"" : ""
        printf "<%s%s>%s</%s>", tag, class, inline(cell[i]), tag
    }
    print "</tr>"
}

# A heading row waits for the line below it, which says how columns are aligned.
function table_row(line,    n, i, cell) {
    if (block != "table") {
        enter("table", "<div class=\"wide\"><table>")
        heading = line
        return
    }
    if (heading != "" && line ~ /^[ |:-]+$/) {
        gsub(/^ *\| *| *\| *$/, "", line)
        n = split(line, cell, / *\| */)
        split("", right)
        for (i = 1; i <= n; i++) right[i] = cell[i] ~ /-:$/
        cell_row(heading, "th")
        heading = ""
        return
    }
    cell_row(line, "td")
}

/^```/ { fence = !fence; leave(); print fence ? "<pre>" : "</pre>"; next }
fence { print escaped($0); next }
/^ *$/ { leave(); next }
/^#+ / {
    leave()
    level = index($0, " ") - 1 + shift
    printf "<h%d>%s</h%d>\n", level, inline(substr($0, index($0, " ") + 1)), level
    next
}
/^\|/ { table_row($0); next }
/^- / { enter("ul", "<ul>"); print "<li>" inline(substr($0, 3)) "</li>"; next }
{ enter("p", "<p>"); print inline($0) }
END { if (fence) print "</pre>"; leave() }
