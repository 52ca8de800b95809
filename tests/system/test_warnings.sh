#!/bin/sh
# gcc and clang compile every C file under -Wall -Wextra without a warning.
. tests/support/lib.sh

for cc in gcc clang; do
    for file in $(find src bench tests demo -name "*.c"); do
        name=warnings-$cc-$file
        case $(uname -m)/$file in       # as mk/gemm.mk has it
        x86_64/*_avx512.c) isa='-mavx512f -mfma' ;;
        x86_64/*_avx2.c) isa='-mavx2 -mfma' ;;
        *) isa= ;;
        esac
        if $cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -fPIC $isa -Isrc -Ibench -Itests \
            "-I$BUILD/darknet/include" "-I$BUILD/darknet/src" -c "$file" -o "$work/object" 2>"$work/output"; then
            pass "$name"
        else
            fail "$name" "$(head -n 1 "$work/output")"
        fi
    done
done

finish
