#!/bin/sh
# SPDX-License-Identifier: MIT
# libdarknet-gemm under programs that nobody here built: Debian's libdarknet.so, netlib's tester of
# BLAS, numpy, and an unpatched Darknet that is linked with --wrap.
#
#   tests/system/test_library.sh UNTRAINED_WEIGHTS MODELS_FOLDER
. tests/support/lib.sh
. tests/support/host.sh

untrained=$1 models=$2
library=$OUT/libdarknet-gemm.so
archive=$OUT/libdarknet-gemm.a
: "${CC:=gcc}"

# preloaded IMPL COMMAND...: the trace is left in $work/trace
preloaded()
{
    impl=$1
    shift
    rm -f "$work/trace"
    env GEMM_IMPL="$impl" GEMM_TRACE="$work/trace" LD_PRELOAD="$library" "$@"
}

# expect_trace NAME ROW: that row ran
expect_trace()
{
    if grep -q "^$2[, ]" "$work/trace" 2>/dev/null; then
        pass "$1"
    else
        fail "$1" "no row of $2 in the trace: $(sed 1d "$work/trace" 2>&1 | head -n 1)"
    fi
}

# ---- nothing happens unasked ----
unset GEMM_REQUIRE GEMM_LACKS       # they would count as a user's wish for a variant
is library-silent '' "$(LD_PRELOAD=$library /bin/true 2>&1)"
# A preload that reaches nothing says so where a variable is set or the program is called darknet, but not for what a
# shell starts.
mkdir "$work/named" && cp /bin/true "$work/named/darknet"
for program in "env GEMM_TRACE=- GEMM_IMPL=nonsense /bin/true" "$work/named/darknet"; do
    is "library-unreached-${program##*/}" "gemm: no call of '${program##*/}' reached LD_PRELOAD=$library" \
        "$(env LD_PRELOAD="$library" $program 2>&1 | sed 's/, which reaches .*//')"
done
is library-unreached-shell '' "$(LD_PRELOAD=$library GEMM_IMPL=stock bash -c 'ls / >/dev/null; /bin/true; :' 2>&1)"
# Our own functions have a version; those that replace a host's have none.
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@@/, " ", $3); print $3 }' | sort >"$work/exported"
sort src/lib/exports >"$work/wanted"
is library-exports '' "$(diff "$work/wanted" "$work/exported")"
is library-needs-no-opencl '' "$(readelf -d "$library" | grep -i opencl)"

# A host that was linked against a BLAS with versions, and asks for one, is reached too.
echo 'BLAS_1 { global: cblas_sgemm; };' >"$work/blas.map"
cat >"$work/blas.c" <<'END'
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);
#ifdef MAIN
#include <stdio.h>
int main(void)
{
    float a = 2, b = 3, c = 0;
    cblas_sgemm(101, 111, 111, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
    return printf("%g\n", c) < 0;
}
#else
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) { *c = -1; }
#endif
END
$CC -shared -fPIC "$work/blas.c" -Wl,--version-script="$work/blas.map" -o "$work/libversioned.so"
$CC -DMAIN "$work/blas.c" "$work/libversioned.so" -Wl,-rpath,"$work" -o "$work/versioned"
is library-host-alone -1 "$("$work/versioned")"
is library-host-with-versions 6 "$(preloaded packed "$work/versioned" 2>&1)"

# ---- OpenBLAS's switches, alone and in front of a real OpenBLAS ----
cat >"$work/openblas.c" <<'END'
int real_threads = 7;
#ifdef MAIN
#include <stdio.h>
#include <stdlib.h>
void openblas_set_num_threads(int);
int openblas_get_num_threads(void), darknet_gemm_get_threads(void);
char *openblas_get_config(void);
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        if (*argv[i] != '-') openblas_set_num_threads(atoi(argv[i]));
        printf("%d %d, ", openblas_get_num_threads(), darknet_gemm_get_threads());
    }
    printf("%s, real %d\n", openblas_get_config(), real_threads);
    return 0;
}
#else
void openblas_set_num_threads(int n) { real_threads = n; }
int openblas_get_num_threads(void) { return real_threads; }
char *openblas_get_config(void) { return "a real one"; }
#endif
END
$CC -shared -fPIC "$work/openblas.c" -o "$work/libreal.so"
$CC -DMAIN "$work/openblas.c" "$library" -Wl,-rpath,"$OUT" -o "$work/switches"
$CC -DMAIN "$work/openblas.c" "$archive" -lm -ldl -pthread -o "$work/switches-archive"
$CC -DMAIN -Dreal_threads=unused "$work/openblas.c" -c -o "$work/switches.o"
$CC "$work/switches.o" "$library" -Wl,--no-as-needed "$work/libreal.so" -Wl,-rpath,"$OUT:$work" -o "$work/switches-both"
$CC -c "$work/openblas.c" -o "$work/real.o"
$CC "$work/switches.o" "$archive" "$work/real.o" -lm -ldl -pthread -o "$work/switches-linked"
# with_threads VARIABLE=VALUE... PROGRAM...: no other variable says how many
with_threads() { env -u GEMM_THREADS -u OMP_NUM_THREADS -u OPENBLAS_NUM_THREADS -u GOTO_NUM_THREADS -u BLIS_NUM_THREADS -u MKL_NUM_THREADS "$@"; }
version=$(sed -n 's/^#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' src/darknet_gemm.h)
for how in '' -archive; do
    is "openblas-alone$how" "3 3, 5 5, 2 2, 5 5, 1024 1024, darknet-gemm $version, real 7" \
        "$(with_threads OPENBLAS_NUM_THREADS=3 "$work/switches$how" - 5 2 0 9999)"
done
is openblas-in-front '7 3, 5 5, a real one, real 7' "$(with_threads OPENBLAS_NUM_THREADS=3 "$work/switches-both" - 5)"
is openblas-linked-with-both '7 3, 5 3, a real one, real 7' "$(with_threads OPENBLAS_NUM_THREADS=3 "$work/switches-linked" - 5)"
free=$(with_threads "$work/switches" -)
for variable in OMP OPENBLAS GOTO BLIS MKL; do
    is "threads-by-$variable" "9 9, ${free#*, }" "$(with_threads ${variable}_NUM_THREADS=9 "$work/switches" -)"
    is "threads-by-bad-$variable" "$free" "$(with_threads ${variable}_NUM_THREADS=x "$work/switches" -)"
    is "threads-of-ours-before-$variable" "8 8, ${free#*, }" "$(with_threads ${variable}_NUM_THREADS=9 GEMM_THREADS=8 "$work/switches" -)"
done
is threads-by-the-first "9 9, ${free#*, }" "$(with_threads MKL_NUM_THREADS=6 OMP_NUM_THREADS=9 OPENBLAS_NUM_THREADS=5 "$work/switches" -)"

# ---- row stock is the host's own loop ----
build_host "$CC"
ar rcs "$work/host.a" "$work/gemm.o"
$CC "$work/main.o" -Wl,--no-as-needed "$work/libhost.so" -Wl,-rpath,"$work" -o "$work/linked" -ldl
$CC "$work/main.o" "$work/work.o" "$work/gemm.o" $wrap "$library" -Wl,-rpath,"$OUT" -o "$work/wrap-library" -ldl
$CC "$work/main.o" "$work/work.o" "$work/gemm.o" $wrap "$archive" -o "$work/wrap-archive" -lm -ldl -pthread
$CC "$work/main.o" "$work/work.o" $wrap,-u,gemm_cpu "$work/host.a" "$archive" -o "$work/wrap-both" -lm -ldl -pthread
$CC "$work/main.o" "$work/work.o" $wrap,-u,gemm_cpu "$archive" "$work/host.a" -o "$work/wrap-late" -lm -ldl -pthread
is stock-preload "$own" "$(preloaded stock "$work/linked" 2>&1)"
is stock-preload-dlopen "$own" "$(preloaded stock "$work/loading" "$work/libhost.so" 2>&1)"
is packed-preload-dlopen "$right" "$(preloaded packed "$work/loading" "$work/libhost.so" 2>&1)"
for how in library archive both; do
    is "stock-wrap-$how" "$own" "$(GEMM_IMPL=stock "$work/wrap-$how" 2>&1)"
    is "packed-wrap-$how" "$right" "$(GEMM_IMPL=packed GEMM_TRACE=$work/trace "$work/wrap-$how" 2>&1)"
    is "wrap-$how-trace" '2 packed' "$(sed 1d "$work/trace" | cut -d , -f 1 | uniq -c | sed 's/^ *//')"
done

# With the host's archive behind the library's, gemm_cpu is the library's: plain loops, no recursion.
is stock-wrap-late "$right" "$(GEMM_IMPL=stock "$work/wrap-late" 2>&1)"

# ---- Debian's libdarknet.so ----
debian=/usr/lib/darknet/libdarknet.so

# run_client CFG WEIGHTS IMAGE: outputs and detections
run_client() { "$T/library_client" "$debian" 1 "$@" 2>"$work/error" | grep '^raw\|^box'; }

# close_to FILE FILE: the same lines, numbers no more than 1% and 0.01 apart
close_to()
{
    paste "$1" "$2" | awk '
        {
            n = NF / 2
            for (i = 1; i <= n; ++i) {
                d = $i - $(i + n)
                if (d < 0) d = -d
                a = $i < 0 ? -$i : $i
                if ($i != $(i + n) && !(d <= .01 + .01 * a)) { print FNR ": " $0; exit 1 }
            }
        }
        END { exit !FNR }' && [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ]
}

# debian_network NAME CFG WEIGHTS IMAGE
debian_network()
{
    name=$1
    shift
    run_client "$@" >"$work/plain"
    if ! grep -q '^raw' "$work/plain"; then
        fail "debian-$name" "Debian's libdarknet.so runs nothing: $(tail -n 1 "$work/error")"
        return
    fi
    for impl in stock auto; do
        GEMM_IMPL=$impl GEMM_TRACE=$work/trace LD_PRELOAD=$library run_client "$@" >"$work/preloaded"
        check "debian-$name-$impl" close_to "$work/plain" "$work/preloaded"
        [ $impl = stock ] || expect_trace "debian-$name-reached" packed
    done
}
T=$OUT/tests
if [ ! -r $debian ]; then
    skip debian-library "no $debian (Debian: darknet)"
else
    debian_network kite-demo cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg
    is debian-boxes yes "$(grep -q '^box' "$work/plain" && echo yes)"
    debian_network yolov3-tiny cfg/yolov3-tiny.cfg "$untrained" data/dog.jpg
    if [ -f "$models/yolo-fastest-1.1.weights" ]; then
        debian_network yolo-fastest "$models/yolo-fastest-1.1.cfg" "$models/yolo-fastest-1.1.weights" data/dog.jpg
    else
        skip debian-yolo-fastest "no yolo-fastest-1.1.weights in $models (MODELS=folder)"
    fi
fi

# ---- netlib's tester: SGEMM only, sizes to 65, the error exits too ----
blas=$(dirname "$(ls /usr/lib/*/blas/xblat3s 2>/dev/null)")
if [ ! -x "$blas/xblat3s" ]; then
    skip blas-tester 'no xblat3s (Debian: libblas-test)'
else
    # The columns of its input and output are those of the longest name, SGEMMTR since 3.12.
    sed '/^SGEMM /!s/^\(S[A-Z0-9]* *\)T /\1F /; s/^6 .*NUMBER OF VALUES OF N/8/; s/^0 1 2 3 5 9 .*/0 1 2 5 9 17 33 65/' \
        "$blas/sblat3.in" >"$work/sblat3.in"
    rows='stock block2d packed auto'
    if "$OUT/bench/gemm_bench" --list | grep -q "^cl$(printf '\t')usable"; then rows="$rows cl"; fi
    for row in $rows; do
        (cd "$work" && preloaded $row "$blas/xblat3s" <"$work/sblat3.in" >"$work/output" 2>&1)
        is "blas-$row" 2 "$(grep -c '^ *SGEMM  *PASSED' "$work/sblat3.out")"
        is "blas-$row-calls" 18522 "$(sed 1d "$work/trace" | wc -l)"
        rm -f "$work/sblat3.out"
    done
fi

# ---- numpy with the system's BLAS ----
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    skip numpy 'no package python3-numpy'
else
    cat >"$work/multiply.py" <<'END'
import numpy
r = numpy.random.RandomState(1)
for m, k, n in ((33, 34, 35), (256, 100, 64), (9, 500, 70)):
    a, b = r.rand(m, k).astype("f"), r.rand(k, n).astype("f")
    for left in a, numpy.asfortranarray(a), a[::2]:
        for right in b, numpy.asfortranarray(b):
            wanted = left.astype("d") @ right.astype("d")
            assert abs(left @ right - wanted).max() < 1e-4 * k
END
    check numpy-preloaded preloaded auto /usr/bin/python3 "$work/multiply.py"
    expect_trace numpy-reached packed
fi

# ---- a wheel: a module that is loaded, and its own OpenBLAS beside it ----
cat >"$work/blas.c" <<'END'
int asked;
void scipy_cblas_sgemm64_(void) { asked = 1; }
END
cat >"$work/module.c" <<'END'
#include <stdint.h>
void scipy_cblas_sgemm64_(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t,
                          const float *, int64_t, float, float *, int64_t);
float multiply(void)
{
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 2, 3, 4, 5, 6};
    float c[4];
    scipy_cblas_sgemm64_(101, 111, 111, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2);
    return c[3];
}
END
cat >"$work/wheel.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : 0;
    union { void *data; float (*function)(void); } multiply = {module ? dlsym(module, "multiply") : 0};
    if (!multiply.data) return 2;
    printf("%g\n", multiply.function());
    return 0;
}
END
$CC -shared -fPIC "$work/blas.c" -o "$work/libscipy_openblas64_.so"
$CC -shared -fPIC "$work/module.c" -L"$work" -lscipy_openblas64_ -Wl,-rpath,"$work" -o "$work/module.so"
$CC "$work/wheel.c" -o "$work/wheel" -ldl
is wheel-preloaded 64 "$(preloaded packed "$work/wheel" "$work/module.so")"
is wheel-reached 1 "$(sed 1d "$work/trace" | wc -l)"

# ---- unpatched Darknet, linked with --wrap by its own Makefile ----
cp -Rp "$BUILD/upstream" "$work/darknet"
(cd "$work/darknet" && ./darknet detect "$root/cfg/kite-demo.cfg" "$root/cfg/kite-demo.weights" data/dog.jpg) 2>/dev/null |
    grep -v Predicted >"$work/labels"
is wrap-labels-there yes "$(grep -q '%' "$work/labels" && echo yes)"
for how in "$library -Wl,-rpath,$OUT" "$archive -ldl"; do
    name=${how%% *}
    name=wrap-darknet-${name##*.}
    rm "$work/darknet/darknet"
    check "$name" env -u MAKEFLAGS make -C "$work/darknet" CC="$CC" darknet \
        LDFLAGS="-lm -pthread $wrap,-u,gemm_cpu $how"
    for impl in stock auto; do
        (cd "$work/darknet" && GEMM_IMPL=$impl GEMM_TRACE=$work/trace \
            ./darknet detect "$root/cfg/kite-demo.cfg" "$root/cfg/kite-demo.weights" data/dog.jpg) 2>/dev/null |
            grep -v Predicted >"$work/wrapped"
        is "$name-$impl" "$(cat "$work/labels")" "$(cat "$work/wrapped")"
    done
    expect_trace "$name-reached" packed
done

finish
