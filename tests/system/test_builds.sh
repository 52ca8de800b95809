#!/bin/sh
# SPDX-License-Identifier: MIT
# The configurations of the README, each built from a clean copy of the tree: without OpenCL, for
# debugging, with the user's flags, in a folder elsewhere, and in a Darknet of the user's own. -O0
# throughout, because only the build is tested here..
. tests/support/lib.sh

# What the user gave to `make test`, or has in the environment.
unset MAKEFLAGS DARKNET_SRC CFLAGS CPPFLAGS LDFLAGS LDLIBS
tree=$work/tree
source="$work/darknet source"       # with a blank
mkdir -p "$tree/cfg"
cp -R Makefile mk src bench tests kernels patches setup "$tree"
for file in cfg/*; do
    [ -L "$file" ] || cp "$file" "$tree/cfg"
done
DARKNET_SRC=$BUILD/upstream setup/darknet.sh "$source" >/dev/null
cd "$tree" || exit 1

# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted '$2', got '$3'"; fi; }

# build NAME ARGUMENT...: make must succeed; its output is left in $work/log
# MAKELEVEL is unset, because a make called by `make test` would name its folder.
build()
{
    name=$1
    shift
    if env -u MAKELEVEL make "$@" >"$work/log" 2>&1; then pass "$name"; else fail "$name" "make $*: $(tail -n 5 "$work/log")"; fi
}

# holds, lacks: NAME FILE TEXT
holds() { if grep -q -- "$3" "$2"; then pass "$1"; else fail "$1" "no '$3' in $2"; fi; }
lacks() { if [ -f "$2" ] && ! grep -q -- "$3" "$2"; then pass "$1"; else fail "$1" "'$3' in $2, or no such file"; fi; }

# links NAME CONFIGURATION: of the three links in the project's folder
links() { is "$1" "$2/darknet $2/libdarknet.so $2/bench/gemm_bench" "$(readlink darknet libdarknet.so gemm-bench | tr '\n' ' ' | sed 's/ $//')"; }

# ---- what make refuses, and says ----
expect_failure builds-old-make 'GNU make 4.3 or later is needed; this is 4.2.1' make .FEATURES= MAKE_VERSION=4.2.1
expect_failure builds-switch "OPENCL='yes' is neither 0 nor 1" make OPENCL=yes
expect_failure builds-sanitize "SANITIZE='2' is none of 0, 1 and thread" make SANITIZE=2
expect_failure builds-blank "blanks in BUILD='a b'" make BUILD='a b'
mkdir "$work/full" && touch "$work/full/mine"
expect_failure builds-full-folder "$work/full holds files that are not of this Makefile" make "BUILD=$work/full"
expect_failure builds-full-folder-clean "$work/full was not made by this Makefile" make clean "BUILD=$work/full"
is builds-full-folder-kept mine "$(ls "$work/full")"

# ---- packages: only detect and test install any ----
mkdir "$work/bin"
for program in dpkg-query apt-get sudo; do      # a system without any of the packages
    printf '#!/bin/sh\ncase ${0##*/} in dpkg-query) exit 1 ;; esac\necho "$*" >>"%s/installed"\nexit 1\n' "$work" >"$work/bin/$program"
    chmod +x "$work/bin/$program"
done
missing() { PATH=$work/bin:$PATH make "$@"; }
expect_failure packages-detect 'apt-get could not install:' missing detect
holds packages-detect-tried "$work/installed" update
rm "$work/installed"
expect_failure packages-detect-only-checked 'Missing Debian packages:' missing detect INSTALL=0

make clean

# ---- the user's own files, which `make clean` must leave ----
mkdir data && touch data/mine
touch cfg/mine.cfg && ln -s ../data/mine cfg/linked.cfg && ln -s nowhere cfg/dangling.cfg
find . | sort >"$work/before"

# ---- make OPENCL=0, in a folder elsewhere, with the user's flags and those that must change no result ----
with_flags()
{
    build "$@" "BUILD=$work/elsewhere/x" OPENCL=0 V=1 CFLAGS='-O0 -ffast-math -flto -ffat-lto-objects -DOF_CFLAGS="1 2"' CPPFLAGS=-DOF_CPPFLAGS \
        LDFLAGS='-Wl,-O1 -Ofast -flto' LDLIBS=-lrt
}
PATH=$work/bin:$PATH with_flags builds-nocl DARKNET_SRC="$source"
if [ -e "$work/installed" ]; then fail packages-not-installed "plain make called apt-get"; else pass packages-not-installed; fi
holds packages-named "$work/log" 'Missing Debian packages (make packages installs them): .*gcc'
out=$work/elsewhere/x/release-nocl
links builds-nocl-links $out
for kind in 'c src/gemm_opt.c' 'c bench/ab/ab_run.c' 'c ./src/utils.c'; do
    grep -e "-$kind " "$work/log" | grep -e '-DOF_CFLAGS="1 2"' -e "-DOF_CFLAGS='1 2'" | grep -qe -DOF_CPPFLAGS &&
        pass "builds-flags-${kind#c }" || fail "builds-flags-${kind#c }" "the user's flags are missing"
done
grep -e "-o $out/bench/gemm_bench" "$work/log" | grep -qe '-Wl,-O1 .*-lrt' && pass builds-flags-link || fail builds-flags-link "LDFLAGS or LDLIBS are missing"
if [ "$(uname -m)" = x86_64 ]; then
    objdump -d $out/obj/src/packed/isa/ukernel_avx2.o >"$work/code"
    holds builds-flags-isa "$work/code" vfmadd
fi
# A library that makes denormals 0 would do so in the whole program that it is loaded into.
echo 'int main(void) { volatile float x = 1e-39f; return !(x * 1 > 0); }' >"$work/host.c"
${CC:-gcc} -o "$work/host" "$work/host.c"
for file in libdarknet-gemm.so libdarknet.so; do
    check builds-flags-denormals-$file env LD_PRELOAD=$out/$file "$work/host"
done
if [ -f /usr/lib/darknet/include/darknet.h ]; then
    with_flags builds-flags-layers $out/libdarknet-layers.so DARKNET_SRC=/usr
    nm -D $out/libdarknet-layers.so >"$work/names"
    holds builds-flags-layers-code "$work/names" ' T forward_convolutional_layer'
    check builds-flags-denormals-libdarknet-layers.so env LD_PRELOAD=$out/libdarknet-layers.so "$work/host"
else
    skip builds-flags-layers 'no headers of Darknet (Debian: darknet)'
fi
# Code of sums in an order.
for level in -O3 '-Ofast -flto'; do
    object=$work/flags${level%% *}/release-nocl/obj/src/util/winograd.o
    build "builds-flags$level" OPENCL=0 "BUILD=$work/flags${level%% *}" CFLAGS="$level" "$object"
    objdump -d "$object" | grep -v 'file format' >"$work/code${level%% *}"
done
check builds-flags-same-code cmp "$work/code-O3" "$work/code-Ofast"
for file in darknet libdarknet.so gemm-bench; do lacks "builds-no-path-$file" $file "$work"; done
for file in darknet gemm-bench; do lacks "nocl-not-loaded-$file" $file libOpenCL.so; done
is nocl-rows '' "$(./gemm-bench --list | awk -F '\t' '
    $1 ~ /^cl/ { ++rows; if ($2 !~ /^unusable: built with OPENCL=0/) print "wrong: " $1 }
    END { if (rows < 9) print rows + 0 " rows" }')"
GEMM_IMPL=cl expect_failure nocl-cl 'built with OPENCL=0' ./gemm-bench --impl cl -s 1,1,1
GEMM_IMPL=cl_int8 expect_failure nocl-cl-int8 'GEMM_IMPL=cl_int8 cannot run here: built with OPENCL=0' \
    ./darknet speed cfg/kite-demo.cfg 1

build builds-elsewhere-clean "BUILD=$work/elsewhere/x" clean
is builds-elsewhere-cleaned '' "$(ls "$work/elsewhere"; ls -d darknet 2>/dev/null)"

# ---- make DEBUG=1 all, and again ----
build builds-debug DEBUG=1 all DARKNET_SRC="$source"
links builds-debug-links build/debug
# A finished build runs no command again, and what changes is noticed.
build builds-debug-again -n DEBUG=1 all
is builds-nothing-twice "make: Nothing to be done for 'all'." "$(cat "$work/log")"
expect builds-other-flags '-c src/gemm_opt.c' make -n V=1 DEBUG=1 CFLAGS=-DOTHER darknet
expect builds-other-source 'setup/darknet.sh' make -n DEBUG=1 DARKNET_SRC="$work" darknet
expect builds-other-configuration 'setup/link.sh build/release-nocl/darknet darknet' make -n OPENCL=0 darknet

# ---- what a debugger reads: lines in every build, and with DEBUG=1 the arguments too ----
# has_lines NAME FILE: addr2line, and so gdb and perf, finds a function of ours in its file
has_lines()
{
    address=$(nm "$2" | awk 'toupper($2) == "T" && $3 == "gemm_run_op" { print $1 }')
    case $(addr2line -e "$2" "$address") in
    *src/driver/run.c:[1-9]*) pass "$1" ;;
    *) fail "$1" "$2: gemm_run_op at '$address' is at $(addr2line -e "$2" "$address")" ;;
    esac
}
for file in darknet libdarknet.so libdarknet-gemm.so; do
    has_lines "builds-lines-${file##*/}" "$OUT/$file"
done
has_lines builds-lines-debug build/debug/darknet
readelf --debug-dump=info build/debug/obj/src/driver/run.o >"$work/info"
holds builds-debug-arguments "$work/info" DW_TAG_formal_parameter

# ---- how far a build is: a false make, which wants two files, and a third one once it can; one of them is made ----
mkdir -p far/obj
printf '#!/bin/sh\necho cc -c a.c -o far/obj/a.o\necho cc -c b.c -o far/obj/b.o\n[ -e far/ready ] && echo cc -c c.c -o far/obj/c.o\n' >far/make && chmod +x far/make
sleep 13 &
setup/progress.sh $! far far/make all >"$work/log" &
progress=$!
sleep 1
touch far/obj/b.o
sleep 7
touch far/ready
wait
is builds-progress 'Compiling: 1 of at least 2 files are done
Compiling: 1 of 3 files are done' "$(cat "$work/log")"
if kill -0 $progress 2>/dev/null; then fail builds-progress-ends 'it goes on without its make'; else pass builds-progress-ends; fi
rm -r far

# ---- Darknet of the user's own ----
own=$work/own
mv "$source" "$own"
build builds-own-patch patch DARKNET_SRC="$own"
build builds-own -C "$own" GEMM="$tree" DEBUG=1
cd "$own" || exit 1
expect_failure builds-own-variants "GEMM_IMPL='blok2d' is no variant" env GEMM_IMPL=blok2d ./darknet detect "$tree/cfg/yolov3-tiny.cfg" none none
holds builds-own-opencl ./darknet libOpenCL.so
ldd ./darknet >"$work/libraries"
lacks builds-own-opencl-not-linked "$work/libraries" OpenCL
build builds-own-nocl GEMM="$tree" DEBUG=1 OPENCL=0
lacks builds-own-relinked ./darknet libOpenCL.so
cd "$tree" || exit 1

# ---- make clean ----
build builds-clean clean
find . | sort >"$work/after"
is builds-clean-left '' "$(diff "$work/before" "$work/after")"
rm -r data cfg/dangling.cfg
build builds-data data DARKNET_SRC="$BUILD/upstream"
is builds-data-link "build/darknet/data ../build/darknet/cfg/alexnet.cfg" "$(readlink data) $(readlink cfg/alexnet.cfg)"
build builds-data-clean clean
is builds-data-cleaned "$(ls data build cfg/alexnet.cfg 2>/dev/null)" ''

finish
