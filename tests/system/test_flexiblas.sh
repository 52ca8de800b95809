#!/bin/sh
# SPDX-License-Identifier: MIT
# libdarknet-gemm.so as a backend of FlexiBLAS, by the recipe of docs/any-darknet.md: sgemm is ours, and the rest is
# FlexiBLAS's own. Debian 12 has no package of it, so `make test ON=forks FLEXIBLAS=libflexiblas.so` runs this
# where it is at hand.
#
#   tests/system/test_flexiblas.sh LIBFLEXIBLAS
. tests/support/lib.sh
flexiblas=$1
: "${CC:=gcc}"
cat >"$work/main.c" <<'END_OF_C'
#include <stdio.h>
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *);
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
double ddot_(const int *, const double *, const int *, const double *, const int *);
int main(void)
{
    const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, one = 1, zero = 0;
    const double x[] = {1, 2}, y[] = {3, 4};
    const int two = 2, step = 1;
    float c[4] = {0}, d[4] = {0};
    sgemm_("N", "N", &two, &two, &two, &one, a, &two, b, &two, &zero, c, &two);
    cblas_sgemm(101, 111, 111, 2, 2, 2, 1, a, 2, b, 2, 0, d, 2);
    printf("%g %g %g %g, %g %g %g %g, %g\n", c[0], c[1], c[2], c[3], d[0], d[1], d[2], d[3],
           ddot_(&two, x, &step, y, &step));
    return 0;
}
END_OF_C
right='23 34 31 46, 19 22 43 50, 11'
check flexiblas-links $CC "$work/main.c" "$flexiblas" -Wl,-rpath,"$(dirname "$(readlink -f "$flexiblas")")" -o "$work/main"

# answer_is NAME BACKEND: and leaves the trace
answer_is()
{
    answer=$(FLEXIBLAS=$2 GEMM_TRACE=$work/trace "$work/main" 2>"$work/error")
    if [ "$answer" = "$right" ]; then pass "$1"; else fail "$1" "'$answer' $(tail -n 1 "$work/error")"; fi
}
answer_is flexiblas-alone NETLIB
check flexiblas-alone-is-not-ours [ ! -e "$work/trace" ]
own=$(dirname "$(readlink -f "$flexiblas")")/flexiblas
check flexiblas-recipe $CC -shared -o "$work/libflexiblas_gemm.so" -Wl,--no-as-needed "$OUT/libdarknet-gemm.so" "$own/libflexiblas_netlib.so" \
    -Wl,-rpath,"$OUT,-rpath,$own"
answer_is flexiblas-backend "$work/libflexiblas_gemm.so"
check flexiblas-backend-calls [ "$(sed 1d "$work/trace" | wc -l)" = 2 ]
finish
