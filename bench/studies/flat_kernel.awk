# SPDX-License-Identifier: MIT
# A kernel's file as one text: a driver cannot find an #include, so the text of the file takes its
# place, once. -v folder=FOLDER: where those files are.
function embed(line,    part, path)
{
    if (line !~ /^#include "/) {
        print line
        return
    }
    split(line, part, "\"")
    path = folder "/" part[2]
    if (path in had) return
    had[path]
    while ((getline line < path) > 0) embed(line)
    close(path)
}
{ embed($0) }
