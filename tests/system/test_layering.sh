#!/bin/sh
# SPDX-License-Identifier: MIT
# The layers of src/: includes point downwards only, the objects need each other in no circle, one
# object reads the environment, and only the driver ends the program. No line of C is longer than 100.
# Thread-local variables need no memory.
. tests/support/lib.sh

# A room is a folder of src/ with its files, or the files src/<room>.[ch]. After the colon come the rooms that it
# may include.
# - contract: gemm_dispatch.h and gemm_variant.h
# - lib: libdarknet-gemm, with its public header darknet_gemm.h
# - op: what the kinds of ops have in common, for who works on all kinds alike
# - kernels: headers of kernels/, which OpenCL C and C share
# - hook: compiled by the patched Darknet's Makefile, so it alone includes a host's headers (`host`)
# - gemm_opt: also the files of src/opt
# - gemm_cl: also src/cl/none.c, which replaces gemm_cl.c in a build without OpenCL
directions='
util:
contract:  kernels
op:       contract util
gemm_opt: contract util
int8:     contract util
packed/isa:   contract util int8 kernels
packed/gemm:  contract util packed/isa
packed:       contract util packed/isa packed/gemm
packed/conv:  contract util packed/isa packed/gemm packed
packed/half:  contract util packed/isa packed/gemm packed packed/conv packed/chain
packed/int8:  contract util int8 packed/isa packed/gemm packed packed/conv packed/chain
packed/chain: contract util packed/isa packed/gemm packed packed/conv
ref:      contract util
cl:        contract util
cl/device: contract util op cl kernels
cl/memory: contract util cl cl/device
cl/op:     contract util int8 cl cl/device cl/memory kernels
tune:      contract util op cl
cl/tune:   contract util op tune cl cl/device cl/op
cl/trial: contract util op int8 check cl cl/device cl/memory cl/op kernels
gemm_cl:  contract util int8 cl cl/device cl/memory cl/op cl/tune cl/trial
hybrid:   contract util op
check:    contract util op int8
auto:     contract util op tune cl
calibrate: contract util op int8
driver:   contract util op int8 gemm_opt packed packed/isa packed/half packed/int8 packed/chain ref cl gemm_cl hybrid check tune auto calibrate
lib:      contract util driver
hook:     contract host
hook/preload: contract host hook util lib kernels
python:   contract host hook util op driver
'

# "FILE INCLUDED" a line, both below src/, or the second one below kernels/.
includes()
{
    (cd src && grep -rHo --include='*.[ch]' '^#include "[^"]*"' .) |
        sed 's|^\./||; s|:#include "| |; s|"$||; s| \(\.\./\)*kernels/| kernels/|'
}

# "FROM ... SYMBOL" a line, by nm. Only objects that have a source: an old build may hold others.
symbols()
{
    (cd src && find . -name '*.c') | sed 's|^\./||; s|\.c$||' | while read -r name; do
        [ ! -f "$OUT/obj/src/$name.o" ] || nm "$OUT/obj/src/$name.o" | sed "s|^|$name |"
    done
}

# "FROM TO" a line: an object needs a symbol that another one defines.
needs()
{
    awk '
        NF == 4 && $3 ~ /[A-TV-Z]/ { owner[$4] = $1 }
        NF == 3 && $2 == "U" { user[++n] = $1; symbol[n] = $3 }
        END {
            for (i = 1; i <= n; ++i)
                if (symbol[i] in owner && owner[symbol[i]] != user[i]) print user[i], owner[symbol[i]]
        }' "$work/symbols" | sort -u
}

# users SYMBOL...: the objects that need one of these
users()
{
    awk -v wanted=" $* " '
        NF == 3 && $2 == "U" && index(wanted, " " $3 " ") { print $1 }' "$work/symbols" | sort -u
}

# expect_nothing NAME FILE: the file must be empty
expect_nothing()
{
    if [ -s "$2" ]; then fail "$1" "$(cat "$2")"; else pass "$1"; fi
}

# ---- Includes ----
includes >"$work/includes"
echo "$directions" | awk '
    function room(file) {
        if (file ~ /^gemm_(dispatch|variant)\.h$/) return "contract"
        if (file == "cl/none.c") return "gemm_cl"
        if (file ~ /^opt\//) return "gemm_opt"
        if (file ~ /^(darknet|activations|utils)\.h$/) return "host"
        if (file == "darknet_gemm.h") return "lib"
        if (!sub(/\/[^\/]*$/, "", file)) sub(/\.[ch]$/, "", file)
        return file
    }
    FNR == NR {
        if (!NF) next
        sub(/:$/, "", $1)
        known[$1] = 1
        for (i = 2; i <= NF; ++i) may[$1, $i] = 1
        next
    }
    {
        from = room($1)
        to = room($2)
        if (!(from in known)) print $1 " is in no room of the list"
        else if (from != to && !((from, to) in may)) print $1 " includes " $2
    }' - "$work/includes" >"$work/upwards"
expect_nothing includes-point-downwards "$work/upwards"

# x.c and x.h count as one file, because x.h declares what x.c needs.
sed 's/\.[ch] / /; s/\.[ch]$//' "$work/includes" | awk '$1 != $2' | sort -u >"$work/modules"
tsort "$work/modules" >/dev/null 2>"$work/circle"
expect_nothing includes-without-circle "$work/circle"

# ---- Objects ----
symbols >"$work/symbols"
needs >"$work/needs"
if [ "$(grep -c '^driver/' "$work/needs")" -ge 10 ] && [ "$(wc -l <"$work/needs")" -ge 30 ]; then
    pass objects-found
else
    fail objects-found "$(wc -l <"$work/needs") needs among the objects in $OUT/obj/src: too few"
fi
tsort "$work/needs" >/dev/null 2>"$work/circle"
expect_nothing objects-without-circle "$work/circle"

users getenv secure_getenv environ __environ >"$work/readers"
if [ "$(cat "$work/readers")" = driver/settings ]; then
    pass environment-read-once
else
    fail environment-read-once "it is read by: $(tr '\n' ' ' <"$work/readers")"
fi

find src bench tests kernels -name '*.[ch]' -o -name '*.cl' -o -name '*.cpp' |
    xargs awk 'length > 100 { print FILENAME ":" FNR }' >"$work/long"
expect_nothing lines-of-100 "$work/long"

# docs/development.md says which: "Adding an activation".
grep -rlE '(CONV_|BEHIND\(|A\()RELU6\>' src kernels tests bench | sort >"$work/activation"
if [ "$(tr '\n' ' ' <"$work/activation")" = 'kernels/cl_activations.h src/gemm_dispatch.h src/hook/activation_names.h tests/support/activated.c ' ]; then
    pass activation-in-four-files
else
    fail activation-in-four-files "RELU6 is in: $(tr '\n' ' ' <"$work/activation")"
fi

users exit _exit abort gemm_die | grep -v '^driver/\|^util/die$' >"$work/enders"
expect_nothing only-the-driver-ends-the-program "$work/enders"

# A thread-local variable that asks malloc at its first use ends a host without memory (util/own.h).
(cd src && find . -name '*.c') | sed 's|^\./||; s|\.c$||' | while read -r name; do
    [ ! -f "$OUT/obj/src/$name.o" ] || readelf -rW "$OUT/obj/src/$name.o" | sed "s|^|$name |"
done >"$work/relocations"
awk '/_(TLSGD|TLSLD|GOTPC32_TLSDESC|TLSDESC|TLSGD_ADR|TLSDESC_ADR)/ { print $1, $4, $6 }' "$work/relocations" |
    sort -u >"$work/late"
expect_nothing thread-locals-without-malloc "$work/late"
if grep -q '_GOTTPOFF\|TLSIE_' "$work/relocations"; then
    pass thread-locals-found
else
    fail thread-locals-found "no object in $OUT/obj/src has a thread-local variable"
fi

finish
