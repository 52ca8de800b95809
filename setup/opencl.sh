#!/bin/sh
# SPDX-License-Identifier: MIT
# Gets an OpenCL for `make test ON=opencl`, into a folder of its own. Nothing is installed on the system.
#
#   setup/opencl.sh NAME FOLDER
#
#   pocl        only looks whether it is installed
#   intel       Intel's runtime for CPUs, from PyPI: FOLDER/venv, and FOLDER/vendors for the loader
#   llvmpipe    a Debian 13 with Mesa, for CPUs: FOLDER/root. Needs root and mmdebstrap
#   freedreno   a Debian sid with Mesa, for Adreno: FOLDER/root. Needs the same
#
# Where one cannot be had, it prints a line that says why, and ends with status 3.
set -eu
export LC_ALL=C

name=$1 folder=$2 here=$(dirname "$0")
log=$folder/log
refuse()
{
    echo "$1"
    exit 3
}

# The host's mirror, because it can be reached.
mirror()
{
    cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | awk '
        /^URIs:/ { print $2; exit }
        /^deb / { for (i = 2; i <= NF; ++i) if ($i ~ /^http/) { print $i; exit } }'
}

# debian SUITE PACKAGE...
debian()
{
    suite=$1
    shift
    packages=$(echo "$*" | tr ' ' ,)
    if [ "$(cat "$folder/complete" 2>/dev/null)" = "$suite $packages" ]; then return; fi
    [ "$(id -u)" = 0 ] || refuse 'only root can unpack a Debian'
    command -v mmdebstrap >/dev/null 2>&1 || refuse 'mmdebstrap is not installed'
    echo "Unpacking Debian $suite in $folder" >&2
    rm -rf "$folder/root"
    # A mirror may be some weeks behind.
    mmdebstrap --variant=minbase --include="$packages" \
        --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$folder/root" "$(mirror)" \
        >"$log" 2>&1 || refuse "mmdebstrap: $(grep '^E:' "$log" | head -n 1)"
    echo "$suite $packages" >"$folder/complete"
}

intel()
{
    if cmp -s "$here/opencl.txt" "$folder/complete"; then return; fi
    python3 -m venv "$folder/venv" >"$log" 2>&1 || refuse 'python3 -m venv fails (python3-venv)'
    echo "Installing Intel's OpenCL in $folder" >&2
    "$folder/venv/bin/pip" install --disable-pip-version-check --no-deps --only-binary :all: \
        -r "$here/opencl.txt" >"$log" 2>&1 || refuse "pip: $(grep ERROR "$log" | tail -n 1)"
    mkdir -p "$folder/vendors"
    echo "$folder/venv/lib/libintelocl.so" >"$folder/vendors/intel.icd"
    cp "$here/opencl.txt" "$folder/complete"
}

mkdir -p "$folder"
case $name in
pocl) ls /etc/OpenCL/vendors/*pocl* >/dev/null 2>&1 || refuse 'pocl-opencl-icd is not installed' ;;
intel) intel ;;
llvmpipe) debian trixie mesa-opencl-icd ocl-icd-libopencl1 ;;
freedreno) debian sid mesa-opencl-icd mesa-drm-shim ocl-icd-libopencl1 ;;
*)
    echo "opencl.sh: $name: no such OpenCL; allowed are pocl, intel, llvmpipe and freedreno" >&2
    exit 2 ;;
esac
