#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that say what is not so: pictures, sizes of a cfg, names, data files, lists, trees and weights. Each is read
# right, or refused with one line and status 1. docs/development.md has the fuzzers, which draw such files.
. tests/support/lib.sh

darknet_folder "$work/here"
cd "$work/here" || exit 1
demo='./darknet detect cfg/kite-demo.cfg cfg/kite-demo.weights'

# refuses NAME LINE COMMAND...: ends with status 1, and its last line is LINE (a shell pattern)
refuses()
{
    name=$1 line=$2
    shift 2
    "$@" >"$work/output" 2>&1 </dev/null
    status=$?
    last=$(tail -n 1 "$work/output")
    case $status:$last in
    1:$line) pass "$name" ;;
    *) fail "$name" "status $status, not 1 with '$line': $last" ;;
    esac
}

# ---- Pictures ----
only='is not supported, only PNG, JPEG and BMP are'
picture() { printf "$3" >"x.$1"; refuses "picture-$1" "*Cannot load image \"x.$1\": $2" $demo "x.$1"; }
picture gif "GIF $only" 'GIF89a\001\000\001\000\000\000\000;'
picture webp "WebP $only" 'RIFF\020\000\000\000WEBPVP8 '
picture psd "PSD $only" '8BPS\000\001'
picture hdr "HDR $only" '#?RADIANCE\n\n-Y 1 +X 1\n'
picture pic "PIC $only" '\123\200\366\064'
picture ppm "PNM $only" 'P6\n1 1\n255\nabc'
picture tga 'it is no PNG, JPEG or BMP that can be read' '\000\000\002\000\000\000\000\000\000\000\000\000\001\000\001\000\030\000abc'
# 100,000 x 100,000 of 24 bits: 18 bytes, the sizes, and the rest of a header of 54.
sides='\240\206\001\000'
head='BM\000\000\000\000\000\000\000\000\066\000\000\000\050\000\000\000'
tail='\001\000\030\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
picture bmp 'it has more than 2^27 pixels, or 65535 on a side' "$head$sides$sides$tail"
none='\000\000\000\000'
picture dib 'it has no pixels' "$head$none$sides$tail"
picture png 'it has more than 2^27 pixels, or 65535 on a side' \
    '\211PNG\r\n\032\n\000\000\000\rIHDR\000\000\100\000\000\000\100\000\010\002\000\000\000abcd'
head -c 300 data/dog.jpg >x.jpg
refuses picture-cut '*Cannot load image "x.jpg": *' $demo x.jpg
expect picture-jpg kite: $demo data/kite.jpg

# ---- Masks: one number each here, where drawing wants 14x14; each is drawn once and freed once ----
printf '%s\n' '[net]' width=32 height=32 channels=3 '[convolutional]' filters=7 activation=linear \
    '[region]' classes=1 coords=5 num=1 anchors=9,9 softmax=1 >mask.cfg
./darknet partial mask.cfg '' mask.weights 2 >"$work/output" 2>&1
check region-mask ./darknet detect mask.cfg mask.weights data/dog.jpg -thresh 0

# ---- Sizes: every key of every layer (tests/fuzz/layers) with five sizes, in 2 GB of address space ----
awk '{
    sizes = split("0 1 -1 1073741824 2147483647", size, " ")
    $0 = "[net] height=8 width=8 channels=4 " $0
    for (i = NR == 1 ? 2 : 5; i <= NF; ++i) if ($i ~ /=/) for (s = 1; s <= sizes; ++s) {
        text = ""
        for (j = 1; j <= NF; ++j) text = text (j == i ? substr($j, 1, index($j, "=")) size[s] : $j) "\n"
        print text >("size" ++cases ".cfg")
        close("size" cases ".cfg")
    }
}' "$root/tests/fuzz/layers"
(
    ulimit -v 2000000 && ulimit -c 0 || exit
    for cfg in size*.cfg; do
        GEMM_IMPL=stock GEMM_THREADS=1 timeout 60 ./darknet speed "$cfg" 1 >"$work/output" 2>&1
        status=$?
        last=$(tail -n 1 "$work/output")
        case $status:$last in 0:Speed:* | 1:*[a-z]*) echo "$status" ;; *) echo "$cfg: status $status: $last" ;; esac
    done
) >sizes 2>/dev/null
wrong=$(grep : sizes)
if [ -z "$wrong" ]; then pass sizes-of-cfg; else fail sizes-of-cfg "$wrong"; fi
counts=$(sort sizes | uniq -c | tr -s '\n ' ' ')
check "sizes-are-many:$counts" test "$(grep -cx 0 sizes)" -gt 150 -a "$(grep -cx 1 sizes)" -gt 150

# ---- Names, data files, lists, trees ----
valid="./darknet detector test x.data cfg/kite-demo.cfg cfg/kite-demo.weights"
names() { printf "$1" >x.names; printf 'classes=34\r\nnames = x.names\r\n' >x.data; }
names 'a\nb\nc'
refuses names-few 'Names file x.names has 3 names, but 34 classes are there' $valid data/kite.jpg
names ''
refuses names-none 'Names file x.names has 0 names, but 34 classes are there' $valid data/kite.jpg
tr '\n' '\r' <data/coco.names | sed 's/\r/\r\n/g; s/\r\n$//' >crlf
names "$(cat crlf)"
cp crlf x.names
expect names-cr-lf 'person: ' $valid data/person.jpg
printf '\n\n\n' >blank
cat blank data/coco.names >x.names
expect names-empty-lines 'kite: ' $demo data/kite.jpg
printf 'names=x.data\n' >x.data
refuses data-names-itself 'Names file x.data has 1 names, but *' $valid data/kite.jpg
printf 'valid=x.data\nnames=data/coco.names\n' >x.data
mkdir results
refuses data-lists-itself '*Total Detection Time: *' ./darknet detector valid x.data cfg/kite-demo.cfg cfg/kite-demo.weights
printf '\ndata/kite.jpg\r\n\n\ndata/dog.jpg\n\n' >list
printf 'valid=list\nnames=data/coco.names\n' >x.data
check list-empty-lines ./darknet detector valid x.data cfg/kite-demo.cfg cfg/kite-demo.weights
awk 'BEGIN { for (i = 0; i < 5000; ++i) printf "x"; print ".jpg" }' >list
printf 'train=list\n' >x.data
expect_failure list-long-name 'File name too long' ./darknet detector train x.data cfg/kite-demo.cfg
: >list
expect_failure list-empty 'The list of pictures is empty' ./darknet detector train x.data cfg/kite-demo.cfg

two='[net]\nheight=4\nwidth=4\nchannels=3\n[connected]\noutput=3\n[softmax]\n'
tree() { printf "$two%s" tree=x.tree >x.cfg; printf "$1" >x.tree; refuses "tree-$2" "$3" ./darknet speed x.cfg 1; }
tree 'a -1\nb -1\n' small 'A tree file has another number of classes than its layer'
tree 'a 1\nb 0\nc -1\n' loop '*the parent of a class is no class before it'
tree "$(awk 'BEGIN { while (++i < 900) printf "x" }') -1\nb 99999\n" far '*the parent of a class is no class before it'
printf 'a -1\nb -1\nc 0\n' >x.tree
expect tree-right Speed: ./darknet speed x.cfg 1
printf '[net]\nheight=4\nwidth=4\nchannels=3\npolicy=steps\nsteps=1,2,3\nscales=.1\n[avgpool]\n' >x.cfg
refuses scales-few '*steps has 3 numbers, but scales has 1' ./darknet speed x.cfg 1

# ---- Weights: both headers, and the flag for transposed ones ----
# Darknet's own writer, then the words of the header: 16 or 20 bytes and 49 x 3 floats.
printf "$two" >x.cfg
./darknet partial x.cfg '' x.weights 9 >/dev/null 2>&1
tail -c +21 x.weights >floats
version2() { printf '\000\000\000\000\002\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'; cat "$@"; }
version1() { printf '\000\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000'; cat "$@"; }
transposed() { printf '\000\000\000\000\351\003\000\000\000\000\000\000\000\000\000\000'; cat "$@"; }
printf 'labels=x.names\nnames=x.names\n' >x.data
printf 'a\nb\nc\n' >x.names
predict='./darknet classifier predict x.data x.cfg y.weights data/dog.jpg'
head -c 99 floats >few
for head in version1:16 version2:20 transposed:16; do
    bytes=${head#*:} head=${head%:*}
    $head floats >y.weights
    expect "weights-$head" "Loading weights from y.weights...Done!" $predict
    $head few >y.weights
    refuses "weights-$head-short" "Weights file is too short for this cfg: a layer without its weights finds nothing (the file has $((bytes + 99)) bytes, the cfg needs $((bytes + 588)))" $predict
    $head floats few >y.weights
    expect "weights-$head-long" "this cfg needs its first $((bytes + 588)) bytes alone, of $((bytes + 687)), Done!" $predict
done

# ---- No shell, no format from outside ----
cd "$root" || exit 1
darknet=$BUILD/darknet
sources=$(grep -l 'printf\|system\|popen\|exec' "$darknet"/src/*.c "$darknet"/examples/*.c $(find src -name '*.c'))
grep -nE '\b(system|popen|exec[lv][a-z]*) *\(' $sources | grep -v 'popen("[^"]*", "r")' >"$work/shells"
check no-shell test ! -s "$work/shells"

# formats FILE...: the calls whose format is no constant
formats()
{
    for file; do
        ${CC:-cc} -fsyntax-only -D_GNU_SOURCE -Wformat -Wformat-security -Isrc -Itests -I"$darknet/include" \
            -I"$darknet/src" -include "$darknet/src/checked.h" "$file" 2>&1 | grep 'Wformat-security'
    done >"$work/formats"
}
printf '#include <stdio.h>\nvoid f(const char *s) { printf(s); }\n' >"$work/format.c"
formats "$work/format.c"
check formats-are-seen test -s "$work/formats"
formats $sources
check formats-are-constant test ! -s "$work/formats"
finish
