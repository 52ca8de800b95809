#!/bin/sh
# SPDX-License-Identifier: MIT
# gcc and clang compile every C file under -Wall -Wextra without a warning. Some warnings of gcc come
# from its optimizer, clang's do not, so clang makes no code. Those of Darknet's headers do not count.
. tests/support/lib.sh

fake=-Itests/support/fake_forks/alexeyab/include
for compiler in 'gcc -O1 -S' 'clang -fsyntax-only'; do
    cc=${compiler%% *}
    for file in $(find src bench tests demo -name "*.c"); do
        name=warnings-$cc-$file
        case $(uname -m)/$file in       # as mk/gemm.mk and setup/layers.sh have it
        x86_64/*_avx512.c | x86_64/*_avx512_fp16h.c) options='-mavx512f -mfma' ;;
        x86_64/*_avx512_bf16.c) options='-mavx512f -mavx512bw -mavx512bf16 -mfma' ;;
        x86_64/*_amx_bf16.c) options='-mavx512f -mavx512bw -mavx512bf16 -mfma -mamx-tile -mamx-bf16' ;;
        x86_64/*_avx2_fp16.c | x86_64/*_avx512_fp16.c) options='-mavx2 -mf16c' ;;
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
