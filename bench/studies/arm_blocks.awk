# SPDX-License-Identifier: MIT
# For arm.sh: reads the symbols of a program, then the blocks that ran. Prints a line for each block:
# its number, function, how often it ran, instructions. Writes their instructions to `code` as bytes
# for llvm-mc, with "hint #127" before each block. base: hexadecimal, added to each symbol.

function number(hex,    i, n) {
    hex = tolower(hex)
    for (i = 1; i <= length(hex); ++i) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return n
}
# The last symbol at or before an address.
function function_at(address,    low, high, middle) {
    low = 0; high = symbols + 1
    while (high - low > 1) {
        middle = int((low + high) / 2)
        if (at[middle] <= address) low = middle; else high = middle
    }
    return low && low < symbols ? name[low] : "elsewhere"
}

BEGIN { offset = number(base) }
NR == FNR {
    if ($2 !~ /^[tTwWvV]$/ && $3 != "_end" && $3 != "__bss_start") next
    if ($3 ~ /^\$/) next
    at[++symbols] = number($1) + offset
    name[symbols] = $3
    sub(/\.(constprop|isra|part).*/, "", name[symbols])
    next
}
{
    print blocks++, function_at(number($1)), $2, NF - 2
    line = "0xff 0x2f 0x03 0xd5"
    for (i = 3; i <= NF; ++i)
        line = line " 0x" substr($i, 7, 2) " 0x" substr($i, 5, 2) " 0x" substr($i, 3, 2) " 0x" substr($i, 1, 2)
    print line >code
}
