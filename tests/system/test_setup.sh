#!/bin/sh
# SPDX-License-Identifier: MIT
# Getting and patching Darknet, getting weights: what is refused, and that nothing is left half done.
. tests/support/lib.sh

upstream=$BUILD/upstream

expect_failure source-missing 'is not a checkout of Darknet: it has no Makefile' \
    env DARKNET_SRC="$work/nowhere" setup/darknet.sh "$work/tree"
mkdir -p "$work/other/src"
touch "$work/other/Makefile"
expect_failure source-not-darknet 'is not a checkout of Darknet: it has no src/gemm.c' \
    env DARKNET_SRC="$work/other" setup/darknet.sh "$work/tree"
if [ -e "$work/tree" ] || [ -e "$work/tree.new" ]; then
    fail source-nothing-left "a refused source left a folder"
else
    pass source-nothing-left
fi

DARKNET_SRC=$upstream setup/darknet.sh "$work/copy" >/dev/null
if diff -r -x obj -x darknet -x '*.a' -x '*.so' -x backup -x results "$upstream" "$work/copy" >/dev/null; then
    pass source-copied
else
    fail source-copied "DARKNET_SRC was not copied whole"
fi

# ---- packages and Debian's source package, from a false apt ----
# offered and installed hold names of packages, a line each. No package whose name has `broken` can be
# installed. A mirror lacks the .dsc, so only what --tar-only asks for arrives, and the status tells of
# a failure.
mkdir "$work/apt" "$work/tarred" && cp "$work/copy/Makefile" "$work/tarred"
tar -C "$work" -cJf "$work/tarball" tarred
printf '%s\n' libdnnl2 libdnnl3.6 libdnnl-dev libdnnl10doc libbroken1 wanted >"$work/offered"
: >"$work/installed"
cat >"$work/apt/dpkg-query" <<'END'
sed 's/^/installed /' "$work/installed"
END
cat >"$work/apt/apt-cache" <<'END'
case $1 in
pkgnames) grep "^$2" "$work/offered" ;;
policy) [ $# = 1 ] && echo ' 500 http://mirror' || echo '  Candidate: 1' ;;
esac
END
cat >"$work/apt/apt-get" <<'END'
echo "$*" >>"$work/asked"
for name; do :; done
case $* in
*' source '*--tar-only*) cp "$work/tarball" darknet_0.orig.tar.xz; exit 100 ;;
*' source '* | *broken*) exit 100 ;;
install*) grep -qx "$name" "$work/offered" && echo "$name" >>"$work/installed" ;;
esac
END
printf 'exec "$@"\n' >"$work/apt/sudo"
echo 'exit 1' >"$work/apt/git"
for name in dpkg-query apt-cache apt-get sudo git; do
    sed -i '1i #!/bin/sh' "$work/apt/$name" && chmod +x "$work/apt/$name"
done
with_apt() { env work="$work" PATH="$work/apt:$PATH" "$@"; }
packages() { with_apt setup/packages.sh "$@"; }

[ "$(packages lacking -- 'libdnnl[0-9]' 'libdnnl[0-9].*' oclgrind | tr '\n' ' ')" = 'oclgrind ' ] &&
    pass packages-lacking || fail packages-lacking "$(packages lacking -- 'libdnnl[0-9]' oclgrind)"
check packages-optional packages install wanted -- 'libdnnl[0-9.]*[0-9]' oclgrind 'libbroken[0-9]'
cp "$work/check" "$work/said"
check packages-left-out grep -q "left out: oclgrind" "$work/said"
check packages-broken grep -q "could not install libbroken1, which is optional" "$work/said"
check packages-newest [ "$(tr '\n' ' ' <"$work/installed")" = 'wanted libdnnl3.6 ' ]
rm "$work/asked"
check packages-not-asked-again packages install wanted -- 'libdnnl[0-9.]*[0-9]' oclgrind
[ ! -s "$work/check" ] && [ ! -e "$work/asked" ] && pass packages-quiet || fail packages-quiet "$(cat "$work/check" "$work/asked")"
expect_failure packages-required 'apt-get could not install: nosuch' packages install wanted nosuch -- oclgrind

expect_failure source-tarball-wrong 'is not the one expected' \
    with_apt setup/darknet.sh "$work/tree"
DARKNET_SHA256=$(sha256sum <"$work/tarball" | cut -d ' ' -f 1)
export DARKNET_SHA256
check source-tarball-alone with_apt setup/darknet.sh "$work/tree"
check source-tarball-unpacked cmp "$work/tree/Makefile" "$work/copy/Makefile"
unset DARKNET_SHA256

# fingerprint FOLDER: of every file in it
fingerprint() { (cd "$1" && find . -type f -exec sha256sum {} + | sort) | sha256sum; }

cp -R "$work/copy" "$work/patched"
setup/patch.sh "$work/patched" && pass patch-applies || fail patch-applies "the series does not apply to upstream"
[ -z "$(find "$work/patched" -name '*.orig' -o -name '*.rej')" ] && pass patch-clean || fail patch-clean "left .orig or .rej"
cp -R "$work/copy" "$work/alone"
check patch-alone setup/patch.sh "$work/alone" pjreddie
[ -f "$work/patched/src/cfg_check.c" ] && [ ! -e "$work/alone/src/cfg_check.c" ] && pass patch-without-extra ||
    fail patch-without-extra "src/cfg_check.c is of the series pjreddie/extra"
grep -rlE 'hook_[a-z]*\(.*\)$' "$work/patched/src" >"$work/bodies"
[ ! -s "$work/bodies" ] && [ ! -e "$work/patched/src/hook.c" ] && pass patch-calls-alone ||
    fail patch-calls-alone "the hook has code outside of src/hook: $(cat "$work/bodies")"
cp -R "$work/copy" "$work/exact"
sed 's|^|pjreddie/|' patches/pjreddie/series >"$work/all"
sed 's|^|pjreddie/extra/|' patches/pjreddie/extra/series >>"$work/all"
while read -r name; do
    patch -p1 -d "$work/exact" --no-backup-if-mismatch <"patches/$name" | sed -n "/offset\\|fuzz/s|^|$name: |p"
done <"$work/all" >"$work/moved"
[ ! -s "$work/moved" ] && pass patch-exact || fail patch-exact "$(cat "$work/moved")"
# What a patched Darknet calls of src/hook/pjreddie.h.
sed -n 's/^[a-z].*[ *]\([a-z_]*\)(.*);$/\1/p' src/hook/pjreddie.h >"$work/offered"
while read -r name; do
    ! sed -n 's/^+//p' patches/pjreddie/0*.patch | grep -q "^ .*\<$name(" || echo "$name"
done <"$work/offered" >"$work/called"
grep -ho '^+ .*\<hook_[a-z]*(' patches/pjreddie/0*.patch | sed 's/.*\(hook_[a-z]*\)($/\1/' | sort -u |
    grep -vxFf "$work/called" >"$work/unknown"
[ "$(wc -l <"$work/called")" = 9 ] && [ ! -s "$work/unknown" ] && pass patch-nine-functions ||
    fail patch-nine-functions "called: $(tr '\n' ' ' <"$work/called"); not in pjreddie.h: $(tr '\n' ' ' <"$work/unknown")"
before=$(fingerprint "$work/patched")
expect_failure patch-twice 'is patched already' setup/patch.sh "$work/patched"
expect_failure source-patched 'is patched already' \
    sh -c "DARKNET_SRC='$work/patched' setup/darknet.sh '$work/again' && setup/patch.sh '$work/again'"
[ "$before" = "$(fingerprint "$work/patched")" ] && pass patch-twice-unchanged || fail patch-twice-unchanged "files changed"

# A patch of the second series fails: nothing of the ones before it may stay.
cp -R "$work/copy" "$work/edited"
sed -i 's/int transpose = (major/int transposed = (major/' "$work/edited/src/parser.c"
before=$(fingerprint "$work/edited")
expect_failure patch-refused 'pjreddie/extra/0001-wrong-files-end-the-program.patch does not apply to src/parser.c' \
    setup/patch.sh "$work/edited"
[ "$before" = "$(fingerprint "$work/edited")" ] && pass patch-all-or-nothing || fail patch-all-or-nothing "half patched"

# make patch, with UNDO=1 too: every byte comes back, also of files that the patches made.
cp -R "$work/copy" "$work/my own"
before=$(fingerprint "$work/my own")
check patch-make make -s patch DARKNET_SRC="$work/my own"
cp "$work/check" "$work/said"
check patch-next grep -qxF "Patched. Next: make -C '$work/my own' GEMM=$root" "$work/said"
[ "$before" != "$(fingerprint "$work/my own")" ] && pass patch-make-changed || fail patch-make-changed 'the tree is as before'
check unpatch make -s patch UNDO=1 DARKNET_SRC="$work/my own"
[ "$before" = "$(fingerprint "$work/my own")" ] && pass unpatch-all-bytes || fail unpatch-all-bytes "$(diff -rq "$work/copy" "$work/my own")"
expect_failure unpatch-twice 'has no .darknet-gemm' make -s patch UNDO=1 DARKNET_SRC="$work/my own"
make -s patch DARKNET_SRC="$work/my own" EXTRA=0 >/dev/null && make -s patch UNDO=1 DARKNET_SRC="$work/my own"
[ "$before" = "$(fingerprint "$work/my own")" ] && pass unpatch-without-extra || fail unpatch-without-extra "$(diff -rq "$work/copy" "$work/my own")"

# What the user changed meanwhile, or deleted, is named, and nothing else happens.
make -s patch DARKNET_SRC="$work/my own" >/dev/null
echo '/* mine */' >>"$work/my own/src/blas.c"
echo '/* mine */' >>"$work/my own/src/parser.c"
rm "$work/my own/src/cfg_check.c"
before=$(fingerprint "$work/my own")
expect_failure unpatch-changed 'changed since the patch in' setup/patch.sh --undo "$work/my own"
check unpatch-changed-names grep -q ': src/cfg_check.c src/parser.c\. ' "$work/output"
check unpatch-changed-line [ "$(wc -l <"$work/output")" = 1 ]
[ "$before" = "$(fingerprint "$work/my own")" ] && pass unpatch-changed-nothing || fail unpatch-changed-nothing 'files changed'

# A wrong folder: one line says what is there and what should be.
expect_failure patch-no-folder 'is no folder' setup/patch.sh "$work/nowhere"
expect_failure patch-wrong-folder 'it has no src/gemm.c include/darknet.h examples/detector.c; found: Makefile src' \
    setup/patch.sh "$work/other"
check patch-wrong-folder-line [ "$(wc -l <"$work/output")" = 1 ]

# A full disk, or a file that cannot be replaced: the tree is as before. Both come at the last file.
mkdir "$work/bin"
last=$(sed -n 's|^+++ b/||p' patches/pjreddie/*.patch patches/pjreddie/extra/*.patch | sort -u | tail -n 1)
for tool in cp mv; do
    cat >"$work/bin/$tool" <<END
#!/bin/sh
for to do :; done
case \$to in
"$work/full/$last"*)
    echo "$tool: error writing '\$to': No space left on device" >&2
    exit 1 ;;
esac
exec $(command -v $tool) "\$@"
END
    chmod +x "$work/bin/$tool"
    rm -rf "$work/full"
    cp -R "$work/copy" "$work/full"
    before=$(fingerprint "$work/full")
    expect_failure "patch-full-$tool" 'nothing was changed' env PATH="$work/bin:$PATH" setup/patch.sh "$work/full"
    is_unchanged=$(fingerprint "$work/full")
    [ "$before" = "$is_unchanged" ] && pass "patch-full-$tool-unchanged" || fail "patch-full-$tool-unchanged" \
        "$(diff -rq "$work/copy" "$work/full")"
    rm "$work/bin/$tool"
done

# Downloads, from files: what is wrong is deleted and named, and the next address is tried.
echo 'no weights' >"$work/wrong.weights"
echo '<!DOCTYPE html><html><body>Moved</body></html>' >"$work/page"
echo 'weights' >"$work/right.weights"
WEIGHTS_SHA256=$(sha256sum <"$work/right.weights" | cut -d ' ' -f 1)
export WEIGHTS_SHA256
weights="$work/yolov3-tiny.weights"
expect_failure weights-wrong-file "Deleted what came from file://$work/wrong.weights: its sha256 is not" \
    setup/weights.sh "$weights" "file://$work/wrong.weights"
expect_failure weights-page "Deleted what came from file://$work/page: an HTML page instead of the weights" \
    setup/weights.sh "$weights" "file://$work/page"
expect_failure weights-no-file "Couldn't open file $work/nowhere" \
    setup/weights.sh "$weights" "file://$work/nowhere"
[ -z "$(ls "$work" | grep '^yolov3')" ] && pass weights-nothing-left || fail weights-nothing-left "$(ls "$work")"
# Servers that stall: one sends no byte, the other one the beginning.
cat >"$work/stall.py" <<'END'
import socket, sys, threading, time
def serve(server, text):
    while True:
        peer = server.accept()[0]
        peer.recv(1000)
        peer.sendall(text)
        threading.Thread(target=lambda p=peer: time.sleep(600), daemon=True).start()
for text in b"", b"HTTP/1.0 200 OK\r\nContent-Length: 35434956\r\n\r\nyolo":
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(server, text), daemon=True).start()
    print("http://127.0.0.1:%d/" % server.getsockname()[1], flush=True)
time.sleep(120)
END
: >"$work/stalling"
/usr/bin/python3 "$work/stall.py" >"$work/stalling" &
stalling=$!
while [ "$(wc -l <"$work/stalling")" != 2 ] && kill -0 $stalling; do sleep .1; done
for kind in silent half; do
    url=$(sed -n "$([ $kind = silent ] && echo 1 || echo 2)p" "$work/stalling")
    expect_failure "weights-stalled-$kind" 'Operation too slow' \
        env WEIGHTS_STALL=1 timeout 60 setup/weights.sh "$weights" "$url"
done
kill $stalling
[ -z "$(ls "$work" | grep '^yolov3')" ] && pass weights-stalled-nothing-left || fail weights-stalled-nothing-left "$(ls "$work")"
check weights-next-address setup/weights.sh "$weights" "file://$work/nowhere" "file://$work/page" \
    "file://$work/wrong.weights" "file://$work/right.weights"
cmp -s "$weights" "$work/right.weights" && pass weights-kept || fail weights-kept "not the file of the last address"
unset WEIGHTS_SHA256
expect_failure weights-published-sha256 "dccea06f59b781ec1234ddf8d1e94b9519a97f4245748a7d4db75d5b7080a42c" \
    setup/weights.sh "$work/other.weights" "file://$work/right.weights"

# The untrained file: the same every time, and as long as the published one.
$OUT/bench/untrained_weights cfg/yolov3-tiny.cfg "$work/u.weights" 2>/dev/null
if [ "$(wc -c <"$work/u.weights")" = 35434956 ] && cmp -s "$work/u.weights" $BUILD/yolov3-tiny-untrained.weights; then
    pass weights-untrained
else
    fail weights-untrained "not 35,434,956 bytes, or not the same twice"
fi

# Nothing is done twice. A sum of blocks says nothing: a file system may give fresh files their blocks later.
stamp() { ls -l --time-style=full-iso "$BUILD"/*.done "$OUT"/* $BUILD/yolov3-tiny-untrained.weights | grep -v '^total '; }
make -s all default-weights >/dev/null 2>&1
stamp >"$work/before"
make -s all default-weights >"$work/second" 2>&1
stamp | diff "$work/before" - >>"$work/second"
if [ -s "$work/second" ]; then
    fail second-make "a second make did something: $(head -n 6 "$work/second")"
else
    pass second-make
fi

# Weights: of another cfg those beside it; without them one line, and no download. Only untrained weights are
# called so. make -n shows what would run.
expect_failure make-cfg-without-weights 'WEIGHTS=file is needed for CFG=cfg/alexnet.cfg' make detect CFG=cfg/alexnet.cfg
expect_failure make-cfg-missing 'CFG=cfg/none.cfg is no file that can be read' make detect CFG=cfg/none.cfg
mkdir "$work/a b"
cp cfg/kite-demo.cfg "$work/a b/net.cfg" && cp cfg/kite-demo.weights "$work/a b/net.weights"
check make-weights-beside make detect DETECTED="$work/detect" CFG="$work/a b/net.cfg" GEMM_IMPL=packed
cp "$work/check" "$work/said"
check make-weights-beside-detects grep -q "^data/kite.jpg: Predicted in" "$work/said"
check make-weights-beside-trained sh -c '! grep -qi untrained "$1"' - "$work/said"

# Own names and folders by make detect. A class without a name is told before Darknet runs.
for n in 1 2 3; do ln -s "$root/data/dog.jpg" "$work/a b/$n.JPG"; done
seq -f 'class%g' 80 >"$work/a b/own names"
detect_own() { make detect INSTALL=0 DETECTED="$work/detect" CFG="$work/a b/net.cfg" "$@"; }
check make-names detect_own NAMES="$work/a b/own names" IMAGE=data/dog.jpg
cp "$work/check" "$work/said"
check make-names-shown grep -q '^class17: [0-9]*%$' "$work/said"
check make-folder detect_own IMAGE="$work/a b"
check make-folder-pictures [ "$(grep -c 'Predicted in' "$work/check") $(ls "$work"/detect/pictures/[123].jpg | wc -l)" = '3 3' ]
expect_failure make-folder-empty "make detect: IMAGE=$work/offered.d is a folder without a .jpg" \
    sh -c 'mkdir "$1.d"; make detect INSTALL=0 DETECTED="$1.detect" CFG="$2" IMAGE="$1.d"' - "$work/offered" "$work/a b/net.cfg"
echo text >"$work/a b/0.png"
expect_failure make-folder-bad-file "Cannot load image \"$work/a b/0.png\"" detect_own IMAGE="$work/a b"
check make-folder-goes-on [ "$(grep -c 'Predicted in' "$work/output")" = 3 ]
check make-folder-count grep -q 'pictures: the boxes of 3 of 4 pictures' "$work/output"
expect_failure make-home "make detect: CFG=$HOME/none.cfg is no file that can be read" \
    make detect INSTALL=0 DETECTED="$work/detect" 'CFG=~/none.cfg' WEIGHTS=cfg/kite-demo.weights
expect_failure make-image-missing 'make detect: IMAGE=data/none.jpg is no file and no folder that can be read' detect_own IMAGE=data/none.jpg
printf 'one\ntwo\n' >"$work/two names"
expect_failure make-names-few 'net.cfg has 34 classes, and ' detect_own NAMES="$work/two names"
expect_failure make-names-missing 'make detect: NAMES=/none is no file' detect_own NAMES=/none
{ printf 'BM\106\0\0\0\0\0\0\0\66\0\0\0\50\0\0\0\2\0\0\0\2\0\0\0\1\0\30\0\0\0\0\0\20\0\0\0'; head -c 32 /dev/zero; } >"$work/black.bmp"
check make-nothing-found detect_own IMAGE="$work/black.bmp"
cp "$work/check" "$work/said"
check make-nothing-found-said grep -qx '0 objects above 0.5' "$work/said"

make -n ab A=stock B=packed CFG=cfg/kite-demo.cfg 2>/dev/null >"$work/said"
check make-weights-beside-ab grep -q "weights='*cfg/kite-demo.weights" "$work/said"
make -n bench-detect NETWORKS=cfg/kite-demo.cfg=cfg/kite-demo.weights 2>/dev/null >"$work/said"
check make-networks-alone sh -c 'grep -q "set -- cfg/kite-demo" "$1" && ! grep -q "boxes mean nothing" "$1"' - "$work/said"

# A variant that does not exist is told before there are weights, in one line beside make's own.
expect_failure make-ab-unknown 'ab: A=stok: no such variant; did you mean stock?' make ab A=stok B=packed \
    TRAINED="$work/ab.weights" UNTRAINED="$work/ab-untrained.weights" WEIGHTS_URLS="file://$work/none"
check make-ab-unknown-one-line [ "$(grep -vc '^make[:[]' "$work/output")" = 1 ]
check make-ab-unknown-no-weights [ -z "$(ls "$work" | grep '^ab')" ]
expect_failure make-ab-commits-unknown "ab: A='typo' is no commit, tag or branch of this repository" make ab COMMITS=1 \
    A=typo TRAINED="$work/commits.weights" UNTRAINED="$work/commits-untrained.weights" WEIGHTS_URLS="file://$work/none"
check make-ab-commits-unknown-no-weights [ -z "$(ls "$work" | grep '^commits')" ]

# git sees nothing of a build, whatever its folder is called.
mkdir "$work/repository" && git -C "$work/repository" init -q
cp -R Makefile mk setup src kernels install patches "$work/repository"
git -C "$work/repository" add . 2>/dev/null
check build-folder make -s -C "$work/repository" BUILD=build-android OPENCL=0 INSTALL=0 build-android/made-by-darknet-gemm
is_seen=$(git -C "$work/repository" status --porcelain | grep build-android)
[ -z "$is_seen" ] && pass build-folder-ignored || fail build-folder-ignored "$is_seen"

finish
