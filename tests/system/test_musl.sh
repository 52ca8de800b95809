#!/bin/sh
# SPDX-License-Identifier: MIT
# The libraries with musl instead of glibc, as on Alpine: linked, opened late, and before a host. -O0, because
# only the C library is tested here.
#
#   tests/system/test_musl.sh
. tests/support/lib.sh
unset MAKEFLAGS DARKNET_SRC CFLAGS CPPFLAGS LDFLAGS LDLIBS

if ! command -v musl-gcc >/dev/null; then
    skip musl 'no musl-gcc (Debian: musl-tools)'
    finish
fi
out=$work/build/debug-nocl
check musl-builds env -u MAKELEVEL make INSTALL=0 DEBUG=1 OPENCL=0 CC=musl-gcc "BUILD=$work/build" \
    "$out/libdarknet-gemm.so" "$out/libdarknet-layers.so"
musl-gcc -Isrc examples/multiply/multiply.c -L"$out" -ldarknet-gemm -Wl,-rpath,"$out" -o "$work/multiply"
for row in stock packed auto; do
    GEMM_IMPL=$row expect "musl-multiplies-$row" '57 66 129 150' "$work/multiply"
done
cat >"$work/open.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    if (argc > 1 && dlopen(argv[1], RTLD_NOW)) return 0;
    puts(dlerror());
    return 1;
}
END
musl-gcc "$work/open.c" -o "$work/open"
for library in gemm layers; do check "musl-opens-$library" "$work/open" "$out/libdarknet-$library.so"; done
finish
