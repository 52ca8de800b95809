# SPDX-License-Identifier: MIT
# Prints how many floats the multiplies of one function take on average, by how often each ran.
#
#   awk -v symbol=NAME -f explain_floats.awk CALLGRIND_OUT DISASSEMBLY
#
# CALLGRIND_OUT has counts by instruction (--dump-instr=yes, nothing compressed), DISASSEMBLY is that of
# `objdump -d`. A multiply is a mul or a fused multiply-add of floats, of x86-64 or arm64.
function is_symbol(name) { return name == symbol || index(name, symbol ".") == 1 }

function address(text) { sub(/^0x/, "", text); sub(/^0+/, "", text); return text }

# Floats of an x86 instruction: one, or as many as its widest register holds.
function x86_floats(text)
{
    if (text !~ /^[a-z0-9]+ps/) return 1
    return text ~ /%zmm/ ? 16 : text ~ /%ymm/ ? 8 : 4
}

FNR == NR {
    if (/^fn=/) inside = is_symbol(substr($0, 4))
    else if (/^calls=/) skip = 1
    else if (/^0x/) {
        if (inside && !skip) ran[address($1)] += $3
        skip = 0
    }
    next
}

/^[0-9a-f]+ <.*>:$/ {
    name = $2
    gsub(/[<>:]/, "", name)
    inside = is_symbol(name)
    next
}
inside && split($0, part, "\t") >= 3 {
    where = part[1]
    gsub(/[ :]/, "", where)
    where = address(where)
    text = part[3]
    if (text ~ /^v?(mul|fn?m(add|sub)[0-9]*)[ps]s/) floats = x86_floats(text)
    else if (text ~ /^(fmul|fmla|fmls|fmadd|fmsub|fnmul)/ || text ~ /^(fnmadd|fnmsub)/)
        floats = part[4] ~ /\.4s/ ? 4 : part[4] ~ /\.2s/ ? 2 : 1
    else next
    multiplies += ran[where]
    sum += floats * ran[where]
}

END {
    if (!multiplies) {
        print "explain_floats.awk: " symbol ": no multiply ran" >"/dev/stderr"
        exit 1
    }
    printf "%.2f\n", sum / multiplies
}
