#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the library and what belongs to it, or removes it again.
#
#   setup/install.sh install OUT PREFIX VERSION SONAME         DESTDIR goes before every path; SYMBOLS=1: not stripped
#   setup/install.sh uninstall OUT PREFIX VERSION SONAME
#
# LIBDIR: the folder of libraries below PREFIX (lib). BENCH=0: without gemm-bench. LAYERS: libdarknet-layers.so, where
# `make layers` made one.
#
# Below PREFIX/share/darknet-gemm stands which folders were made, so that uninstall removes those and no others. With
# DESTDIR, which holds one installation, it removes all that are empty.
set -eu
export LC_ALL=C

action=$1 out=$2 prefix=$3 version=$4 soname=$5
newline='
'
case $prefix in
*[:\;\$]* | *"$newline"*)
    echo "PREFIX='$prefix' has a colon, a semicolon, a dollar or a new line: ld.so, CMake or pkg-config cannot name such a path" >&2
    exit 1 ;;
/*) ;;
*)
    echo "PREFIX='$prefix' is no absolute path" >&2
    exit 1 ;;
esac
lib=${LIBDIR:-lib}
case $lib in
/* | */ | '' | *[!A-Za-z0-9._/+-]* | *..*)
    echo "LIBDIR='$lib' is no folder below PREFIX, such as lib or lib/x86_64-linux-gnu" >&2
    exit 1 ;;
esac
to=${DESTDIR:-}$prefix
cmake=$lib/cmake/darknet-gemm
up=$(echo "$cmake" | sed 's|[^/]\{1,\}|..|g')    # from there to the prefix
real=$lib/libdarknet-gemm.so.$version
layers=$lib/libdarknet-layers.so
record=$to/share/darknet-gemm/folders
set -- "$to/bin" "$to/include" "$to/$lib" "$to/$lib/pkgconfig" "$to/$cmake" "$to/share/man/man7"
[ -n "${DESTDIR:-}" ] || set -- "$@" "${record%/*}"

# above FOLDER TEST...: it and the folders above it, below DESTDIR, as long as the test says yes of them
above()
{
    folder=$1
    shift
    while [ "$folder" != "${DESTDIR:-}" ] && [ "$folder" != / ] && "$@" "$folder"; do
        echo "$folder"
        folder=$(dirname "$folder")
    done
}
is_missing() { [ ! -e "$1" ]; }

if [ "$action" = uninstall ]; then
    for file in "$real" "$lib/$soname" $lib/libdarknet-gemm.so $lib/libdarknet-gemm.a include/darknet_gemm.h \
        include/gemm_dispatch.h $lib/pkgconfig/darknet-gemm.pc $cmake/darknet-gemm-config.cmake \
        $cmake/darknet-gemm-config-version.cmake bin/gemm-bench bin/darknet-gemm share/man/man7/darknet-gemm.7 "$layers"; do
        rm -f "$to/$file"
    done
    if [ -n "${DESTDIR:-}" ]; then
        for folder; do above "$folder" rmdir 2>/dev/null >&2; done
    elif [ -f "$record" ]; then
        made=$(cat "$record")
        rm -f "$record"
        printf '%s\n' "$made" | while IFS= read -r folder; do rmdir "$folder" 2>/dev/null || :; done
    fi
    exit
fi

# put MODE FILE NAME: also over a file that a process uses
put() { install -m "$1" "$2" "$to/$3"; }

# The same without what only a debugger reads, and without the names that only a profiler shows: nine
# tenths of such a file. SYMBOLS=1 keeps them.
put_program()
{
    if [ "${SYMBOLS:-0}" = 1 ]; then
        put "$@"
    else
        "${OBJCOPY:-objcopy}" --strip-unneeded "$2" "$work/stripped"
        put "$1" "$work/stripped" "$3"
    fi
}

# fill MODE TEMPLATE NAME [PREFIX]: @PREFIX@, as its file has to write it, and other names become values
fill()
{
    prefix_text=${4:-} version=$version soname=$soname lib=$lib up=$up awk '
        function replace(line, mark, text,    at, done)
        {
            for (; (at = index(line, mark)) > 0; line = substr(line, at + length(mark)))
                done = done substr(line, 1, at - 1) text
            return done line
        }
        {
            line = replace($0, "@VERSION@", ENVIRON["version"])
            line = replace(line, "@SONAME@", ENVIRON["soname"])
            line = replace(line, "@LIBDIR@", ENVIRON["lib"])
            line = replace(line, "@UP@", ENVIRON["up"])
            print replace(line, "@PREFIX@", ENVIRON["prefix_text"])
        }' "install/$2" >"$work/filled"
    put "$1" "$work/filled" "$3"
}

# The prefix within single quotes of sh, and as a value of pkg-config, which takes it apart like a shell.
in_quotes=$(printf '%s' "$prefix" | sed "s/'/'\\\\''/g")
escaped=$(printf '%s' "$prefix" | sed 's/[][ \t'\''"\\&|()<>*?{}!`#]/\\&/g')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Before anything is written: no half of an installation. The deepest folder stands first.
[ ! -f "$record" ] || cat "$record" >"$work/folders"
for folder; do above "$folder" is_missing; done >>"$work/folders"
if ! mkdir -p "$@" 2>"$work/why"; then
    echo "PREFIX='$prefix': $(head -n 1 "$work/why")" >&2
    exit 1
fi
for folder; do
    [ -w "$folder" ] || { echo "PREFIX='$prefix': the folder '$folder' cannot be written" >&2; exit 1; }
done
put_program 644 "$out/libdarknet-gemm.so" "$real"
[ -n "${DESTDIR:-}" ] || sort -ru "$work/folders" >"$record"
ln -sfn "${real##*/}" "$to/$lib/$soname"
ln -sfn "$soname" "$to/$lib/libdarknet-gemm.so"
put_program 644 "$out/libdarknet-gemm.a" $lib/libdarknet-gemm.a
[ "${BENCH:-1}" = 0 ] || put_program 755 "$out/bench/gemm_bench" bin/gemm-bench
put 644 src/darknet_gemm.h include/darknet_gemm.h
put 644 src/gemm_dispatch.h include/gemm_dispatch.h
put 644 install/darknet-gemm.7 share/man/man7/darknet-gemm.7
fill 644 darknet-gemm.pc.in $lib/pkgconfig/darknet-gemm.pc "$escaped"
fill 644 darknet-gemm-config.cmake.in $cmake/darknet-gemm-config.cmake
fill 644 darknet-gemm-config-version.cmake.in $cmake/darknet-gemm-config-version.cmake
fill 755 darknet-gemm.in bin/darknet-gemm "$in_quotes"
[ -z "${LAYERS:-}" ] || put_program 644 "$LAYERS" "$layers"
if [ -n "${DESTDIR:-}" ]; then
    echo "Installed in $to, for $prefix"
    exit
fi
echo "Installed in $prefix. Now: $prefix/bin/darknet-gemm run COMMAND, or man darknet-gemm"
[ -z "${LAYERS:-}" ] || echo "Whole layers: LD_PRELOAD=$prefix/$layers before the command of the Darknet that it was made for"
case $prefix/$lib in
/usr/lib | /usr/local/lib) echo 'Run ldconfig once, as root, so that programs find the library by its name' ;;
*) echo "A program that was linked with the library needs LD_LIBRARY_PATH=$prefix/$lib" ;;
esac
