#!/bin/sh
# SPDX-License-Identifier: MIT
# The wheel: what is in it, what it needs, and that a fresh environment without a network detects with it as
# ./darknet does. What the module does is in tests/support/python_cases.py.
#
#   tests/system/test_python.sh MODELS_FOLDER
. tests/support/lib.sh

models=$1
python=/usr/bin/python3
export GEMM_PREPARE=first   # all passes have the same bits
if ! $python -c 'import numpy, PIL, venv, ensurepip' 2>"$work/output"; then
    skip python "$(tail -n 1 "$work/output") (Debian: python3-numpy python3-pil python3-venv)"
    finish
fi

# wheel FOLDER: make on what is built
wheel() { env -u MAKELEVEL -u MAKEFLAGS make -s INSTALL=0 "BUILD=$BUILD" "OUT=$OUT" "WHEELS=$work/$1" wheel; }

# ---- The file ----
check wheel-build wheel first
file=$(echo "$work"/first/*.whl)
name=$(basename "$file")
check wheel-built-again wheel second
check wheel-same-bytes cmp "$file" "$work/second/$name"
version=$(sed -n 's/^#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' src/darknet_gemm.h)
check wheel-name sh -c 'echo "$1" | grep -qx "darknet_gemm-$2-py3-none-manylinux_2_[0-9]*_$3\.whl"' - "$name" "$version" "$(uname -m)"
check wheel-size [ "$(wc -c <"$file")" -lt 5000000 ]

# Of the library: glibc alone, in the version of the name, and no symbols.
$python -m zipfile -e "$file" "$work/unpacked"
library=$work/unpacked/darknet_gemm/libdarknet.so
check wheel-extra grep -qx 'Requires-Dist: distributed; extra == "dask"' "$work/unpacked/darknet_gemm-$version.dist-info/METADATA"
readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^lib\(c\|m\|mvec\)\.so\|^ld-linux' >"$work/needed"
check wheel-needs-glibc-alone [ ! -s "$work/needed" ]
newest=$(objdump -T "$library" | grep -o 'GLIBC_2\.[0-9]*' | sort -t . -k 2n | tail -n 1)
check wheel-tag sh -c 'case $1 in *manylinux_2_${2#GLIBC_2.}_*) ;; *) echo "$2"; exit 1 ;; esac' - "$name" "$newest"
check wheel-stripped sh -c 'readelf -SW "$1" >"$1.sections" && ! grep -q "\.symtab\|\.debug" "$1.sections"' - "$library"

# ---- A fresh environment ----
check pip-install sh -c '/usr/bin/python3 -m venv "$1" && "$1/bin/pip" install --no-index --disable-pip-version-check "$2"' - \
    "$work/venv" "$file"
check pip-check "$work/venv/bin/pip" check --disable-pip-version-check
check without-numpy sh -c '! "$1" -c "import numpy"' - "$work/venv/bin/python"

# same NAME CFG WEIGHTS PICTURE OPTION...: labels, in any order, and the picture that is written
same()
{
    network=$1 cfg=$2 weights=$3 picture=$4
    shift 4
    darknet_folder "$work/darknet"
    (cd "$work/darknet" && ./darknet detect "$cfg" "$weights" "$picture" 2>/dev/null) | grep '%$' | sort >"$work/wanted"
    "$work/venv/bin/python" -m darknet_gemm detect "$cfg" "$weights" "$picture" --save "$work/saved" "$@" 2>/dev/null |
        cut -f 1 | grep '%$' | sort >"$work/got"
    if [ -s "$work/wanted" ]; then pass "$network-found"; else fail "$network-found" 'no boxes'; fi
    check "$network-boxes" diff "$work/wanted" "$work/got"
    check "$network-picture" cmp "$work/darknet/predictions.jpg" "$work/saved/$(basename "$picture")"
}
same demo cfg/kite-demo.cfg cfg/kite-demo.weights data/kite.jpg --names data/coco.names
if [ -f "$models/yolo-fastest-1.1.weights" ]; then
    models=$(realpath "$models")
    same trained "$models/yolo-fastest-1.1.cfg" "$models/yolo-fastest-1.1.weights" data/kite.jpg
else
    skip trained "no yolo-fastest-1.1.weights in $models (MODELS=folder)"
fi

# ---- The module: with the system's numpy and PIL, and without them for other Pythons that are here ----
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$work/unpacked"
$python tests/support/python_cases.py | relay python-

# The oldest of at least 3.9, the newest, and PyPy.
others()
{
    for other in "$HOME"/.pyenv/versions/3.*/bin/python3; do
        [ ! -x "$other" ] || "$other" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)'
    done | sort -t . -k 2n | awk '$1 != "3.6" && $1 != "3.7" && $1 != "3.8" { print $2 }' | sed -n '1p; $p'
    [ ! -x /usr/bin/pypy3 ] || echo /usr/bin/pypy3
}
for other in $(few_or_all '' "$(others)"); do
    name=$("$other" -c 'import sys; print("%s-%d.%d-" % (sys.implementation.name, *sys.version_info[:2]))')
    "$other" tests/support/python_cases.py --without-numpy | relay "$name"
done

# ---- Many machines: two processes ----
if $python -c 'import distributed' 2>"$work/output"; then
    $python tests/support/dask_cases.py "$work/dask" 2>"$work/dask.log" | relay dask-
else
    skip dask "$(tail -n 1 "$work/output") (Debian: python3-distributed)"
fi
finish
