#!/bin/sh
# SPDX-License-Identifier: MIT
# gcc and clang compile every C file under -Wall -Wextra without a warning. Some warnings of gcc come
# from its optimizer, clang's do not, so clang makes no code. Those of Darknet's headers do not count.
#
# Where gcc built the release objects, it said its warnings then, with more optimization than here.
# They lie in FILE.said beside FILE.o (mk/flags.mk). gcc compiles the other files once more, because some
# take it 15 s.
. tests/support/lib.sh

# built_by_gcc: the configuration's objects have gcc's warnings, and no flag of the user's changes them
built_by_gcc()
{
    case " $(cat "$OUT/flags" 2>/dev/null) " in
    *' -O0 '* | *' -Og '* | *' -w '* | *' -Wno-'*) return 1 ;;
    ' gcc '*' -Wall -Wextra '*' -O2 '*) return 0 ;;
    esac
    return 1
}
built=no
! built_by_gcc || built=yes

# said_nothing FILE: the build has compiled it as it is now, without a word
said_nothing()
{
    object=$OUT/obj/${1%.c}
    [ "$object.o" -nt "$1" ] && [ "$object.said" -nt "$1" ] && [ ! -s "$object.said" ]
}

fake=-Itests/support/fake_forks/alexeyab/include
for compiler in 'gcc -O1 -S' 'clang -fsyntax-only'; do
    cc=${compiler%% *}
    for file in $(find src bench tests demo -name "*.c"); do
        name=warnings-$cc-$file
        if [ $cc$built = gccyes ] && said_nothing "$file"; then
            pass "$name"
            continue
        fi
        case $(uname -m)/$file in       # as mk/gemm.mk and setup/layers.sh have it
        x86_64/*_avx512.c) options='-mavx512f -mfma' ;;
        x86_64/*_avx512_bf16.c) options='-mavx512f -mavx512bw -mavx512bf16 -mfma' ;;
        x86_64/*_amx_bf16.c) options='-mavx512f -mavx512bw -mavx512bf16 -mfma -mamx-tile -mamx-bf16' ;;
        x86_64/*_avx512_int8.c) options='-mavx512f -mavx512bw -mavx512vnni' ;;
        x86_64/*_avxvnni_int8.c) options='-mavx2 -mavxvnni' ;;
        x86_64/*_avx2_int8.c) options=-mavx2 ;;
        aarch64/*_i8mm_int8.c) options=-march=armv8.2-a+i8mm ;;
        aarch64/*_neon_int8.c) options=-march=armv8.2-a+dotprod ;;
        aarch64/*_asimdhp_fp16.c) options=-march=armv8.2-a+fp16 ;;
        aarch64/*_neon_bf16.c) options=-march=armv8.2-a+bf16 ;;
        armv7l/*_neon32.c) options='-march=armv7-a -mfpu=neon' ;;
        armv7l/*_neon32_fma.c) options='-march=armv7-a -mfpu=neon-vfpv4' ;;
        x86_64/*_avx2.c) options='-mavx2 -mfma' ;;
        */src/hook/preload/elements.c | */src/hook/preload/patched.c | */src/hook/preload/wrapped.c) options="-DHOOK_PRELOAD -DHOOK_ALEXEYAB $fake" ;;
        */fake_forks/*.c) options=$fake ;;
        x86_64/src/hook/preload/* | aarch64/src/hook/preload/*) options=-DHOOK_PRELOAD ;;
        */src/hook/preload/*) continue ;;
        *) options= ;;
        esac
        if $compiler -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC $options -Isrc -Ibench -Itests \
            -isystem "$BUILD/darknet/include" -isystem "$BUILD/darknet/src" "$file" -o "$work/object" 2>"$work/output"; then
            pass "$name"
        else
            fail "$name" "$(grep -m 1 error "$work/output")"
        fi
    done
done

finish
