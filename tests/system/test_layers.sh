#!/bin/sh
# SPDX-License-Identifier: MIT
# libdarknet-layers.so before a Darknet that is not patched: Debian's libdarknet.so, and small Darknets with
# the structs of AlexeyAB's and hank-ai's (tests/support/fake_forks). `make test ON=forks`
# runs it with others too: ALEXEYAB names a tree that was built with LIBSO=1, HANKAI one that CMake built
# in its folder build/.
#
#   tests/system/test_layers.sh
#   OUT=FOLDER tests/system/test_layers.sh CROSS_COMPILE QEMU...     the small Darknets for another processor
. tests/support/lib.sh
cross=${1:-}
[ $# = 0 ] || shift
emulator=$*
if [ -n "$cross" ]; then CC=${cross}gcc CXX=${cross}g++; fi
: "${CC:=gcc}" "${CXX:=g++}"
export CC CXX

# build DARKNET TARGET...
build()
{
    folder_of_darknet=$1
    shift
    make INSTALL=0 BUILD="$BUILD" CROSS_COMPILE="$cross" DARKNET_SRC="$folder_of_darknet" "$@"
}

# with PRELOAD PROGRAM ARGUMENT...      limit: a command that runs the program
with()
{
    library_before=$1
    shift
    OMP_WAIT_POLICY=passive GEMM_THREADS=2 ${limit:-} ${emulator:-env} ${emulator:+-E} "LD_PRELOAD=$library_before" "$@"
}

# run CLIENT LIBRARY PRELOAD OUTPUT [BATCH]
run()
{
    with "$3" "$1" "$2" 3 cfg/kite-demo.cfg cfg/kite-demo.weights ${5:-1} \
        >"$work/all" 2>"$4.error"
    grep -a '^first\|^halved\|^again\|^single\|^later\|^reborn' "$work/all" >"$4"
    grep -a '^cut' "$work/all" >"$4.cut"
}

# compile_client SOURCE FOLDER PROGRAM [LINKED...]: a client of tests/support, for the headers of FOLDER
compile_client()
{
    source=$1 headers=$2 program=$3
    shift 3
    $CC -O1 -D_GNU_SOURCE -Isrc $(setup/layers.sh "$headers" "$work/made") "tests/support/$source.c" tests/support/fork_host.c \
        -o "$program" "$@" -ldl -lm -lpthread
}

# close_to FILE FILE: at most 1e-4 of the largest apart. The first file is Darknet's own. It may hold NaN, because
# AlexeyAB's logistic gives NaN below -88 where the compiler divides by a reciprocal (-Ofast).
close_to()
{
    [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ] && paste -d ' ' "$1" "$2" | awk '
        $4 ~ /nan|inf/ { print "not a number: " $0; wrong = 1; exit }
        $2 ~ /nan/ { next }
        { d = $2 - $4; if (d < 0) d = -d; a = $2 < 0 ? -$2 : $2
          if (d > worst) worst = d; if (a > most) most = a; ++compared }
        END { print worst, most; exit !(!wrong && 2 * compared > NR && most > 0 && worst <= 1e-4 * most) }'
}

# fork NAME FOLDER LIBRARY
# Leaves the client and the library in $work.
fork()
{
    build "$2" "$OUT/libdarknet-layers.so" >"$work/make" 2>&1 ||
        { fail "$1-builds" "$(tail -n 3 "$work/make")"; return; }
    compile_client fork_client "$2" "$work/client"
    cp "$OUT/libdarknet-layers.so" "$work/layers.so"
    run "$work/client" "$3" '' "$work/alone"
    run "$work/client" "$3" "$work/layers.so" "$work/layers"
    check "$1-equal" close_to "$work/alone" "$work/layers"
    check "$1-cut" close_to "$work/alone.cut" "$work/layers.cut"
    said=$(grep -a '^gemm:' "$work/layers.error")
    if [ -z "$said" ]; then pass "$1-silent"; else fail "$1-silent" "$said"; fi
    GEMM_TRACE=$work/trace run "$work/client" "$3" "$work/layers.so" "$work/traced"
    check "$1-whole-layers" grep -q ' pad ' "$work/trace"
    check "$1-auto-untuned" grep -q 'packed (default)' "$work/trace"
    rm -f "$work/int8"
    GEMM_CALIBRATE=$work/int8 GEMM_IMPL=packed run "$work/client" "$3" "$work/layers.so" "$work/calibrated"
    check "$1-calibrates" grep -q '^layer .* \(percentile\|error\) ' "$work/int8"
    batches "$1" "$2" "$3"
    two_networks "$1" "$2" "$3"
    forks "$1" "$2" "$3"
}

# forks NAME FOLDER LIBRARY: children predict while threads of their parent do
forks()
{
    [ -z "$cross" ] || return 0         # qemu aborts in the child of a fork
    compile_client fork_children "$2" "$work/children"
    sed 's/^width=.*/width=32/; s/^height=.*/height=32/' cfg/kite-demo.cfg >"$work/forks.cfg"
    said=$(with "$work/layers.so" "$work/children" "$3" 50 "$work/forks.cfg" draw 2>/dev/null | grep -a children)
    if [ "$said" = '50 children: 0 hung, 0 died, 0 wrong' ]; then pass "$1-forks"; else fail "$1-forks" "$said"; fi
}

# batches NAME FOLDER LIBRARY: 2 to 8 images at a time, against one by one and against Darknet alone. With the
# library two threads take images of their own, so bits are those of one by one.
batches()
{
    compile_client fork_batch "$2" "$work/batch"
    sed 's/^batch=.*/batch=8/; s/^width=.*/width=224/; s/^height=.*/height=224/' cfg/kite-demo.cfg >"$work/batch.cfg"
    for preload in '' "$work/layers.so"; do
        limit='env GEMM_IMPL=packed GEMM_PREPARE=first' with "$preload" "$work/batch" "$3" 1 "$work/batch.cfg" draw 8 \
            "$([ -n "$preload" ] && echo 0 || echo 1e-4)" >"$work/all" 2>"$work/batch.error"
        status=$?
        grep -a '^batch\.' "$work/all" >"$work/batch.${preload:+layers}"
        [ -z "$preload" ] || check "$1-batches-one-by-one" sh -c "grep -a '^batch of \|^network_predict' '$work/all'; exit $status"
    done
    check "$1-batches" close_to "$work/batch." "$work/batch.layers"
}

# two_networks NAME FOLDER LIBRARY: at once, from two threads; with the library, and both against Darknet alone
two_networks()
{
    compile_client fork_threads "$2" "$work/threads"
    for preload in '' "$work/layers.so"; do
        if [ -z "$preload" ]; then rounds=1; else rounds=11; fi
        with "$preload" "$work/threads" "$3" $rounds cfg/kite-demo.cfg draw cfg/kite-demo.cfg draw >"$work/all" 2>"$work/threads.error"
        status=$?
        grep -a '^network[01] ' "$work/all" >"$work/threads.${preload:+layers}"
        [ -z "$preload" ] || check "$1-two-threads" sh -c "grep -a 'passes differ' '$work/all'; exit $status"
    done
    check "$1-two-networks" close_to "$work/threads." "$work/threads.layers"
}

# section NAME [LINE...]: of a cfg
section() { printf '[%s]\n' "$1" && shift && printf '%s\n' "$@"; }

# networks NAME LIBRARY: that the layout is right must be found out in a network of which half of the layers has no
# door, and in one that begins with a recurrent layer. pjreddie's has no workspace for that, so a larger convolution follows.
networks()
{
    convolution='filters=8 size=7 stride=1 pad=1 activation=leaky'
    section net batch=1 time_steps=1 height=12 width=12 channels=3 >"$work/few.cfg"
    cp "$work/few.cfg" "$work/crnn.cfg"
    for layer in 1 2; do
        section convolutional $convolution
        section activation activation=leaky
        section normalization
    done >>"$work/few.cfg"
    { section crnn size=3 pad=1 activation=leaky; section convolutional $convolution; } >>"$work/crnn.cfg"
    for cfg in few crnn; do
        section connected output=9 activation=linear >>"$work/$cfg.cfg"
        for preload in '' "$work/layers.so"; do
            GEMM_TRACE=$work/trace.$cfg with "$preload" "$work/client" "$2" 2 "$work/$cfg.cfg" draw >"$work/all" 2>"$work/$cfg.error"
            grep -a '^first\|^cut' "$work/all" >"$work/$cfg.${preload:+layers}"
        done
        check "$1-$cfg" close_to "$work/$cfg." "$work/$cfg.layers"
        check "$1-$cfg-whole-layers" grep -q ' pad ' "$work/trace.$cfg"
        check "$1-$cfg-silent" sh -c "! grep -a '^gemm:' '$work/$cfg.error'"
    done
}

# other NAME FOLDER LIBRARY: the library that was made for FOLDER stays out, and the outputs are those of `alone`
other()
{
    build "$2" "$OUT/libdarknet-layers.so" >"$work/make" 2>&1
    run "$work/client" "$3" "$OUT/libdarknet-layers.so" "$work/out"
    check "$1-stays-out" close_to "$work/alone" "$work/out"
    check "$1-said" grep -aq 'built for another Darknet' "$work/out.error"
}

# fake NAME FOLDER FIELD HEADER COMPILER...: a small Darknet with images one by one and two at a time, and one
# whose HEADER has a field more before FIELD
fake()
{
    name=$1 folder=tests/support/fake_forks/$2 field=$3 header=$4
    shift 4
    "$@" -shared -fPIC -O1 -o "$work/libfake.so" -Isrc -I"$folder/${header%/*}" tests/support/fake_forks/*.c -lm ||
        { fail "$name-host" "it does not compile"; return; }
    fork "$name" "$folder" "$work/libfake.so"
    own=$(sed -n 's/^own //p' "$work/layers.error" | sort -un | tr '\n' ' ')
    if [ "$own" = "23 " ]; then pass "$name-own-code"; else fail "$name-own-code" "these layers ran Darknet's own code: $own"; fi
    GEMM_WAY=winograd4 GEMM_TRACE=$work/pooled run "$work/client" "$work/libfake.so" "$work/layers.so" "$work/way"
    check "$name-first-pool" grep -q ',16,576,54,.* pool,' "$work/pooled"
    # Without a descriptor that could be opened. An emulator opens some.
    if [ -z "$emulator" ]; then
        limit='prlimit --nofile=4' run "$work/client" "$work/libfake.so" "$work/layers.so" "$work/few"
        check "$name-no-descriptor" close_to "$work/alone" "$work/few"
        check "$name-no-descriptor-runs" [ "$(sed -n 's/^own //p' "$work/few.error" | sort -un | tr '\n' ' ')" = "23 " ]
    fi
    # Linked before Darknet instead of preloaded, as patches/hank-ai has it.
    compile_client fork_client "$folder" "$work/linked" -Wl,--no-as-needed,-rpath,"$work" "$work/layers.so"
    cp "$work/layers.so" "$work/libdarknet-layers.so"
    run "$work/linked" "$work/libfake.so" '' "$work/linked.out"
    check "$name-linked-before" close_to "$work/alone" "$work/linked.out"
    check "$name-linked-before-runs" [ "$(sed -n 's/^own //p' "$work/linked.out.error" | sort -un | tr '\n' ' ')" = "23 " ]
    run "$work/client" "$work/libfake.so" '' "$work/alone2" 2
    run "$work/client" "$work/libfake.so" "$work/layers.so" "$work/layers2" 2
    check "$name-batch-of-2" close_to "$work/alone2" "$work/layers2"
    cp -r "$folder" "$work/$name of mine"
    sed "s/int $field,/int strange, $field,/" "$folder/$header" >"$work/$name of mine/$header"
    other "$name-other-layout" "$work/$name of mine" "$work/libfake.so"
}

# hybrid_fake: the small Darknet that ran last, under a row that asks its device before the first layer
hybrid_fake()
{
    use_pocl || { skip fake-hybrid "$no_pocl"; return; }
    reason=$(./gemm-bench --list 2>/dev/null | awk -F '\t' '$1 == "hybrid" && $2 != "usable" { print $2 }')
    if [ -n "$reason" ]; then skip fake-hybrid "$reason"; return; fi
    GEMM_IMPL=hybrid GEMM_PREPARE=first GEMM_TRACE=$work/hybrid plain run "$work/client" "$work/libfake.so" "$work/layers.so" "$work/shared"
    check fake-hybrid close_to "$work/alone" "$work/shared"
    check fake-hybrid-asks grep -q ',cl: [0-9.]* of packed at a multiply' "$work/hybrid"
}

# patched_fake: the small Darknet of AlexeyAB's kind with the calls that patches/alexeyab puts into the real one
patched_fake()
{
    folder=tests/support/fake_forks/alexeyab
    check patched-object build $folder OBJECT="$work/darknet_gemm.o" hook-object
    $CC -shared -fPIC -O1 -o "$work/libpatched.so" -DDARKNET_GEMM -Isrc -I$folder/include tests/support/fake_forks/*.c \
        "$work/darknet_gemm.o" -lm -pthread -ldl || { fail patched-host "it does not link"; return; }
    $CC -shared -fPIC -O1 -o "$work/libfake.so" -Isrc -I$folder/include tests/support/fake_forks/*.c -lm
    compile_client fork_client $folder "$work/client"
    run "$work/client" "$work/libfake.so" '' "$work/alone"
    run "$work/client" "$work/libpatched.so" '' "$work/patched"
    check patched-equal close_to "$work/alone" "$work/patched"
    check patched-cut close_to "$work/alone.cut" "$work/patched.cut"
    own=$(sed -n 's/^own //p' "$work/patched.error" | sort -un | tr '\n' ' ')
    if [ "$own" = "23 " ]; then pass patched-own-code; else fail patched-own-code "these layers ran Darknet's own code: $own"; fi
}

# wrap FOLDER: leaves the file of linker options in $OUT
wrap() { build "$1" wrap >"$work/said" 2>&1; }

# wrapped_fake: the small Darknet of AlexeyAB's kind, linked with the options of `make wrap`
wrapped_fake()
{
    folder=tests/support/fake_forks/alexeyab
    check wrap-links wrap $folder
    check wrap-says-how grep -q "LDFLAGS=.*@$OUT/darknet-layers.link" "$work/said"
    $CC -shared -fPIC -O1 -o "$work/libwrapped.so" -Isrc -I$folder/include tests/support/fake_forks/*.c -lm @"$OUT/darknet-layers.link" ||
        { fail wrap-host "it does not link"; return; }
    run "$work/client" "$work/libwrapped.so" '' "$work/wrapped"
    check wrap-equal close_to "$work/alone" "$work/wrapped"
    own=$(sed -n 's/^own //p' "$work/wrapped.error" | sort -un | tr '\n' ' ')
    if [ "$own" = "23 " ]; then pass wrap-own-code; else fail wrap-own-code "these layers ran Darknet's own code: $own"; fi
}

# real NAME FOLDER LIBRARY HOW: the fork itself, if its folder is named
real()
{
    if [ -z "$2" ]; then return; fi
    if [ -r "$2/$3" ]; then fork "$1" "$2" "$2/$3"; networks "$1" "$2/$3"; else fail "$1" "$2 has no $3: $4"; fi
}
case $($CC -dumpmachine) in
x86_64-* | aarch64-*) ;;
*) skip_machine layers "libdarknet-layers.so is for x86-64 and arm64"; finish ;;
esac
# What make layers says: the next step, and what it lacks.
if [ -z "$cross" ]; then
    check says-how sh -c "make -n INSTALL=0 BUILD='$BUILD' layers | grep -qF 'before the command of that Darknet: LD_PRELOAD='"
    check says-what-is-reached sh -c "make -n INSTALL=0 BUILD='$BUILD' layers | grep -q 'darknet of Debian, is not reached'"
    mkdir -p "$work/no-opencv/src-lib"
    cp tests/support/fake_forks/hankai/src-lib/* "$work/no-opencv/src-lib"
    echo '#include <opencv2/missing.hpp>' >"$work/no-opencv/src-lib/darknet_internal.hpp"
    for compiler in "$CXX" clang++; do
        command -v "$compiler" >/dev/null || continue
        expect_failure "no-opencv-$compiler" "make layers: OpenCV's opencv2/missing.hpp is not found" \
            env CXX="$compiler" setup/layers.sh "$work/no-opencv" "$work/made"
    done
fi
# one_line NAME MESSAGE COMMAND...: fails with this line and no other
one_line()
{
    expect_failure "$@"
    check "$1-one-line" [ "$(grep -vc '^make[:[]' "$work/output")" = 1 ]
}
# judged: a tree is known by its header and by what was built in it.
judged()
{
    tree=$work/tree
    mkdir -p "$tree/include" "$tree/src"
    header=tests/support/fake_forks/alexeyab/include/darknet.h
    sed 's/new_coords, //' $header >"$tree/include/darknet.h"
    old="is AlexeyAB's Darknet of before November 2020, without new_coords"
    one_line old-layers "make layers: $tree $old" setup/layers.sh "$tree" "$work/made"
    one_line old-patch "$tree $old" make patch DARKNET_SRC="$tree"
    one_line old-unpatch "has no .darknet-gemm" setup/patch.sh --undo "$tree"
    one_line old-wrap "make wrap: $tree $old" build "$tree" wrap
    echo 'enum { UPSAMPLE }; /* NNPACK */' >"$tree/include/darknet.h"
    echo 'NNPACK=1' >"$tree/Makefile"
    one_line nnpack-layers 'is darknet-nnpack' setup/layers.sh "$tree" "$work/made"
    one_line nnpack-patch 'is darknet-nnpack' setup/patch.sh "$tree"
    echo 'NNPACK=0' >"$tree/Makefile"
    expect nnpack-without -DHOOK_PRELOAD setup/layers.sh "$tree" "$work/made"
    cp $header "$tree/include/darknet.h"
    echo 'GPU=1' >"$tree/Makefile"
    one_line gpu-layers 'has GPU=1' setup/layers.sh "$tree" "$work/made"
    expect gpu-0-said -DHOOK_ALEXEYAB env GPU=0 setup/layers.sh "$tree" "$work/made"
    echo forward_network >"$tree/libdarknet.so"
    expect gpu-0-built -DHOOK_ALEXEYAB setup/layers.sh "$tree" "$work/made"
    echo 'GPU=0' >"$tree/Makefile"
    echo forward_network_gpu >"$tree/libdarknet.so"
    one_line gpu-1-built 'has GPU=1' setup/layers.sh "$tree" "$work/made"
    rm -r "$tree/include" "$tree/libdarknet.so"
    echo 'typedef struct network {} network;' >"$tree/src/network.h"
    one_line older-layers 'is a Darknet of before 2018' setup/layers.sh "$tree" "$work/made"
    one_line older-patch 'is a Darknet of before 2018' setup/patch.sh "$tree"
    rm -r "$tree"
}
if [ -n "$cross" ]; then
    :
elif [ -r /usr/lib/darknet/libdarknet.so ]; then
    fork debian /usr /usr/lib/darknet/libdarknet.so
    networks debian /usr/lib/darknet/libdarknet.so
    # A header with one field more in the middle of a layer: the library stays out.
    mkdir -p "$work/other/include"
    sed 's/^    int stride;/    int strange; int stride;/' /usr/lib/darknet/include/darknet.h >"$work/other/include/darknet.h"
    other other-layout "$work/other" /usr/lib/darknet/libdarknet.so
else
    skip debian "no /usr/lib/darknet/libdarknet.so (Debian: darknet)"
fi
[ -n "$cross" ] || judged
# Debian's executable under the preload: one line at its end.
if [ -z "$cross" ] && [ -x /usr/bin/darknet ]; then
    said=$(LD_PRELOAD=$OUT/libdarknet-layers.so /usr/bin/darknet nothing 2>&1 | grep '^gemm:')
    case $said in
    "gemm: no call of 'darknet' reached LD_PRELOAD=$OUT/libdarknet-layers.so, "*) pass executable-said ;;
    *) fail executable-said "$said" ;;
    esac
fi
fake fake-alexeyab alexeyab group_id include/darknet.h $CC
[ -n "$cross" ] || hybrid_fake
patched_fake
wrapped_fake
fake fake-hankai hankai group_id src-lib/darknet_layers.hpp $CXX -x c++ -w
# patched_real TREE: AlexeyAB's Darknet patched and built, its outputs, and unpatched to the last byte
patched_real()
{
    mkdir "$work/tree"
    (cd "$1" && tar cf - --exclude=obj --exclude='*.so' --exclude=./darknet --exclude=.git .) | tar xf - -C "$work/tree"
    cp -r "$work/tree" "$work/before"
    check patch-alexeyab setup/patch.sh "$work/tree"
    expect_failure patch-alexeyab-twice 'is patched already' setup/patch.sh "$work/tree"
    check patch-alexeyab-builds make -C "$work/tree" GEMM="$root" BUILD="$BUILD" LIBSO=1 libdarknet.so
    compile_client fork_client "$1" "$work/client"
    run "$work/client" "$1/libdarknet.so" '' "$work/alone"
    GEMM_TRACE=$work/trace.patched run "$work/client" "$work/tree/libdarknet.so" '' "$work/patched"
    check patch-alexeyab-equal close_to "$work/alone" "$work/patched"
    check patch-alexeyab-whole-layers grep -q ' pad ' "$work/trace.patched"
    rm -rf "$work/tree/obj" "$work/tree/libdarknet.so"
    check unpatch-alexeyab setup/patch.sh --undo "$work/tree"
    check unpatch-alexeyab-all-bytes diff -r "$work/before" "$work/tree"
}
# wrapped_real TREE: AlexeyAB's Darknet linked again with the options of `make wrap`, its sources as they are
wrapped_real()
{
    mkdir "$work/wrapped_tree"
    (cd "$1" && tar cf - --exclude='*.so' --exclude=./darknet --exclude=.git .) | tar xf - -C "$work/wrapped_tree"
    check wrap-alexeyab-options wrap "$1"
    check wrap-alexeyab-links make -C "$work/wrapped_tree" AVX=1 OPENMP=1 LDFLAGS="-lm -pthread -lgomp @$OUT/darknet-layers.link" \
        darknet
    darknet_folder "$work/user"
    for tree in "$1" "$work/wrapped_tree"; do
        (cd "$work/user" && GEMM_TRACE=$work/trace.wrapped "$tree/darknet" detector test cfg/coco.data cfg/kite-demo.cfg \
            cfg/kite-demo.weights data/kite.jpg -dont_show 2>/dev/null) | grep -a '^[a-z ]*: [0-9]*%' >"$work/labels.${tree##*/}"
    done
    check wrap-alexeyab-labels-there grep -q '%' "$work/labels.wrapped_tree"
    check wrap-alexeyab-labels diff "$work/labels.${1##*/}" "$work/labels.wrapped_tree"
    check wrap-alexeyab-whole-layers grep -q ' pad ' "$work/trace.wrapped"
}
# patched_sources TREE: hank-ai's sources patched and unpatched to the last byte
patched_sources()
{
    cp -r "$1/src-lib" "$1/src-cli" "$1/CMakeLists.txt" "$work/sources" && cp -r "$work/sources" "$work/sources.before"
    check patch-hankai setup/patch.sh "$work/sources"
    check patch-hankai-changes grep -q DARKNET_GEMM "$work/sources/src-cli/CMakeLists.txt"
    expect_failure patch-hankai-twice 'is patched already' setup/patch.sh "$work/sources"
    check unpatch-hankai setup/patch.sh --undo "$work/sources"
    check unpatch-hankai-all-bytes diff -r "$work/sources.before" "$work/sources"
}
mkdir "$work/sources"
[ ! -r "${HANKAI:-/nowhere}/src-cli/CMakeLists.txt" ] || patched_sources "$HANKAI"
[ ! -r "${ALEXEYAB:-/nowhere}/libdarknet.so" ] || { patched_real "$ALEXEYAB"; wrapped_real "$ALEXEYAB"; }
real alexeyab "${ALEXEYAB:-}" libdarknet.so 'make LIBSO=1 there'
for name in hankai hankai-blas; do
    if [ $name = hankai ]; then folder=${HANKAI:-}; else folder=${HANKAI_BLAS:-}; fi
    real $name "$folder" build/src-lib/libdarknet.so 'cmake -B build and cmake --build build there'
done
finish
