# SPDX-License-Identifier: MIT
# Reads what Mesa's ir3 compiler disassembled of an OpenCL kernel for an Adreno, with
# IR3_SHADER_DEBUG=cs,disasm. Prints one line of tabs for the kernel named by -v kernel=NAME:
#
#   registers (of four floats), work-items resident on a shader processor, private loads and stores
#   in all, then of the hot loop: issue slots, multiply-adds, private loads and stores
#
# The hot loop is the innermost one with the most multiply-adds. Without such a loop the whole
# kernel counts. An instruction takes a slot for itself, N more with (rptN), and N more with (nopN).
# The last code of a kernel counts, which is the one without a global offset.
{ sub(/^MESA: info: /, "") }
/^decl_function __wrapped_/ {
    name = $2
    sub(/__wrapped_/, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
}
/^Native code/ { lines = 0; reading = 1; next }
reading && /^; CL prog .* full,/ {
    for (i = 2; i <= NF; ++i) if ($i ~ /^full,?$/) full = $(i - 1)
}
reading && /^; CL prog .* max_waves/ {
    for (i = 2; i <= NF; ++i) {
        if ($i ~ /^max_waves/) waves = $(i - 1)
        if ($i ~ /^double_threadsize/) wide = $(i - 1)
    }
    if (name == kernel) take()
}
reading && !/^[;@]/ && NF { code[++lines] = $0 }

# Keeps the code that was read last.
function take(    i)
{
    for (i = 1; i <= lines; ++i) kept[i] = code[i]
    kept_lines = lines
    registers = full
    items = waves * 64 * (wide ? 2 : 1)
}

# Counts lines first ... last into slots, mads, private.
function count(first, last,    i, line, repeat, nops)
{
    slots = mads = private = 0
    for (i = first; i <= last; ++i) {
        line = kept[i]
        if (line ~ /^ *l[0-9]+: *$/) continue
        repeat = match(line, /\(rpt[0-9]\)/) ? substr(line, RSTART + 4, 1) : 0
        nops = match(line, /\(nop[0-9]\)/) ? substr(line, RSTART + 4, 1) : 0
        slots += 1 + repeat + nops
        if (line ~ /[ )]mad\.f/ || line ~ /^mad\.f/) mads += 1 + repeat
        if (line ~ /stp|ldp/) ++private
    }
}

END {
    if (!kept_lines) {
        print "ir3_loop.awk: no code of " kernel " in the compiler's output" >"/dev/stderr"
        exit 1
    }
    for (i = 1; i <= kept_lines; ++i) {
        if (match(kept[i], /l[0-9]+: *$/)) {
            label = kept[i]
            gsub(/[ \t:]/, "", label)
            at[label] = i
        } else if (match(kept[i], /#l[0-9]+ *$/)) {
            label = substr(kept[i], RSTART + 1)
            sub(/ *$/, "", label)
            if (label in at) { from[++loops] = at[label]; to[loops] = i }
        }
    }
    count(1, kept_lines)
    all_private = private
    first = 1
    last = kept_lines
    most = 0
    for (l = 1; l <= loops; ++l) {
        inner = 1
        for (m = 1; m <= loops; ++m)
            if (m != l && from[m] >= from[l] && to[m] <= to[l]) inner = 0
        count(from[l], to[l])
        if (inner && mads > most) { most = mads; first = from[l]; last = to[l] }
    }
    count(first, last)
    printf "%d\t%d\t%d\t%d\t%d\t%d\n", registers, items, all_private, slots, mads, private
}
