#!/bin/sh
# SPDX-License-Identifier: MIT
# make install and uninstall, programs that find what was installed, darknet-gemm run, and the same
# bytes from two folders.
. tests/support/lib.sh

unset MAKEFLAGS
: "${CC:=gcc}"
dest=$work/dest
prefix=$work/prefix     # a real one, so that what is installed can run where it is

# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted '$2', got '$3'"; fi; }

# project TARGET VARIABLE...: make on what is built, without what another `make layers` left
project() { env -u MAKELEVEL make INSTALL=0 "BUILD=$BUILD" "OUT=$OUT" LAYERS= "$@"; }

# files FOLDER: all but folders, sorted
files() { [ ! -d "$1" ] || (cd "$1" && find . ! -type d | sort); }

# ---- install, and nothing left ----
check install-dest project install "DESTDIR=$dest" PREFIX=/opt/gemm
version=$(sed -n 's/^#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' src/darknet_gemm.h)
soname=libdarknet-gemm.so.${version%%.*}
is install-files './opt/gemm/bin/darknet-gemm
./opt/gemm/bin/gemm-bench
./opt/gemm/include/darknet_gemm.h
./opt/gemm/include/gemm_dispatch.h
./opt/gemm/lib/cmake/darknet-gemm/darknet-gemm-config-version.cmake
./opt/gemm/lib/cmake/darknet-gemm/darknet-gemm-config.cmake
./opt/gemm/lib/libdarknet-gemm.a
./opt/gemm/lib/libdarknet-gemm.so
'"./opt/gemm/lib/$soname
./opt/gemm/lib/libdarknet-gemm.so.$version"'
./opt/gemm/lib/pkgconfig/darknet-gemm.pc
./opt/gemm/share/man/man7/darknet-gemm.7' "$(files "$dest")"
is install-no-destdir '' "$(grep -rIl "$dest" "$dest")"
touch "$dest/opt/gemm/lib/mine"
check uninstall project uninstall "DESTDIR=$dest" PREFIX=/opt/gemm
is uninstall-left ./opt/gemm/lib/mine "$(files "$dest")"
is uninstall-left-folders './opt ./opt/gemm ./opt/gemm/lib ' "$(cd "$dest" && find ./* -type d | sort | tr '\n' ' ')"
is install-dest-next "Installed in $dest/opt/gemm, for /opt/gemm" "$(project install "DESTDIR=$dest" PREFIX=/opt/gemm 2>&1 | tail -n 1)"
project uninstall "DESTDIR=$dest" PREFIX=/opt/gemm
# Folders that were there stay, also empty ones.
mkdir -p "$work/local/lib/pkgconfig" "$work/local/share/man"
find "$work/local" | sort >"$work/before"
check install-layers project install "PREFIX=$work/local" "LAYERS=$OUT/libdarknet-gemm.so"
is install-layers-next "Whole layers: LD_PRELOAD=$work/local/lib/libdarknet-layers.so before the command of the Darknet that it was made for" \
    "$(grep Whole "$work/check")"
check install-layers-there test -s "$work/local/lib/libdarknet-layers.so"
check install-twice project install "PREFIX=$work/local"
check uninstall-layers project uninstall "PREFIX=$work/local"
is uninstall-own-folders '' "$(find "$work/local" | sort | diff "$work/before" -)"
check install-libdir project install "DESTDIR=$work/other" PREFIX=/usr LIBDIR=lib/some-triplet BENCH=0
is install-libdir-files '0 7' "$(files "$work/other" | grep -c 'gemm-bench\|usr/lib/[^s]') $(files "$work/other" | grep -c usr/lib/some-triplet/)"
is install-libdir-pc '${prefix}/lib/some-triplet' "$(sed -n 's/^libdir=//p' "$work/other/usr/lib/some-triplet/pkgconfig/darknet-gemm.pc")"
check install-libdir-cmake grep -qF '{CMAKE_CURRENT_LIST_DIR}/../../../.."' "$work/other/usr/lib/some-triplet/cmake/darknet-gemm/darknet-gemm-config.cmake"
expect_failure install-libdir-wrong "LIBDIR='/lib' is no folder below PREFIX" project install "DESTDIR=$work/other" LIBDIR=/lib
check uninstall-libdir project uninstall "DESTDIR=$work/other" PREFIX=/usr LIBDIR=lib/some-triplet
is uninstall-libdir-left "$work/other" "$(find "$work/other")"
expect_failure install-relative "PREFIX='here' is no absolute path" project install PREFIX=here
touch "$work/file"
expect_failure install-unwritable "PREFIX='$work/file/below': mkdir: " project install "PREFIX=$work/file/below"
is install-unwritable-one-line 1 "$(grep -vc '^make' "$work/output")"
is man-page '' "$(man --warnings -l install/darknet-gemm.7 2>&1 >"$work/page")"
is man-page-whole 0 "$(for word in $(cut -d ' ' -f 1 src/lib/exports); do
    case $word in __wrap_* | gemm_*) continue ;; esac
    grep -q "$word" "$work/page" || echo "$word"
done | wc -l)"

# ---- programs that find it ----
check install-prefix project install "PREFIX=$prefix"
is install-next "Installed in $prefix. Now: $prefix/bin/darknet-gemm run COMMAND, or man darknet-gemm
A program that was linked with the library needs LD_LIBRARY_PATH=$prefix/lib" "$(tail -n 2 "$work/check")"
kilobytes=$(du -sk "$prefix" | cut -f 1)
check install-is-small [ "$kilobytes" -gt 1024 -a "$kilobytes" -lt 12288 ]
is installed-soname "$soname" "$(readelf -d "$prefix/lib/libdarknet-gemm.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')"
is installed-bench stock "$("$prefix/bin/gemm-bench" --list | head -n 1 | cut -f 1)"

cp examples/multiply/multiply.c "$work/main.c"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
is pkg-config-version "$version" "$(pkg-config --modversion darknet-gemm)"
check pkg-config-shared $CC "$work/main.c" -o "$work/shared" $(pkg-config --cflags --libs darknet-gemm) "-Wl,-rpath,$prefix/lib"
is pkg-config-shared-runs '57 66 129 150' "$("$work/shared")"
check pkg-config-static $CC "$work/main.c" -o "$work/static" $(pkg-config --cflags darknet-gemm) \
    "$prefix/lib/libdarknet-gemm.a" $(pkg-config --static --libs-only-l --libs-only-other darknet-gemm | sed 's/-ldarknet-gemm//')
is pkg-config-static-runs '57 66 129 150' "$("$work/static")"
is pkg-config-static-alone '' "$(readelf -d "$work/static" | grep darknet-gemm)"
echo '#include <darknet_gemm.h>
#include <gemm_dispatch.h>
int main() { return darknet_gemm_get_threads() < 1 || gemm_layer(nullptr); }' >"$work/main.cc"
check headers-in-c++ g++ -Wall -Wextra -Werror "$work/main.cc" -o "$work/cc" $(pkg-config --cflags --libs darknet-gemm)

cp -R examples/multiply "$work/cmake"
check cmake-configures cmake -S "$work/cmake" -B "$work/cmake/build" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$CC"
check cmake-builds cmake --build "$work/cmake/build"
for program in multiply multiply-static; do is "cmake-$program-runs" '57 66 129 150' "$("$work/cmake/build/$program")"; done
is cmake-static-alone '' "$(readelf -d "$work/cmake/build/multiply-static" | grep darknet-gemm)"
sed -i 's/darknet-gemm 1.0/darknet-gemm 7/' "$work/cmake/CMakeLists.txt"
expect_failure cmake-other-version 'compatible with requested version "7"' \
    cmake -S "$work/cmake" -B "$work/cmake/other" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$CC"

# ---- darknet-gemm run ----
run=$prefix/bin/darknet-gemm
is run-version "darknet-gemm $version" "$("$run" --version)"
is run-help 'usage: darknet-gemm run [NAME=VALUE ...] COMMAND [ARGUMENT ...]' "$("$run" --help 2>/dev/null | head -n 1; "$run" --help >/dev/null || echo failed)"
expect_failure run-usage 'usage: darknet-gemm run' "$run"
expect_failure run-nothing 'usage: darknet-gemm run' "$run" run GEMM_IMPL=packed
GEMM_TRACE=- "$run" run GEMM_IMPL=stock "$work/shared" >"$work/out" 2>"$work/err"
is run-output '57 66 129 150' "$(cat "$work/out")"
is run-trace '3 stock' "$(cut -d , -f 1 "$work/err" | sort | uniq -c | awk '$2 == "stock" { print $1, $2 }')"
is run-reached 'darknet-gemm: 3 calls reached the library' "$(tail -n 1 "$work/err")"
GEMM_TRACE=- "$run" run sh -c 'echo "$1"; exit 7' sh 'a  b' >"$work/out" 2>"$work/err"
is run-status 7 $?
is run-words 'a  b' "$(cat "$work/out")"
unreached() { echo "gemm: no call of '$1' reached LD_PRELOAD=$prefix/lib/$soname, which reaches Darknet and BLAS in shared libraries alone. For a program that holds Darknet itself there are make patch and make wrap"; }
is run-not-reached 'darknet-gemm: no call reached the library: man darknet-gemm says which programs it reaches' "$(cat "$work/err")"
is run-not-reached-once "$(unreached true)" "$("$run" run GEMM_TRACE=- true 2>&1)"
is run-quiet '57 66 129 150' "$("$run" run "$work/shared" 2>&1)"
# An executable that holds its gemm itself is named, and others called darknet are not.
mkdir "$work/holds" "$work/needs"
echo 'int main(void) { return 3; }' | $CC -x c -o "$work/holds/darknet" -
"$run" run "$work/holds/darknet" 2>"$work/err"
is run-holds-status 3 $?
is run-holds-gemm "$(unreached darknet)" "$(cat "$work/err")"
cp "$work/shared" "$work/needs/darknet"
is run-needs-library '57 66 129 150' "$("$run" run "$work/needs/darknet" 2>&1)"
printf '#!/bin/sh\necho script\n' >"$work/needs/darknet" && chmod +x "$work/needs/darknet"
is run-darknet-is-script script "$("$run" run "$work/needs/darknet" 2>&1)"
is run-after-preload "$prefix/lib/$soname:libm.so.6" "$(LD_PRELOAD=libm.so.6 "$run" run sh -c 'echo "$LD_PRELOAD"')"

# ---- darknet-gemm report ----
mkdir "$work/noted"
printf 'darknet-gemm OpenCL program 2\ndevice Adreno\nit gives wrong results' >"$work/noted/cl_tile-1.note"
printf 'darknet-gemm OpenCL program 2\ndevice PoCL\ndriver 3.1\noptions -DW=1\nsource 0\nbytes 0 sum 1\n' >"$work/noted/cl_wide-1.clbin"
echo 'a table of forms' >"$work/noted/tuning.txt"
check report env GEMM_CACHE_DIR="$work/noted" OCL_ICD_VENDORS=/nonexistent "$run" report "$work/report"
rm "$work/noted/tuning.txt"
is report-sections 'versions processors limits environment rows and device times verdicts end' \
    "$(sed -n 's/^== //p' "$work/report" | paste -sd ' ')"
for line in "darknet-gemm $version" "$(uname -srmo)" "GEMM_CACHE_DIR=$work/noted" "cache folder: $work/noted" 'it gives wrong results' \
    'a table of forms' 'options -DW=1' 'bytes 0 sum 1'; do
    check "report-has-$line" grep -qxF "$line" "$work/report"
done
check report-rows grep -q '^packed	usable' "$work/report"
check report-no-device grep -q '^cl	unusable: .*OpenCL' "$work/report"
check report-times grep -q '^packed,0,0,256,676,1152,.*,ok,' "$work/report"
check report-a-row-that-cannot-run grep -q '^cl: status 1$' "$work/report"
if ls /etc/OpenCL/vendors/*pocl* >/dev/null 2>&1; then
    check report-on-device env GEMM_CACHE_DIR="$work/noted" "$run" report "$work/on-device"
    check report-device grep -q '^gemm-bench: device .*, driver .*KiB local memory.*OpenCL C' "$work/on-device"
else
    skip report-device 'no OpenCL device (Debian: pocl-opencl-icd)'
fi
expect_failure report-unwritable "the report '$work/none/report' cannot be written" "$run" report "$work/none/report"
expect_failure report-usage 'usage: darknet-gemm run' "$run" report a b
mv "$prefix/bin/gemm-bench" "$work/bench"
check report-without-bench "$run" report "$work/report"
check report-without-bench-says grep -q 'neither rows nor times' "$work/report"
expect_failure report-disk-full "the report '/dev/full' is not whole" "$run" report /dev/full

# ---- darknet-gemm cache, with a gemm-bench that tells of a device ----
# device_is DEVICE DRIVER
device_is()
{
    printf '#!/bin/sh\necho "gemm-bench: device %s, driver %s, 4 compute units, unified memory"\n' "$1" "$2" >"$prefix/bin/gemm-bench"
    chmod +x "$prefix/bin/gemm-bench"
}
# program FILE DEVICE DRIVER: a binary with a zero
program() { printf 'darknet-gemm OpenCL program 2\ndevice %s\ndriver %s\noptions -DW=1\nsource 0\nbytes 3 sum 1\na\0b' "$2" "$3" >"$1"; }
cached() { folder=$1 && shift && GEMM_CACHE_DIR="$folder" "$run" cache "$@"; }
moved=$work/moved
device_is 'A, B' 'V 2.0'
mkdir "$work/full" "$work/empty"
program "$work/full/cl_a-1.clbin" 'A, B' 'V 2.0'
program "$work/full/cl_b-2.clbin" 'A, B' 'V 2.0'
program "$work/full/cl_c-3.clbin" 'A, B' 'V 2.01'
program "$work/full/cl_d-4.clbin" 'A' 'V 2.0'
echo note >"$work/full/cl_e-5.note"
check cache-export cached "$work/full" export "$moved"
check cache-import cached "$work/new/cache" import "$moved"
is cache-imported 'cl_a-1.clbin cl_b-2.clbin' "$(ls "$work/new/cache" | paste -sd ' ')"
check cache-same cmp "$work/full/cl_b-2.clbin" "$work/new/cache/cl_b-2.clbin"
is cache-private 700 "$(stat -c %a "$work/new/cache")"
expect_failure cache-no-programs "$work/empty has no programs for 'A, B' and its driver" cached "$work/empty" export "$work/none"
expect_failure cache-unwritable "the file '$work/none/cache' cannot be written" cached "$work/full" export "$work/none/cache"
expect_failure cache-unreadable "the file '$work/none' cannot be read" cached "$work/empty" import "$work/none"
expect_failure cache-usage 'darknet-gemm cache export|import FILE' "$run" cache list "$moved"
head -c 700 "$moved" >"$work/cut"
for file in "$work/cut" "$run"; do
    expect_failure "cache-none-of-export-${file##*/}" "the file '$file' is none of darknet-gemm cache export, or it is not whole" cached "$work/empty" import "$file"
done
device_is A 'V 2.0'
expect_failure cache-other-device "the file '$moved' is of device 'A, B', but here is device 'A'" cached "$work/empty" import "$moved"
device_is 'A, B' 'V 2.01'
expect_failure cache-other-driver "the file '$moved' is of driver 'V 2.0', but here is driver 'V 2.01'" cached "$work/empty" import "$moved"
is cache-one-line 1 "$(wc -l <"$work/output")"
device_is 'A, B' 'V 2.0'
# pack NAME: what was exported, changed
pack() { (cd "$work/changed" && tar -cf "$work/$1" head *.*); }
mkdir "$work/changed" && tar -xf "$moved" -C "$work/changed"
program "$work/changed/cl_a-1.clbin" 'A, B' 'V 1.0'
pack false
expect_failure cache-false-program "has cl_a-1.clbin, which is no program of 'A, B'" cached "$work/empty" import "$work/false"
mv "$work/changed/cl_b-2.clbin" "$work/changed/cl_a-1.sh"
rm "$work/changed/cl_a-1.clbin"
pack foreign
expect_failure cache-foreign-file "has cl_a-1.sh, which is no program of 'A, B'" cached "$work/empty" import "$work/foreign"
sed -i 's/^version .*/version 0.1/' "$work/changed/head"
pack old
expect_failure cache-other-version "the file '$work/old' is of version '0.1', but here is version '$version'" cached "$work/empty" import "$work/old"
is cache-nothing-taken '' "$(ls "$work/empty")"
rm "$prefix/bin/gemm-bench"
expect_failure cache-without-bench "there is no $prefix/bin/gemm-bench, which tells the OpenCL device" cached "$work/full" export "$work/none"
mv "$work/bench" "$prefix/bin/gemm-bench"
expect_failure cache-no-device 'there is no OpenCL device here' env OCL_ICD_VENDORS=/nonexistent "$run" cache export "$work/none"
if ls /etc/OpenCL/vendors/*pocl* >/dev/null 2>&1; then
    # What one cache has, another one uses: nothing is compiled there, so its files stay as they came.
    bench_here() { GEMM_CACHE_DIR=$1 plain "$prefix/bin/gemm-bench" --impl cl -s 8,8,8 --samples 3 --seconds 0; }
    bench_here "$work/compiled" >/dev/null 2>&1
    bench_here "$work/compiled" >/dev/null 2>&1
    check cache-export-on-device env GEMM_CACHE_DIR="$work/compiled" "$run" cache export "$moved"
    check cache-import-on-device env GEMM_CACHE_DIR="$work/elsewhere" "$run" cache import "$moved"
    before=$(ls -i "$work/elsewhere")
    check cache-runs-on-device bench_here "$work/elsewhere"
    is cache-nothing-compiled "$before" "$(ls -i "$work/elsewhere")"
else
    skip cache-on-device 'no OpenCL device (Debian: pocl-opencl-icd)'
fi
check uninstall-prefix project uninstall "PREFIX=$prefix"
is uninstall-prefix-left '' "$(files "$prefix")"

# ---- a path with all that a shell, sed, make and pkg-config may take for their own ----
# build_with FLAGS: pkg-config quotes for a shell
build_with() { eval "$CC" '"$work/main.c" -o "$work/$1"' "$2"; }

odd=$work/"it's a \"b\" & c|d"
check odd-install project install "DESTDIR=$odd/dest" "PREFIX=$odd"
is odd-install-files 12 "$(files "$odd/dest$odd" | wc -l)"
check odd-uninstall project uninstall "DESTDIR=$odd/dest" "PREFIX=$odd"
is odd-uninstall-left '' "$(files "$odd")"
check odd-install-prefix project install "PREFIX=$odd"
run=$odd/bin/darknet-gemm
is odd-run-version "darknet-gemm $version" "$("$run" --version 2>&1)"
is odd-run-preloads yes "$("$run" run sh -c 'grep -q libdarknet-gemm /proc/$$/maps && echo yes' 2>&1)"
cp -R "$odd/lib/pkgconfig" "$work/odd-pkgconfig"    # PKG_CONFIG_PATH has no way to write some of it
export PKG_CONFIG_PATH="$work/odd-pkgconfig"
check odd-pkg-config build_with odd-shared "$(pkg-config --cflags --libs darknet-gemm)"
is odd-pkg-config-runs '57 66 129 150' "$(LD_LIBRARY_PATH="$odd/lib" "$work/odd-shared" 2>&1)"
sed -i 's/darknet-gemm 7/darknet-gemm 1.0/' "$work/cmake/CMakeLists.txt"
# CMake's makefiles have no way to write a | and a double quote.
cmake_odd="$work/it's a & b"
cp -R "$odd" "$cmake_odd"
check odd-cmake cmake -S "$work/cmake" -B "$work/cmake/odd" "-Ddarknet-gemm_DIR=$cmake_odd/lib/cmake/darknet-gemm" "-DCMAKE_C_COMPILER=$CC"
check odd-cmake-builds cmake --build "$work/cmake/odd"
check odd-uninstall-prefix project uninstall "PREFIX=$odd"
is odd-uninstall-prefix-left '' "$(files "$odd")"
for letter in : ';'; do
    expect_failure "install-refuses-$letter" "has a colon, a semicolon" project install "PREFIX=$work/a${letter}b"
done

# ---- the same bytes from two folders ----
# Both are built from the file of `make dist`, where there is git, and without git. -O0, because only paths are
# tested here. ccache would give the second folder the objects of the first.
tarball=$work/darknet-gemm-$version.tar.xz
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    check dist project dist "DIST=$tarball"
    check dist-again project dist "DIST=$work/again"
    check dist-same-bytes cmp "$tarball" "$work/again"
    check dist-one-folder [ "$(tar -tf "$tarball" | cut -d / -f 1 | sort -u)" = "darknet-gemm-$version" ]
    unpack() { tar -xf "$tarball" -C "$1" --strip-components=1; }
else
    skip_machine dist 'this is no checkout of git'
    unpack() { cp -R Makefile mk src kernels patches setup install bench tests cfg docs demo examples ./*.md LICENSE "$1"; }
fi
mkdir "$work/without-git"
printf '#!/bin/sh\nexit 127\n' >"$work/without-git/git"
chmod +x "$work/without-git/git"
for folder in one a/longer/two; do
    mkdir -p "$work/$folder"
    unpack "$work/$folder"
    (cd "$work/$folder" && PATH="$work/without-git:$PATH" && check "build-${folder##*/}" env -u MAKELEVEL CCACHE_DISABLE=1 make INSTALL=0 OPENCL=0 CFLAGS=-O0 \
        "DARKNET_SRC=$BUILD/upstream" build/release-nocl/libdarknet-gemm.so build/release-nocl/libdarknet-gemm.a \
        build/release-nocl/bench/gemm_bench)
done
expect_failure dist-without-git 'this folder is no checkout of git' \
    env -u MAKELEVEL PATH="$work/without-git:$PATH" make -s -C "$work/one" dist INSTALL=0 OPENCL=0
is dist-knows-its-version "$version" "$(strings "$work/one/build/release-nocl/bench/gemm_bench" | grep -xF "$version" | head -n 1)"
for file in libdarknet-gemm.so libdarknet-gemm.a bench/gemm_bench; do
    check "same-bytes-${file##*/}" cmp "$work/one/build/release-nocl/$file" "$work/a/longer/two/build/release-nocl/$file"
done

finish
