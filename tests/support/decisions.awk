# SPDX-License-Identifier: MIT
# A GEMM_TRACE as one line: the way of each call with weights, or its kernel where it has no way.
# What comes several times in turn has a number in front.
#
#   awk -v name='VARIANT ISA NETWORK' -f decisions.awk TRACE
BEGIN { FS = "," }
NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
{
    way = $column["algorithm"]
    kernel = $column["variant"]
    gsub(/ /, "_", kernel)
    if ($column["M"] + 0 || kernel !~ /^packed/) add(way == "" ? kernel : kernel ~ /^packed/ ? way : way ":" kernel)
}
END { flush(); print name line }
function add(what)
{
    if (what != last) flush()
    last = what
    ++times
}
function flush()
{
    if (times) line = line " " (times > 1 ? times "*" : "") last
    times = 0
}
