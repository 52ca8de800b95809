# SPDX-License-Identifier: MIT
# A false Darknet, host_gemm.c, host_work.c and host_main.c: sourced behind lib.sh.
own='own loops 64 64 64 beta 1
own loops 64 50 40 beta 1
C 0 0'
right='C 64 40'
wrap=-Wl,--wrap=gemm,--wrap=gemm_cpu

# build_host CC: in $work, objects, the library that Python would load, and a program that loads it
build_host()
{
    for part in gemm work main; do
        $1 -std=c11 -D_GNU_SOURCE -Isrc -fPIC -O2 -c tests/support/host_$part.c -o "$work/$part.o"
    done
    $1 -shared "$work/gemm.o" "$work/work.o" -o "$work/libhost.so"
    $1 "$work/main.o" -o "$work/loading" -ldl
}

# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted '$2', got '$3'"; fi; }
